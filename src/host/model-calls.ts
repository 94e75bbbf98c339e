import type {
  Bag,
  ModelCall,
  ModelCalls,
  ModelCandidate,
  ModelChoice,
  ModelFailure,
  ModelHealth,
  ModelRequest,
  ResolvedModel,
  TurnEnd,
} from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { mergeGeneration } from '../kernel/generation.js';
import { needOf, type PaidCall, reserveFor, unpriced } from './model-budget.js';
import { routeOf } from './model-route.js';
import { LONGEST_WAIT_MS, retryWait } from './retry-wait.js';
import { runModels } from './run-models.js';
import { notice, publish } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';
import type { Turn } from './turn-context.js';

/** Tries of one model in one turn where nothing stands in for it. */
const MAX_TRIES = 3;
/** Where something does: one, and one retry; after a failure in an earlier turn the one retry alone. */
const TRIES_WITH_FALLBACK = 2;
const TRIES_WHEN_STICKY = 1;
/** Nobody waits longer for a model where another stands by. */
const PATIENCE_MS = 10_000;
const MALFORMED_RETRY_MS = 500;
/** These are about the request, whichever model gets it. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'CANCELLED']);

type Failed = Pick<ModelFailure, 'code' | 'message'>;

/** The model calls of one turn, where more than a name decides or one has failed. */
export class TurnModelCalls implements ModelCalls {
  #tries = new Map<string, number>();
  #allowed = new Map<string, number>();
  #attempt = 0;
  #malformed = 0;
  /** What is asked, and what might be. */
  #current: ModelCandidate | undefined;
  #candidates: ModelCandidate[] = [];
  #wanted: ModelChoice | undefined;
  #lastFailure: Failed | undefined;

  constructor(
    private readonly turn: Turn,
    private readonly thread: Thread,
    private readonly run: RunRecord,
  ) {}

  async begin(request: ModelRequest): Promise<ModelCall | TurnEnd | undefined> {
    const { turn, thread, run } = this;
    const { models } = thread.tree.host;
    const route = await routeOf(thread, run, turn, request);
    if (turn.aborted) return undefined;
    this.#wanted = route.choice;
    const context = { agent: thread.agentId, purpose: 'turn', retry: this.#attempt > 0 };
    this.#candidates = models.candidates(route.choice, context);
    for (;;) {
      const picked = this.#pick();
      if (picked === undefined) return this.#fail(this.#lastFailure ?? this.#unavailable());
      const agreed = await this.#agree(picked);
      if (turn.aborted) return undefined;
      if (agreed === undefined) return this.#fail(this.#lastFailure ?? this.#unavailable());
      const resolved = await this.#open(agreed);
      if (turn.aborted) return undefined;
      if (resolved === undefined) continue;
      return this.#admit(agreed, resolved, request, route.routing);
    }
  }

  async #admit(
    candidate: ModelCandidate,
    resolved: ResolvedModel,
    request: ModelRequest,
    routing: Bag,
  ): Promise<ModelCall | TurnEnd | undefined> {
    const { turn, thread } = this;
    const fault = unpriced(thread, resolved);
    if (fault !== undefined) return this.#fail(fault);
    if (!turn.admitModelCall()) return undefined;
    this.#current = candidate;
    this.#count(candidate);
    this.#tell(resolved.name);
    let going = withConfig(turn, request, mergeGeneration(resolved.generation, request.config));
    let paid: PaidCall | undefined;
    if (thread.tree.budget !== undefined) {
      const reserved = await turn.outOfTime(
        reserveFor(thread, needOf(thread, resolved, going), () => turn.signal, resolved.model),
      );
      if (reserved === undefined) return undefined;
      if ('exhausted' in reserved) {
        turn.reachBudget(reserved);
        return undefined;
      }
      paid = reserved;
      if (turn.aborted) {
        paid.settle(false);
        return undefined;
      }
      turn.paying = paid;
      const { maxOutputTokens } = paid;
      if (maxOutputTokens !== undefined) {
        going = withConfig(turn, going, { ...going.config, maxOutputTokens });
      }
    }
    const isRouted = thread.tree.host.models.decides;
    return {
      resolved,
      request: going,
      routing: isRouted ? { ...routing, model: resolved.name } : undefined,
      settle: (wasAnswered) => paid?.settle(wasAnswered),
    };
  }

