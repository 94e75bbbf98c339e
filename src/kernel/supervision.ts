import type { ChildSupervision, EpochMs, SuperviseConfig } from '../contracts/index.js';

export type SupervisionStrategy = NonNullable<SuperviseConfig['strategy']>;

/** Why a failure goes up: its child is not to be restarted, has done something, or was restarted often enough. */
export type EscalationReason = 'not_configured' | 'side_effects' | 'limit';

export type SupervisionDecision =
  | { kind: 'restart'; delayMs: number }
  | { kind: 'escalate'; because: EscalationReason };

/** A child beside the one that failed. `index` is its place among the children, in spawn order. */
export interface Sibling {
  readonly threadId: string;
  readonly index: number;
  /** Started and not ended. */
  readonly live: boolean;
  /** A tool without `readOnly` or `idempotent` has run in it. */
  readonly sideEffects: boolean;
}

const DEFAULT_MOST_RESTARTS = 1;

/**
 * What becomes of a child that failed. `restarts` are the times of its restarts so far, any order; those of the last
 * `withinMs` count, without it all do. `sideEffects`: a tool without `readOnly` or `idempotent` has run in it.
 */
export function decideAfterFailure(failure: {
  child: ChildSupervision | undefined;
  restarts: readonly EpochMs[];
  now: EpochMs;
  sideEffects: boolean;
}): SupervisionDecision {
  const { child, restarts, now, sideEffects } = failure;
  if (child?.restart !== 'on_failure') return { kind: 'escalate', because: 'not_configured' };
  if (sideEffects) return { kind: 'escalate', because: 'side_effects' };
  const { maxRestarts = DEFAULT_MOST_RESTARTS, withinMs, backoffMs = 0 } = child;
  const counted = withinMs === undefined ? restarts : restarts.filter((at) => at > now - withinMs);
  if (!(counted.length < maxRestarts)) return { kind: 'escalate', because: 'limit' };
  return { kind: 'restart', delayMs: Math.max(0, backoffMs || 0) };
}

/**
 * The siblings that are stopped and started again with a child that is restarted, in spawn order: all of them
 * (`one_for_all`), those after it (`rest_for_one`), none (`one_for_one` and any strategy that is not known).
 * Only live ones without side effects are touched.
 */
export function siblingsToRestart<S extends Sibling>(
  strategy: SupervisionStrategy | undefined,
  failed: Pick<Sibling, 'threadId' | 'index'>,
  siblings: readonly S[],
): S[] {
  if (strategy !== 'one_for_all' && strategy !== 'rest_for_one') return [];
  return siblings
    .filter((sibling) => sibling.threadId !== failed.threadId && sibling.live && !sibling.sideEffects)
    .filter((sibling) => strategy === 'one_for_all' || sibling.index > failed.index)
    .sort((a, b) => a.index - b.index);
}
