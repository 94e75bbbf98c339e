import type { ModelFallbacks } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

export type GivenFallbacks = readonly string[] | Readonly<Record<string, readonly string[]>> | ModelFallbacks;

/** Which models stand in for which. */
export interface FallbackChains {
  readonly isEmpty: boolean;
  readonly consent: 'silent' | 'ask';
  /** Those after it, in order, itself left out. The first name that is known counts; `*` is for all others. */
  after(...names: (string | undefined)[]): readonly string[];
  /** Every name that may stand in. */
  names(): string[];
}

/** Throws `INVALID_OPTION`. */
export function createFallbackChains(given: GivenFallbacks = []): FallbackChains {
  const { models, consent = 'silent' } = inFull(given);
  const chains = new Map<string, readonly string[]>();
  if (isList(models)) {
    if (models.length > 0) chains.set('*', models);
  } else {
    for (const [name, chain] of Object.entries(Object(models) as Record<string, unknown>)) {
      if (!isList(chain)) throw invalid(`fallbacks.${name} must be a list of names of models`);
      chains.set(name, chain);
    }
  }
  if (consent !== 'silent' && consent !== 'ask') throw invalid('fallbacks.consent must be "silent" or "ask"');
  return {
    isEmpty: chains.size === 0,
    consent,
    after(...names) {
      const known = names.find((name) => name !== undefined && chains.has(name)) ?? '*';
      return chains.get(known) ?? [];
    },
    names: () => [...new Set([...chains.values()].flat())],
  };
}

const isList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');

/** A record of lists has no list called `models`, unless that is a model. */
function inFull(given: GivenFallbacks): ModelFallbacks {
  if (Array.isArray(given)) return { models: given };
  if (typeof given !== 'object' || given === null) throw invalid(FORM);
  const isFull = 'models' in given && Object.keys(given).every((key) => key === 'models' || key === 'consent');
  if (isFull) return given as ModelFallbacks;
  if ('consent' in given && typeof given.consent === 'string') throw invalid(FORM);
  return { models: given as Readonly<Record<string, readonly string[]>> };
}

const FORM =
  'fallbacks must be a list of models, or { model: [others] }, or { models: one of these, consent: "silent" | "ask" }';

const invalid = (message: string) => new TroupeError({ code: 'INVALID_OPTION', message });