  async failed(failure: ModelFailure, { name, provider }: ResolvedModel): Promise<boolean> {
    const { turn, thread, run } = this;
    const { host } = thread.tree;
    // The first failure of a turn that asked plainly.
    if (this.#current === undefined) this.#adopt(name);
    if (this.#current?.name !== undefined) host.models.health.failed(this.#current.name, failure);
    this.#attempt++;
    this.#lastFailure = failure;
    const waitMs = retryWait(failure, this.#attempt, host.random);
    if (failure.code === 'RESOURCE_EXHAUSTED' && waitMs !== undefined && waitMs <= LONGEST_WAIT_MS) {
      host.permits.slow(provider, waitMs);
    }
    if (failure.isSaid) return false;
    if (failure.isMalformed) {
      if (this.#malformed++ > 0) return false;
      return this.#rest(name, failure, MALFORMED_RETRY_MS);
    }
    const current = this.#current as ModelCandidate;
    const mayAgain = waitMs !== undefined && this.#isUsable(current, this.#candidates.length === 1);
    const other = OF_THE_REQUEST.has(failure.code) ? undefined : this.#pick(current);
    if (other !== undefined && (!mayAgain || waitMs > PATIENCE_MS)) {
      this.#allowed.set(keyOf(current), 0);
      return !turn.aborted && thread.run === run;
    }
    return mayAgain ? this.#rest(name, failure, waitMs) : false;
  }

  answered({ name, provider }: ResolvedModel): void {
    const { host } = this.thread.tree;
    if (this.#current?.name !== undefined) host.models.health.answered(name);
    host.permits.answered(provider);
  }

  /** A call that was made by its name alone is the first try of what that name stands for. */
  #adopt(name: string): void {
    const { models } = this.thread.tree.host;
    this.#wanted = this.turn.model;
    this.#candidates = models.candidates(this.turn.model, { agent: this.thread.agentId, purpose: 'turn' });
    this.#current = this.#candidates.find((one) => one.name === name) ?? this.#candidates[0];
    runModels(this.run).last = name;
    if (this.#current === undefined) return;
    this.#allow(this.#current, { state: 'healthy' }, this.#candidates.length === 1);
    this.#count(this.#current);
  }

  #rest(name: string, failure: ModelFailure, waitMs: number): Promise<boolean> {
    const ms = Math.round(waitMs);
    notice(this.thread, 'MODEL_RETRY', 'info', `${name}: ${failure.message}; again in ${ms} ms`);
    return this.turn.rest(ms);
  }

  #pick(without?: ModelCandidate): ModelCandidate | undefined {
    const isAlone = this.#candidates.length === 1;
    return this.#candidates.find((one) => one !== without && this.#isUsable(one, isAlone));
  }

  #isUsable(candidate: ModelCandidate, isAlone: boolean): boolean {
    const health = this.#health(candidate);
    if (health.state === 'banned') return false;
    // One that has nothing beside it, and no time to wait for, is asked all the same: there is nothing to lose.
    if (health.state === 'terminal' && (health.until !== undefined || !isAlone)) return false;
    this.#allow(candidate, health, isAlone);
    const key = keyOf(candidate);
    return (this.#tries.get(key) ?? 0) < (this.#allowed.get(key) as number);
  }

  #health(candidate: ModelCandidate): ModelHealth {
    const asked = candidate === this.#candidates[0] ? this.#wanted : undefined;
    return this.thread.tree.host.models.healthOf(candidate, asked);
  }

  /** Settled when the turn first looks at a model: what fails within it changes nothing. */
  #allow(candidate: ModelCandidate, { state }: ModelHealth, isAlone: boolean): void {
    const key = keyOf(candidate);
    if (this.#allowed.has(key)) return;
    const beside = state === 'sticky_retry' ? TRIES_WHEN_STICKY : TRIES_WITH_FALLBACK;
    this.#allowed.set(key, isAlone ? MAX_TRIES : beside);
  }

  #count(candidate: ModelCandidate): void {
    const key = keyOf(candidate);
    this.#tries.set(key, (this.#tries.get(key) ?? 0) + 1);
  }

  /** Another model than the wanted one, once a person has agreed where one must; undefined: it was declined. */
  async #agree(picked: ModelCandidate): Promise<ModelCandidate | undefined> {
    const [wanted] = this.#candidates;
    const { models } = this.thread.tree.host;
    if (wanted === undefined || picked === wanted || models.consent === 'silent') return picked;
    const { accepted } = runModels(this.run);
    const usable = this.#candidates.filter((one) => one !== wanted && this.#isUsable(one, false));
    const before = usable.find((one) => one.name === accepted.get(keyOf(wanted)));
    if (before !== undefined) return before;
    const names = usable.map(keyOf);
    const failed = wanted.name ?? 'the model';
    const reason = this.#lastFailure?.message ?? reasonOf(this.#health(wanted));
    const answer = await this.turn.elicitation.ask({
      kind: 'model_fallback',
      message: `${failed} cannot be asked (${reason}). Go on with ${names.join(' or ')}?`,
      context: { failed, reason, models: names },
      requestedSchema: {
        type: 'object',
        properties: { model: { type: 'string', enum: names, default: names[0] as string } },
      },
    });
    if (answer.action !== 'accept') return undefined;
    const chosen = usable.find((one) => one.name === answer.content?.model) ?? picked;
    accepted.set(keyOf(wanted), keyOf(chosen));
    return chosen;
  }

