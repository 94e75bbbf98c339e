import type { StreamEndReason } from '../contracts/index.js';

/** What a process of `troupe` can end with. */
export const exitCodes = { completed: 0, failed: 1, badUse: 2, limit: 3, refusal: 4, aborted: 130 } as const;

/** How a run ended, as an exit code. A reason that is not known counts as failed. */
export function exitCodeOf(reason: StreamEndReason): number {
  switch (reason) {
    case 'completed':
      return exitCodes.completed;
    case 'max_turns':
    case 'max_budget':
    case 'max_time':
      return exitCodes.limit;
    case 'refusal':
      return exitCodes.refusal;
    case 'aborted':
      return exitCodes.aborted;
    default:
      return exitCodes.failed;
  }
}
