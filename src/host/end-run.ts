import type { StreamEndData } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { canonicalJson } from '../kernel/json-value.js';
import { hooksOf } from './hook-state.js';
import type { EndReport } from './host-core.js';
import { cancelQuestion } from './questions.js';
import { enter, leave, publish, settled, threadsFrom } from './session-tree.js';
import { keepOutput } from './state-updates.js';
import type { RunEnd, RunRecord, RunStop, Thread, Tree } from './thread.js';
import { cancelCalls } from './tool-call.js';
import { hasWords, noteStop, tellUntaken } from './words.js';

/** The data of a run that is cut short by a caller. */
export const abortStop = (reason: unknown, by: string): RunStop => ({
  reason: 'aborted',
  data: reason === undefined ? { by } : { reason: reasonText(reason), by },
});

/** Why something was stopped, in words, whatever a caller gave for it: what an `AbortSignal` carries is often an error. */
export function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  return reason instanceof Error ? reason.message : typeof reason === 'object' ? canonicalJson(reason) : String(reason);
}

/**
 * Stops the run of a thread and all below it: signals go out, children settle first, then it ends as `stop` says. The
 * first reason counts. Nothing happens where nothing runs. What has not ended after `abortTimeoutMs` is cut off.
 */
export function stopRun(thread: Thread, stop: RunStop): void {
  const { run, tree } = thread;
  if (run === undefined || run.stop !== undefined) return;
  // It has ended; only a hook that watches is still waited for.
  if (run.hooks?.phase === 'final' || run.hooks?.phase === 'ended') return run.hooks.cutWait?.();
  run.stop = stop;
  run.stoppedAt = tree.host.clock.now();
  run.left = thread.actor.getSnapshot().value;
  tree.host.hooks?.cancel?.(tree.sessionId, thread.threadId, stop.data.reason ?? stop.reason);
  thread.actor.send({ type: 'session.abort' });
  for (const question of [...(thread.questions ?? [])]) cancelQuestion(question, stop.data.reason ?? stop.reason);
  if (thread.run !== run) return;
  if (run.hooks?.cutWait !== undefined) return run.hooks.cutWait();
  // Between turns, where only a question was waited for, there is nobody to report the end.
  const isBetweenTurns = run.cutTurn === undefined && run.calls.every((call) => call.stage === 'done');
  if (thread.agent.behaviour === 'turn' && isBetweenTurns) return endRun(thread, stop);
  forceInTime(tree);
}

/** The same, when a caller says so: it is in the log first. */
export function stopByCaller(thread: Thread, reason: string | undefined): void {
  const stop = abortStop(reason, 'user');
  noteStop(thread, stop);
  stopRun(thread, stop);
}

/** What is told to stop ends within `abortTimeoutMs`. */
export function forceInTime(tree: Tree): void {
  const { clock, abortTimeoutMs } = tree.host;
  tree.cancelForce ??= clock.schedule(() => forceLate(tree), abortTimeoutMs);
}

/** Whether its run, or one above it, is being stopped; its turn to be told so may not have come yet. */
export function isBeingStopped(thread: Thread): boolean {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    if (at.run?.stop !== undefined || at.parent?.crew?.isStopping === true) return true;
  }
  return false;
}

/** Cuts off what was told to stop and has not ended in time, children first; waits on for what has time left. */
function forceLate(tree: Tree): void {
  const { clock, abortTimeoutMs } = tree.host;
  const now = clock.now();
  tree.cancelForce = undefined;
  let waitMs = Number.POSITIVE_INFINITY;
  for (const thread of threadsFrom(tree.root)) {
    const { run } = thread;
    if (run?.stop === undefined) continue;
    const leftMs = run.stoppedAt + abortTimeoutMs - now;
    if (leftMs <= 0) force(thread, run);
    if (thread.run === run) waitMs = Math.min(waitMs, leftMs > 0 ? leftMs : abortTimeoutMs);
  }
  if (waitMs < Number.POSITIVE_INFINITY) tree.cancelForce ??= clock.schedule(() => forceLate(tree), waitMs);
}

function force(thread: Thread, run: RunRecord): void {
  if (run.cutTurn !== undefined) return run.cutTurn('force');
  if (run.hooks?.cutWait !== undefined) return run.hooks.cutWait();
  const isAlone = thread.children === undefined || thread.children.size === 0;
  // A composition that waits for code of its author, with nothing running below it.
  if (thread.agent.behaviour !== 'turn' && isAlone) endRun(thread, forcedEnd(run));
}

/** The end of a run that was cut off. */
export function forcedEnd({ stop }: RunRecord): RunEnd {
  return { reason: stop?.reason ?? 'aborted', data: { ...stop?.data, forced: true } };
}

/**
 * Ends a run: open calls and questions get their answers, the `stream_end` goes out once all before it is durable, and
 * the session hears of it: by its actor, or through `report` where a composition stands between. What a person said
 * before the `stream_end` prolongs a run that would have completed.
 */
export function endRun(
  thread: Thread,
  end: RunEnd,
  report: EndReport = (reason, endsSession) => thread.actor.send({ type: 'turn.ended', reason, endsSession }),
): void {
  const { lifecycle } = thread.tree.host;
  if (lifecycle === undefined || !lifecycle.end(thread, end, report)) endNow(thread, end, report);
}

