import type { StreamEndData } from '../contracts/index.js';
import { cancelQuestion } from './questions.js';
import { enter, leave, publish, settled, threadsFrom } from './session-tree.js';
import { keepOutput } from './state-updates.js';
import type { RunEnd, RunRecord, RunStop, Thread } from './thread.js';
import { cancelCalls } from './tool-call.js';

/** The data of a run that is cut short by a caller. */
export const abortStop = (reason: string | undefined, by: string): RunStop => ({
  reason: 'aborted',
  data: reason === undefined ? { by } : { reason, by },
});

/**
 * Stops the run of a thread and all below it: signals go out, children settle first, then it ends as `stop` says. The
 * first reason counts. Nothing happens where nothing runs. What has not ended after `abortTimeoutMs` is cut off.
 */
export function stopRun(thread: Thread, stop: RunStop): void {
  const { run, tree } = thread;
  if (run === undefined || run.stop !== undefined) return;
  run.stop = stop;
  for (const question of [...(thread.questions ?? [])]) cancelQuestion(question, stop.data.reason ?? stop.reason);
  thread.actor.send({ type: 'session.abort' });
  if (thread.run !== run) return;
  // Between turns, where only a question was waited for, there is nobody to report the end.
  const isBetweenTurns = run.cutTurn === undefined && run.calls.every((call) => call.stage === 'done');
  if (thread.agent.behaviour === 'turn' && isBetweenTurns) return endRun(thread, stop);
  const { host } = tree;
  tree.cancelForce ??= host.clock.schedule(() => {
    tree.cancelForce = undefined;
    for (const late of threadsFrom(thread)) late.run?.cutTurn?.(true);
  }, host.abortTimeoutMs);
}

/**
 * Ends a run: open calls and questions get their answers, the `stream_end` goes out once all before it is durable, and
 * the session hears of it: by its actor, or through `report` where a composition stands between.
 */
export function endRun(
  thread: Thread,
  end: RunEnd,
  report: (reason: string, endsSession: boolean) => void = (reason, endsSession) =>
    thread.actor.send({ type: 'turn.ended', reason, endsSession }),
): void {
  const run = thread.run as RunRecord;
  const { tree } = thread;
  for (const question of [...(thread.questions ?? [])]) cancelQuestion(question, end.reason);
  cancelCalls(thread, end.reason);
  tree.merge.completeMessage(thread);
  stopWorkTimer(run);
  const publishEnd = () => {
    if (thread.run !== run) return;
    thread.run = undefined;
    if (thread.parent === undefined) {
      tree.cancelForce?.();
      tree.cancelForce = undefined;
    }
    const failed = tree.storeError !== undefined && end.reason === 'completed' ? storeFailure(thread) : undefined;
    const reached: RunEnd = failed ?? keepOutput(thread, end);
    const data = endData(run, reached.data);
    const finalEnd: RunEnd = { reason: reached.reason, data };
    thread.end = finalEnd;
    thread.parent?.run?.tally.addTally(run.tally);
    publish(thread, { type: 'stream_end', reason: reached.reason, data });
    const endsSession = thread.endsSession || tree.storeError !== undefined;
    report(reached.reason, endsSession);
    if (thread.parent === undefined) tree.onRunEnded?.(finalEnd);
  };
  const durable = settled(tree);
  if (durable === undefined) return publishEnd();
  enter(tree);
  void durable.then(() => {
    publishEnd();
    leave(tree);
  });
}

function storeFailure(thread: Thread): RunEnd {
  const { code, message } = thread.tree.storeError as { code: string; message: string };
  publish(thread, { type: 'error', code, message, fatal: true });
  return { reason: 'failed', data: { code, message } };
}

function endData(run: RunRecord, data: StreamEndData): StreamEndData {
  const usage = run.tally.totals();
  const cost = run.tally.cost();
  const all: StreamEndData = { ...data };
  if (Object.keys(usage).length > 0) all.usage = usage;
  if (cost !== undefined) all.cost = cost;
  if (run.turns > 0) all.numTurns = run.turns;
  return all;
}

export function stopWorkTimer(run: RunRecord): void {
  run.cancelWorkTimer?.();
  run.cancelWorkTimer = undefined;
}