  /** Nothing: it cannot be opened (a key, a package is missing), and another may do. */
  async #open(candidate: ModelCandidate): Promise<ResolvedModel | undefined> {
    const { host } = this.thread.tree;
    try {
      return await host.models.open(candidate);
    } catch (thrown) {
      if (this.#pick(candidate) === undefined) throw thrown;
      this.#allowed.set(keyOf(candidate), 0);
      this.#lastFailure = describeError(thrown);
      return undefined;
    }
  }

  /** Says so when another model answers than the one that was wanted, or than before. */
  #tell(name: string): void {
    const models = runModels(this.run);
    const before = models.last ?? this.#candidates[0]?.name ?? name;
    models.last = name;
    if (before === name) return;
    const [wanted] = this.#candidates;
    const reason = this.#lastFailure?.message ?? (wanted === undefined ? '' : reasonOf(this.#health(wanted)));
    const isBack = name === wanted?.name;
    const text = isBack ? `${name} is asked again` : `${before}: ${reason}; ${name} is asked in its place`;
    notice(this.thread, 'MODEL_CHANGED', isBack ? 'info' : 'warning', text);
  }

  #unavailable(): Failed {
    const [wanted] = this.#candidates;
    const health = wanted === undefined ? undefined : this.#health(wanted);
    const name = wanted?.name ?? 'the model';
    const code = health?.state === 'banned' ? 'MODEL_BANNED' : (health?.reason ?? 'UNAVAILABLE');
    const others = this.#candidates.length > 1 ? ', and nothing that stands in for it can' : '';
    return { code, message: `${name} cannot be asked${others}: ${health === undefined ? '' : reasonOf(health)}` };
  }

  #fail({ code, message }: Failed): TurnEnd {
    publish(this.thread, { type: 'error', code, message, fatal: false });
    return { reason: 'failed', data: { code, message } };
  }
}

/** Model objects are told apart by nothing: a turn has one. */
const keyOf = ({ name }: ModelCandidate): string => name ?? '';

function reasonOf({ state, reason, until }: ModelHealth): string {
  if (state === 'banned') return reason === undefined ? 'it is banned' : `it is banned: ${reason}`;
  const why = reason ?? 'it failed';
  return until === undefined ? why : `${why} until ${new Date(until).toISOString()}`;
}

/** A spread would lose the signal, which is made when it is first read. */
function withConfig(turn: Turn, request: ModelRequest, config: ModelRequest['config']): ModelRequest {
  if (config === request.config || config === undefined) return request;
  return {
    ...request,
    config,
    get signal() {
      return turn.signal;
    },
  };
}
