import { stopRun, stopWorkTimer } from './end-run.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

/** The end that a limit makes of a run, with the best that it has. */
export const limitEnd = (run: RunRecord, reason: string, limit: string, used: number): RunEnd => ({
  reason,
  data: { limit, used, ...(run.lastText === '' ? {} : { result: run.lastText }) },
});

/**
 * Counts one model call, here and in every run above: a composition's limit is for all below it. Where a limit has been
 * reached nothing is counted; then whose it is, and how that run ends.
 */
export function countModelCall(from: Thread): { thread: Thread; end: RunEnd } | undefined {
  for (let thread: Thread | undefined = from; thread !== undefined; thread = thread.parent) {
    const { run, spentUsd } = thread;
    const { maxLlmCalls, maxBudgetUsd } = thread.agent.limits;
    if (run === undefined) continue;
    if (run.llmCalls >= maxLlmCalls) {
      return { thread, end: limitEnd(run, 'max_turns', 'maxLlmCalls', run.llmCalls) };
    }
    // Its own budget an agent looks at before each turn.
    if (spentUsd >= maxBudgetUsd && thread !== from) {
      return { thread, end: limitEnd(run, 'max_budget', 'maxBudgetUsd', spentUsd) };
    }
  }
  for (let thread: Thread | undefined = from; thread !== undefined; thread = thread.parent) {
    if (thread.run !== undefined) thread.run.llmCalls++;
  }
  return undefined;
}

/** What a model call cost, here and above. */
export function addCost(thread: Thread, usd: number | undefined): void {
  if (usd === undefined || !Number.isFinite(usd)) return;
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) at.spentUsd += usd;
}

/** A model call or a host-run tool of this thread is in flight: time counts, here and in every timed thread above. */
export function beginWork(thread: Thread): void {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    const { run } = at;
    const { maxTimeMs } = at.agent.limits;
    if (run === undefined || maxTimeMs === Number.POSITIVE_INFINITY || run.working++ > 0) continue;
    const { clock } = at.tree.host;
    run.workSince = clock.now();
    const timed = at;
    run.cancelWorkTimer = clock.schedule(() => timeOut(timed, run), Math.max(0, maxTimeMs - run.workUsedMs));
  }
}

/** It has ended. */
export function endWork(thread: Thread): void {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    const { run } = at;
    if (run === undefined || at.agent.limits.maxTimeMs === Number.POSITIVE_INFINITY || --run.working > 0) continue;
    run.working = 0;
    run.workUsedMs += at.tree.host.clock.now() - run.workSince;
    stopWorkTimer(run);
  }
}

function timeOut(thread: Thread, run: RunRecord): void {
  if (thread.run !== run) return;
  const used = run.workUsedMs + thread.tree.host.clock.now() - run.workSince;
  const data = {
    limit: 'maxTimeMinutes',
    used: used / 60_000,
    ...(run.lastText === '' ? {} : { result: run.lastText }),
  };
  stopRun(thread, { reason: 'max_time', data });
}