/** The same, with no hook asked. */
export function endNow(thread: Thread, end: RunEnd, report: EndReport): void {
  const run = thread.run as RunRecord;
  const { tree } = thread;
  for (const question of [...(thread.questions ?? [])]) cancelQuestion(question, end.reason);
  cancelCalls(thread, end.reason);
  tree.merge.completeMessage(thread);
  stopWorkTimer(run);
  const publishEnd = () => {
    if (thread.run !== run || run.hooks?.phase === 'ended') return;
    if (thread.steers.length > 0 && isProlonged(thread, run, end)) {
      // Hooks are asked about its next end anew.
      if (run.hooks !== undefined) run.hooks.phase = 'open';
      return goOn(thread);
    }
    thread.run = undefined;
    thread.isPaused = false;
    if (run.working > 0) for (let at = thread.parent; at !== undefined; at = at.parent) countDown(at, run.working);
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
    if (thread.steers.length > 0) handOnSteers(thread);
    publish(thread, { type: 'stream_end', reason: reached.reason, data });
    const endsSession = thread.endsSession || tree.storeError !== undefined || reached.reason === 'max_budget';
    const tellEnd = () => {
      report(reached.reason, endsSession);
      if (thread.parent === undefined) tree.onRunEnded?.(finalEnd);
    };
    const passed = tree.merge.whenPassed();
    if (passed === undefined) return tellEnd();
    // Its last event is still with a hook: until it is out nothing follows.
    thread.run = run;
    hooksOf(run).phase = 'ended';
    enter(tree);
    void passed.then(() => {
      thread.run = undefined;
      tellEnd();
      leave(tree);
    });
  };
  const durable = settled(tree);
  if (durable === undefined) return publishEnd();
  enter(tree);
  void durable.then(() => {
    publishEnd();
    leave(tree);
  });
}

function isProlonged(thread: Thread, run: RunRecord, { reason, data }: RunEnd): boolean {
  if (reason !== 'completed' || run.stop !== undefined || thread.agent.behaviour !== 'turn') return false;
  if (data.handoffTarget !== undefined || data.escalateReason !== undefined) return false;
  return thread.steers.length > 0;
}

/** Another turn, from where the last one left the session. */
export function goOn(thread: Thread): void {
  const state: unknown = thread.actor.getSnapshot().value;
  if (state === 'idle') thread.actor.send({ type: 'session.message' });
  else thread.actor.send({ type: state === 'awaitingTool' ? 'calls.settled' : 'turn.continued' });
}

/** What was said to a thread that is over goes to whoever goes on in its place: nobody's words are lost. */
function handOnSteers(thread: Thread): void {
  const { parent, steers } = thread;
  if (parent === undefined) {
    // Where the session stands they stand before its next message. Where it ends with the run nobody takes them.
    if (thread.endsSession) for (const words of steers.splice(0)) tellUntaken(thread, words);
    return;
  }
  for (const words of steers.splice(0)) if (!hasWords(parent, words)) parent.steers.push(words);
}

/** A session whose actor broke without ending its run: the host ends it in its place. */
export function endBroken(thread: Thread, thrown: unknown): void {
  const { code, message } = describeError(thrown ?? 'the session broke', 'INTERNAL');
  const { run, tree } = thread;
  for (const question of [...(thread.questions ?? [])]) cancelQuestion(question, message);
  cancelCalls(thread, message);
  tree.merge.completeMessage(thread, true);
  if (run !== undefined) stopWorkTimer(run);
  publish(thread, { type: 'error', code, message, fatal: true });
  const end: RunEnd = {
    reason: 'failed',
    data: run === undefined ? { code, message } : endData(run, { code, message }),
  };
  if (run !== undefined) thread.parent?.run?.tally.addTally(run.tally);
  thread.run = undefined;
  thread.end = end;
  publish(thread, { type: 'stream_end', ...end });
  if (thread.parent === undefined) tree.onRunEnded?.(end);
}

function storeFailure(thread: Thread): RunEnd {
  const { code, message } = thread.tree.storeError as { code: string; message: string };
  publish(thread, { type: 'error', code, message, fatal: true });
  return { reason: 'failed', data: { code, message } };
}

/** Ends what is under way in a tree whose log cannot be written: what nobody could go on with is not to happen. */
export function stopUnlogged({ root }: Tree): void {
  if (root.run === undefined || root.run.stop !== undefined) return;
  stopRun(root, storeFailure(root));
}

function endData(run: RunRecord, data: StreamEndData): StreamEndData {
  const usage = run.tally.totals();
  const cost = run.tally.cost();
  const sums: StreamEndData = {};
  if (run.tally.calls > 0) sums.usage = usage;
  if (cost !== undefined) sums.cost = cost;
  if (run.turns > 0) sums.numTurns = run.turns;
  return Object.assign(sums, data);
}

function stopWorkTimer(run: RunRecord): void {
  run.cancelWorkTimer?.();
  run.cancelWorkTimer = undefined;
}

/** So much less is in flight in a thread; with the last of it its time stands still. */
export function countDown({ run, tree }: Thread, by: number): void {
  if (run === undefined) return;
  run.working = Math.max(0, run.working - by);
  if (run.working > 0 || run.cancelWorkTimer === undefined) return;
  run.workUsedMs += tree.host.clock.now() - run.workSince;
  stopWorkTimer(run);
}
