import type { ModelCandidate, ModelChoice, ModelHealth } from '../contracts/index.js';
import type { ModelRegistry } from './host-core.js';

/** Tries of one model in one turn where nothing stands in for it. */
const MAX_TRIES = 3;
/** Where something does: one, and one retry; after a failure in an earlier turn the one retry alone. */
const TRIES_WITH_FALLBACK = 2;
const TRIES_WHEN_STICKY = 1;

/** The models that may answer in one turn, and how often each has been asked in it. */
export class ModelChain {
  /** The wanted one, then those that stand in for it, as they are for the next request. */
  candidates: readonly ModelCandidate[] = [];
  /** As it was asked for: an alias, say. */
  wanted: ModelChoice | undefined;
  #tries = new Map<string, number>();
  #allowed = new Map<string, number>();

  constructor(private readonly models: ModelRegistry) {}

  get first(): ModelCandidate | undefined {
    return this.candidates[0];
  }

  /** The first that may be asked. */
  pick(without?: ModelCandidate): ModelCandidate | undefined {
    return this.candidates.find((one) => one !== without && this.isUsable(one));
  }

  isUsable(candidate: ModelCandidate): boolean {
    const health = this.healthOf(candidate);
    if (health.state === 'banned') return false;
    const isAlone = this.candidates.length === 1;
    // One that has nothing beside it, and no time to wait for, is asked all the same: there is nothing to lose.
    if (health.state === 'terminal' && (health.until !== undefined || !isAlone)) return false;
    this.#allow(candidate, health);
    const key = keyOf(candidate);
    return (this.#tries.get(key) ?? 0) < (this.#allowed.get(key) as number);
  }

  healthOf(candidate: ModelCandidate): ModelHealth {
    return this.models.healthOf(candidate, candidate === this.first ? this.wanted : undefined);
  }

  count(candidate: ModelCandidate): void {
    const key = keyOf(candidate);
    this.#tries.set(key, (this.#tries.get(key) ?? 0) + 1);
  }

  /** It is not asked again in this turn. */
  giveUp(candidate: ModelCandidate): void {
    this.#allowed.set(keyOf(candidate), 0);
  }

  /** A call that was made by its name alone was the first try of a model that nothing was known against. */
  adopt(candidate: ModelCandidate): void {
    this.#allow(candidate, { state: 'healthy' });
    this.count(candidate);
  }

  /** Settled when the turn first looks at a model: what fails within it changes nothing. */
  #allow(candidate: ModelCandidate, { state }: ModelHealth): void {
    const key = keyOf(candidate);
    if (this.#allowed.has(key)) return;
    const beside = state === 'sticky_retry' ? TRIES_WHEN_STICKY : TRIES_WITH_FALLBACK;
    this.#allowed.set(key, this.candidates.length === 1 ? MAX_TRIES : beside);
  }
}

/** Model objects are told apart by nothing: a turn has one. */
export const keyOf = ({ name }: ModelCandidate): string => name ?? '';
