import { decideAfterFailure, siblingsToRestart } from '../kernel/supervision.js';
import type { ChildOutcome } from './crew-state.js';
import type { Thread } from './thread.js';

/** Whether a child that failed starts again (`at` is when it ended, epoch ms), when, and which live siblings with it; undefined: its failure goes up. */
export function restartAfter(
  parent: Thread,
  child: Thread,
  restarts: readonly number[],
  outcome: ChildOutcome,
  { at, live }: { at: number; live: () => readonly Thread[] },
): { delayMs: number; recall: readonly Thread[] } | undefined {
  const supervise = parent.agent.definition.behaviour?.supervise;
  if (supervise === undefined || outcome.ok || outcome.end.reason === 'aborted') return undefined;
  const decision = decideAfterFailure({
    child: supervise.children?.[outcome.name],
    restarts,
    now: at,
    sideEffects: child.hadSideEffects,
  });
  if (decision.kind === 'escalate') return undefined;
  const { strategy = 'one_for_one' } = supervise;
  // Asking for the siblings costs as much as there are.
  if (strategy === 'one_for_one') return { delayMs: decision.delayMs, recall: [] };
  const siblings = live().map((thread) => ({
    thread,
    threadId: thread.threadId as string,
    index: thread.index,
    live: !thread.hasEnded && thread.run !== undefined,
    sideEffects: thread.hadSideEffects,
  }));
  const failed = { threadId: child.threadId as string, index: child.index };
  const recalled = siblingsToRestart(strategy, failed, siblings);
  return { delayMs: decision.delayMs, recall: recalled.map((sibling) => sibling.thread) };
}
