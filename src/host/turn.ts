import type { Effect } from '../../machines/agent-logic.js';
import type { SessionEvent, StopOrder } from '../../machines/session.events.js';
import type { TurnEnd } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { endActivity } from './activity.js';
import { endRun, forcedEnd, stopOf, stopRun } from './end-run.js';
import { endTurn, limitEnd, spentEnd } from './limits.js';
import { watchLoops, watchWords } from './loop-watch.js';
import { bestResult, checkOutput } from './output.js';
import { endAsLogged, type NextStep, nextStep } from './recovery/rebuild.js';
import { publishSteers } from './run-start.js';
import { enter, leave, publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';
import { Turn } from './turn-context.js';

/** One turn of a thread as an effect of its session: reports what the turn needs, or ends the run. */
export function beginTurn(thread: Thread, report: (event: SessionEvent) => void): Effect<StopOrder> {
  const run = thread.run as RunRecord;
  if (thread.past?.isToBeTakenUp) {
    const step = nextStep(thread, run);
    if (step !== 'turn') return takeUp(thread, step, report);
  }
  const { clock, abortTimeoutMs } = thread.tree.host;
  let turn: Turn | undefined;
  let cancelLimit: (() => void) | undefined;
  let isOver = false;
  const over = (next: () => void) => {
    if (isOver) return;
    isOver = true;
    run.cutTurn = undefined;
    cancelLimit?.();
    turn?.close();
    if (turn?.isCounted === true) endTurn(thread);
    next();
    if (turn === undefined) leave(thread.tree);
    else endActivity(turn);
  };
  const end = (how: RunEnd) => over(() => endRun(thread, how));

  enter(thread.tree);
  const { recovery } = thread.tree;
  if (thread.isPaused || recovery?.isHeld) {
    // Held at this boundary; nothing here moves the tree until it is let go.
    leave(thread.tree);
    const resume = () => {
      thread.resumeTurn = undefined;
      enter(thread.tree);
      start();
    };
    const cut = () => thread.resumeTurn?.();
    thread.resumeTurn = resume;
    run.cutTurn = cut;
    recovery?.onBegin(() => {
      // What is stopped from above, a part at a time, begins nothing meanwhile.
      if (!thread.isPaused && stopOf(thread) === undefined) thread.resumeTurn?.();
    });
  } else start();

  function start(): void {
    if (isOver) return;
    const stop = stopOf(thread);
    if (stop !== undefined) {
      // It ends here, and not as one that stands between its turns.
      run.cutTurn = cutsNothing;
      stopRun(thread, stop);
      return end(run.stop ?? stop);
    }
    const reviewing = thread.tree.host.lifecycle?.beforeTurn(thread);
    if (reviewing !== undefined) return void reviewing.then(start);
    publishSteers(thread);
    const limited = turnLimit(thread, run);
    if (limited !== undefined) return end(limited);
    const current = new Turn(thread, run);
    turn = current;
    const cut: RunRecord['cutTurn'] = (how) => {
      current.stop();
      if (how === 'force') end(forcedEnd(run));
      if (how !== 'interrupt' || run.interrupted) return;
      run.interrupted = true;
      // What does not let itself be interrupted is left behind.
      cancelLimit = clock.schedule(() => over(() => decide(thread, run, current, undefined, report)), abortTimeoutMs);
    };
    run.cutTurn = cut;
    current.drive().then(
      (how) => over(() => decide(thread, run, current, how, report)),
      (thrown) => over(() => failTurn(thread, run, thrown, report)),
    );
  }

  return {
    order: () => run.cutTurn?.('stop'),
    dispose: () => over(() => {}),
  };
}

const cutsNothing = (): void => {};

/** A thread whose log broke off behind a turn: it goes on with what that turn had come to. */
function takeUp(
  thread: Thread,
  step: Exclude<NextStep, 'turn'>,
  report: (event: SessionEvent) => void,
): Effect<StopOrder> {
  if (step === 'calls') report({ type: 'turn.needsTools' });
  else if (step === 'answers') report({ type: 'turn.needsAnswers' });
  else thread.tree.recovery?.onBegin(() => endAsLogged(thread));
  return { order() {}, dispose() {} };
}

/** What a finished turn leads to. */
function decide(
  thread: Thread,
  run: RunRecord,
  turn: Turn,
  end: TurnEnd | undefined,
  report: (event: SessionEvent) => void,
): void {
  const { merge } = thread.tree;
  const wasCut = run.stop !== undefined || run.interrupted;
  merge.completeMessage(thread, wasCut && thread.message !== undefined);
  if (run.stop !== undefined) return endRun(thread, run.stop);
  if (run.graceUsed) return endAfterGrace(thread, run, end);
  const hasCalls = run.calls.length > 0;
  if (run.interrupted) {
    run.interrupted = false;
    // A call that was asked for is never cut.
    return report({ type: hasCalls ? 'turn.needsTools' : 'turn.continued' });
  }
  if (end === undefined) {
    if (hasCalls) {
      const loop = watchLoops(thread, run, turn.spoke);
      return loop === undefined ? report({ type: 'turn.needsTools' }) : endRun(thread, loop);
    }
    // The questions may be answered by now: then the next turn begins at once.
    const isAsking = thread.questions !== undefined && thread.questions.size > 0;
    if (turn.asked > 0) return report({ type: isAsking ? 'turn.needsAnswers' : 'turn.continued' });
  }
  const reached: RunEnd = { reason: end?.reason ?? 'completed', data: end?.data ?? {} };
  if (turn.limited && thread.agent.limits.graceTurn) {
    run.reached = reached;
    return report({ type: 'turn.continued' });
  }
  if (reached.reason !== 'completed') return endRun(thread, reached);
  if (turn.spoke && !hasCalls) {
    const loop = watchWords(thread, run);
    if (loop !== undefined) return loop === 'again' ? report({ type: 'turn.continued' }) : endRun(thread, loop);
  }
  if (thread.steers.length > 0) return report({ type: 'turn.continued' });
  const finished = checkOutput(thread, reached);
  const conclude = (verdict: Awaited<typeof finished>) => {
    if (thread.run !== run) return;
    if (verdict === 'again') report({ type: 'turn.continued' });
    else endRun(thread, verdict);
  };
  if (!(finished instanceof Promise)) return conclude(finished);
  enter(thread.tree);
  void finished.then((verdict) => {
    conclude(run.stop ?? verdict);
    leave(thread.tree);
  });
}

function failTurn(thread: Thread, run: RunRecord, thrown: unknown, report: (event: SessionEvent) => void): void {
  thread.tree.merge.completeMessage(thread, thread.message !== undefined);
  if (run.stop !== undefined) return endRun(thread, run.stop);
  if (run.interrupted && !run.graceUsed) {
    run.interrupted = false;
    return report({ type: run.calls.length > 0 ? 'turn.needsTools' : 'turn.continued' });
  }
  const { code, message } = describeError(thrown, 'EXECUTOR_FAILED');
  publish(thread, { type: 'error', code, message, fatal: false });
  endRun(
    thread,
    run.graceUsed && run.reached !== undefined ? run.reached : { reason: 'failed', data: { code, message } },
  );
}

/** The limit stands; what the grace turn said, if it said anything fit, is the result. */
function endAfterGrace(thread: Thread, run: RunRecord, end: TurnEnd | undefined): void {
  const { reason, data } = run.reached as RunEnd;
  const conclude = (result: unknown) => {
    if (thread.run !== run) return;
    endRun(thread, run.stop ?? { reason, data: result === undefined ? data : { ...data, result } });
  };
  const given = end === undefined || end.reason === 'completed' ? bestResult(thread, end) : undefined;
  if (!(given instanceof Promise)) return conclude(given);
  enter(thread.tree);
  void given.then((result) => {
    conclude(result);
    leave(thread.tree);
  });
}

/** The end that a limit makes of this run before its next turn; undefined while there is room, a grace turn included. */
function turnLimit(thread: Thread, run: RunRecord): RunEnd | undefined {
  const { maxTurns, graceTurn } = thread.agent.limits;
  if (run.graceUsed) return run.reached;
  // What a budget does not allow, no grace allows.
  const spent = spentEnd(thread, run);
  if (spent !== undefined) return spent;
  if (run.turns >= maxTurns) run.reached ??= limitEnd(run, 'max_turns', 'maxTurns', run.turns);
  if (run.reached === undefined || !graceTurn) return run.reached;
  run.graceUsed = true;
  return undefined;
}
