import type { AgentEvent } from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { FUNCTION_EXECUTOR } from '../../kernel/function-executor.js';
import { errorResult } from '../../kernel/tool-result.js';
import { createUsageTally } from '../../kernel/usage.js';
import { abortStop, endRun, stopRun } from '../end-run.js';
import { createExecutor } from '../executors.js';
import { takeBackTurn } from '../limits.js';
import { watchLoops } from '../loop-watch.js';
import { tellOtherExecutor } from '../run-start.js';
import { publish } from '../session-tree.js';
import type { RunRecord, RunStop, Thread } from '../thread.js';
import type { CallPast, QuestionPast, ThreadPast, TurnPast } from './past.js';
import { callsOf } from './recover-call.js';
import type { Recovery } from './recovery.js';
import { inputOf } from './run-input.js';

/** Puts a thread that was just made where its log left it; nothing runs yet. `preloaded`: see `Thread`. */
export function givePast(thread: Thread, past: ThreadPast): void {
  thread.past = past;
  thread.loopCarry = past.loopCarry;
  thread.history = past.history;
  thread.spawned = past.spawned;
  thread.spentUsd = past.spentUsd;
  thread.spentTokens = past.spentTokens;
  thread.steers.push(...past.steers);
  if (past.heard.size > 0) thread.heard = new Set(past.heard);
  if (past.hadSideEffects) thread.hadSideEffects = true;
  if (thread.parent !== undefined && thread.tree.hasState) {
    thread.state = thread.parent.state.restored(past.values, past.updates);
  }
}

/** Goes on with the run that the log of a thread broke off in. Its actor is idle; it is started as by its message. */
export function resumeRun(thread: Thread, past: ThreadPast): void {
  const input = past.input as AgentEvent<'message'>;
  const { tree } = thread;
  const recovery = tree.recovery as Recovery;
  thread.runId = thread.parent === undefined ? (input.runId ?? input.messageId) : thread.parent.runId;
  thread.streamId = thread.parent === undefined ? tree.host.stamp.nextId() : thread.parent.streamId;
  thread.end = undefined;
  const run = recordOf(thread, past, input);
  thread.run = run;
  tree.host.lifecycle?.resume(thread);
  if (past.began !== undefined) tellOtherExecutor(thread, past.began);
  const stop = past.stop ?? stopAbove(thread);
  for (const call of past.lost)
    closeCall(thread, call, 'the process ended before it was answered, or its answer was lost');
  if (stop !== undefined) stopFirst(thread, run, stop, recovery);
  thread.actor.send({ type: 'session.message' });
}

/** What is being stopped begins nothing more. A composition knows it before it hears of children that had ended by it. */
function stopFirst(thread: Thread, run: RunRecord, stop: RunStop, recovery: Recovery): void {
  const isTold = thread.agent.behaviour === 'turn';
  if (!isTold) run.stop = stop;
  recovery.onBegin(() => {
    if (thread.run !== run) return;
    if (!isTold) run.stop = undefined;
    stopRun(thread, stop);
  });
}

/** Of a thread below one that is being stopped. */
function stopAbove({ parent }: Thread): RunStop | undefined {
  const stop = parent?.run?.stop;
  return stop && abortStop(stop.data.reason ?? stop.reason, stop.data.by ?? 'host');
}

function recordOf(thread: Thread, past: ThreadPast, input: AgentEvent<'message'>): RunRecord {
  const tally = createUsageTally();
  tally.addTally(past.tally);
  return {
    input: inputOf(thread.agent, input),
    inputText: textOf(input.content),
    tally,
    turns: past.turns,
    turnsBelow: past.turnsBelow,
    turnsOpen: 0,
    heldTurns: undefined,
    llmCalls: past.llmCalls,
    stop: undefined,
    stoppedAt: 0,
    left: undefined,
    reached: undefined,
    calls: [],
    inbox: past.inbox,
    lastText: past.lastText,
    lastPieces: undefined,
    lastMessageId: past.lastMessageId,
    ending: undefined,
    handedOverBy: undefined,
    historyFrom: past.historyFrom + thread.preloaded,
    outputFaults: past.outputFaults,
    graceUsed: false,
    loops: past.loops,
    workUsedMs: lengthOf(past.work),
    workSince: 0,
    working: 0,
    cancelWorkTimer: undefined,
    cutTurn: undefined,
    interrupted: false,
    models: past.route === undefined ? undefined : { route: past.route, accepted: new Map(), last: undefined },
    hooks: undefined,
  };
}

