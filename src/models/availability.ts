import type { Clock, EpochMs, ModelHealth } from '../contracts/index.js';

/** Longer than anybody waits for an answer: who is told so looks for another model. */
const LONGEST_WAIT_MS = 5 * 60_000;

/** A failed call, as far as it says something about its model. */
export interface ModelFault {
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number | undefined;
}

/** What is known of models by what became of their calls. */
export interface Availability {
  /** Nothing is known against any. */
  readonly isClear: boolean;
  of(name: string): ModelHealth;
  failed(name: string, fault: ModelFault): void;
  answered(name: string): void;
  /** It is not asked until it is allowed again. */
  ban(name: string, reason?: string): void;
  allow(name: string): void;
  /** Forgets failures: of one model, or of all. Bans stay. */
  reset(name?: string): void;
  /** All that is not healthy. */
  names(): string[];
}

const HEALTHY: ModelHealth = Object.freeze({ state: 'healthy' });
/** These will not go away by asking again. What is wrong with a request says nothing of the model. */
const LASTING: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'FAILED_PRECONDITION',
  'RESOURCE_EXHAUSTED',
]);

export function createAvailability(clock: Clock): Availability {
  const states = new Map<string, ModelHealth>();
  const bans = new Map<string, ModelHealth>();

  const of = (name: string): ModelHealth => {
    const banned = bans.get(name);
    if (banned !== undefined) return banned;
    const known = states.get(name);
    if (known?.until === undefined || known.until > clock.now()) return known ?? HEALTHY;
    states.delete(name);
    return HEALTHY;
  };

  return {
    get isClear() {
      return states.size === 0 && bans.size === 0;
    },
    of,
    failed(name, { code, retryable, retryAfterMs }) {
      const isLong = retryAfterMs !== undefined && retryAfterMs > LONGEST_WAIT_MS;
      const until: EpochMs | undefined = isLong ? clock.now() + retryAfterMs : undefined;
      if (until !== undefined) states.set(name, { state: 'terminal', reason: code, until });
      else if (!retryable && LASTING.has(code)) states.set(name, { state: 'terminal', reason: code });
      // What is known to last longer is not forgotten over a lesser failure that was under way.
      else if (of(name).state !== 'terminal') states.set(name, { state: 'sticky_retry', reason: code });
    },
    answered(name) {
      if (states.size > 0) states.delete(name);
    },
    ban: (name, reason) => void bans.set(name, { state: 'banned', ...(reason !== undefined && { reason }) }),
    allow: (name) => void bans.delete(name),
    reset(name) {
      if (name === undefined) states.clear();
      else states.delete(name);
    },
    names: () => [...new Set([...states.keys(), ...bans.keys()])].filter((name) => of(name).state !== 'healthy'),
  };
}
