import { stopRun, stopWorkTimer } from './end-run.js';
import type { RunRecord, Thread } from './thread.js';

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