/** How much time a list of stretches covers, however they overlap. */
function lengthOf(stretches: readonly (readonly [from: number, to: number])[]): number {
  let length = 0;
  let upTo = Number.NEGATIVE_INFINITY;
  for (const [from, to] of [...stretches].sort((a, b) => a[0] - b[0])) {
    length += Math.max(0, to - Math.max(from, upTo));
    upTo = Math.max(upTo, to);
  }
  return length;
}

/** What the run of a thread of turns goes on with. Asked once, when the thread is taken up. */
export type NextStep = 'turn' | 'calls' | 'answers' | 'end';

export function nextStep(thread: Thread, run: RunRecord): NextStep {
  const past = thread.past as ThreadPast;
  const { turn, questions } = past;
  past.isToBeTakenUp = false;
  if (past.ends !== undefined) return 'end';
  if (turn !== undefined && isForgotten(thread, turn)) {
    // Its run begins anew: what it had asked for it asks for again.
    for (const call of turn.calls) closeCall(thread, call, 'the process ended, and the run begins anew');
    return 'turn';
  }
  if (turn !== undefined && turn.calls.length > 0 && isComplete(turn)) {
    run.calls = callsOf(thread, run, { ...past, turn });
    // It was just asked for: whether it goes round in circles is still to be looked at.
    const loop = turn.isWhole ? past.looped : watchLoops(thread, run, turn.spoke);
    past.ends = loop;
    if (loop !== undefined) return 'end';
    restoreQuestions(thread, run, questions);
    return 'calls';
  }
  if (turn !== undefined && !turn.isWhole) discard(thread, run, turn);
  // A function that is run again begins with the state that it began with.
  if (thread.agent.driver.descriptor.executor === FUNCTION_EXECUTOR && thread.parent !== undefined) {
    thread.state = thread.parent.state.restored(past.valuesAtStart, []);
  }
  return restoreQuestions(thread, run, questions) ? 'answers' : 'turn';
}

/** Calls are open that an executor made which has the conversation itself, and had lost it with its process. */
function isForgotten(thread: Thread, turn: TurnPast): boolean {
  if (turn.calls.every(({ response }) => response !== undefined)) return false;
  if (thread.agent.driver.descriptor.executor === 'local') return false;
  try {
    thread.executor ??= createExecutor(thread);
    return thread.executor.keepsContext === true;
  } catch {
    // Its turn says why.
    return false;
  }
}

/** Questions of the executor itself. Returns whether one is open whose answer the next turn waits for. */
function restoreQuestions(thread: Thread, run: RunRecord, questions: readonly QuestionPast[]): boolean {
  const recovery = thread.tree.recovery as Recovery;
  let isAsking = false;
  for (const question of questions) {
    const { request, response } = question;
    const executorRequestId = request._meta?.executorRequestId;
    if (typeof executorRequestId !== 'string') {
      // Asked from within a turn, which is made again and asks again.
      recovery.restore(thread, thread, question);
    } else if (response === undefined) {
      isAsking = true;
      const restored = recovery.restore(thread, {}, question);
      restored.take = (answer) =>
        run.inbox.push({ kind: 'elicitation_response', requestId: executorRequestId, response: answer });
    } else {
      const { action, content } = response;
      const answer = content === undefined ? { action } : { action, content };
      run.inbox.push({ kind: 'elicitation_response', requestId: executorRequestId, response: answer });
    }
  }
  return isAsking;
}

/** All calls that the model asked for are in the log. */
const isComplete = ({ calls, expected, isWhole }: TurnPast) => isWhole || calls.length >= expected;

/** A model call that broke off is made again; what was said of it stays in the log, and is no part of the history. */
function discard(thread: Thread, run: RunRecord, { messageId, calls, inbox }: TurnPast): void {
  run.turns--;
  takeBackTurn(thread);
  run.inbox = inbox;
  run.lastText = '';
  run.lastPieces = undefined;
  publish(thread, { type: 'custom', kind: 'interrupted', data: { messageId }, source: 'host' });
  for (const call of calls) closeCall(thread, call, 'the process ended before the model had asked for all its calls');
}

/** Answers a call that nobody waits for, and what was asked for its sake. */
function closeCall(thread: Thread, { request, response, questions }: CallPast, why: string): void {
  for (const question of questions) {
    if (question.response !== undefined) continue;
    const { requestId } = question.request;
    const _meta = { reason: why };
    publish(thread, { type: 'elicitation_response', requestId, action: 'cancel', source: 'host', _meta });
  }
  if (response !== undefined) return;
  const { requestId, name } = request;
  publish(thread, { type: 'tool_response', requestId, name, ...errorResult('cancelled', `cancelled: ${why}`) });
}

/** The end that a run had come to, and that was not told any more. */
export function endAsLogged(thread: Thread): void {
  const { ends } = thread.past as ThreadPast;
  if (ends !== undefined) endRun(thread, ends);
}
