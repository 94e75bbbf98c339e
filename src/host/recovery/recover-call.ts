import type { Bag, JsonSchema, ToolResultData } from '../../contracts/index.js';
import { errorResult, toToolResult } from '../../kernel/tool-result.js';
import { stopOf } from '../end-run.js';
import { planExit } from '../plan-mode.js';
import { cancelQuestion } from '../questions.js';
import { publish, shortName } from '../session-tree.js';
import { markSideEffect } from '../side-effects.js';
import type { RunEnding, RunRecord, Thread } from '../thread.js';
import { copyArgs, validateArgs } from '../tool-args.js';
import { askFor, byRegisteredName, type Call, makeCall, signal } from '../tool-call.js';
import { judge } from '../tool-gate.js';
import { evaluate } from '../tool-policy.js';
import { rejoin } from '../tool-run.js';
import type { CallPast, ThreadPast } from './past.js';
import type { Recovery } from './recovery.js';

/** What a person may say of a call that may or may not have taken effect. */
export const RECOVERY_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { outcome: { enum: ['run_again', 'result', 'failed'] }, result: {} },
  required: ['outcome'],
};

/** The calls of the turn that a run broke off in, as they stood. */
export function callsOf(thread: Thread, run: RunRecord, { turn }: ThreadPast): Call[] {
  return (turn?.calls ?? []).map((past) => callOf(thread, run, past));
}

function callOf(thread: Thread, run: RunRecord, past: CallPast): Call {
  const { requestId, name, args, messageId, index, _meta } = past.request;
  const { byModelName } = thread.agent.tools;
  const entry =
    byModelName.get(shortName(name, thread.agentId)) ?? byRegisteredName(thread, name) ?? planExit(thread, name);
  const call = makeCall(thread, run, {
    requestId,
    executorRequestId: requestId,
    entry,
    name,
    args: copyArgs(args ?? {}),
    brokenArgs: typeof _meta?.brokenArgs === 'string' ? _meta.brokenArgs : undefined,
    messageId,
    index,
    parent: undefined,
  });
  call.past = past;
  const { response } = past;
  if (response === undefined) return call;
  call.stage = 'done';
  call.result = response;
  const effects = response._meta ?? {};
  call.ending = effects.ending as RunEnding | undefined;
  if (!past.isApplied && Array.isArray(effects.updates)) call.updates = effects.updates;
  if (call.ending !== undefined && call.ending.escalate === undefined) run.ending ??= call.ending;
  return call;
}

/**
 * Takes up a call that was asked for before the process ended. What was never started goes through the gate, and what
 * was asked for its sake is asked no second time. What was started runs again only where that does no harm; otherwise
 * a person is asked, once. Resolves as `judge` does; a call that goes on outside (`stage` is then `running`) is awaited.
 */
export async function recoverCall(call: Call): Promise<ToolResultData | undefined> {
  const past = call.past as CallPast;
  const { thread } = call;
  const recovery = thread.tree.recovery as Recovery;
  for (const question of past.questions) {
    const { question: open } = recovery.restore(thread, call, question);
    if (open === undefined) continue;
    call.questions ??= new Set();
    call.questions.add(open);
  }
  for (const tail of past.tails) breakOffTail(thread, tail);
  const isOutside = isConsumers(call) || past.isPending || call.entry?.childIndex !== undefined;
  if (isConsumers(call) || past.isPending) thread.tree.merge.show(thread, past.request);
  if (past.attempts === 0) {
    await recovery.begun;
    return held(call) ?? judge(call);
  }
  call.args = copyArgs(past.startedArgs ?? {});
  if (isOutside) {
    void rejoin(call);
    return undefined;
  }
  if (!isHarmless(call)) markSideEffect(thread);
  if (!mayRunAgain(call)) return askRecovery(call);
  await recovery.begun;
  return held(call) ?? cleared(call);
}

/** A call of a run that is being stopped goes on no more. */
const held = (call: Call): ToolResultData | undefined =>
  isDone(call) || stopOf(call.thread) !== undefined
    ? errorResult('cancelled', 'cancelled: the run is being stopped')
    : undefined;

const isDone = (call: Call): boolean => call.stage === 'done';

const isConsumers = ({ entry, thread }: Call): boolean =>
  entry?.isConsumers === true ||
  (!thread.tree.settings.hostToolExecution && entry?.builtin === undefined && entry?.childIndex === undefined);

const isHarmless = ({ entry }: Call): boolean =>
  entry !== undefined && (entry.readOnly || entry.idempotent || entry.builtin !== undefined);

/** Whatever it did, doing it again changes nothing; and so with all that its result asked for. */
function mayRunAgain(call: Call): boolean {
  if (!isHarmless(call)) return false;
  const { byModelName } = call.thread.agent.tools;
  const isFree = ({ request, attempts, tails }: CallPast): boolean => {
    const entry = [...byModelName.values()].find((one) => one.registered === request.name);
    const isSafe = attempts === 0 || entry?.readOnly === true || entry?.idempotent === true;
    return isSafe && tails.every(isFree);
  };
  return (call.past as CallPast).tails.every(isFree);
}

/** As it was cleared before; what the rules deny by now does not run, whatever they said then. */
async function cleared(call: Call): Promise<ToolResultData | undefined> {
  call.isApproved = true;
  call.judgedIn = call.thread.tree.settings.permissionMode;
  const decision = await evaluate(call);
  if (decision.outcome === 'deny') {
    return errorResult('policy_denied', `denied: ${call.name}: ${decision.reason}`);
  }
  return validateArgs(call);
}

async function askRecovery(call: Call): Promise<ToolResultData | undefined> {
  const { thread, name, requestId, args } = call;
  const past = call.past as CallPast;
  call.stage = 'asking';
  signal(call, 'call.asked');
  const tails = past.tails.map(({ request }) => request.name);
  const answer = await askFor(call, {
    kind: 'tool_recovery',
    message: `${name} was running when the process ended: whether it took effect is not known`,
    requestedSchema: RECOVERY_SCHEMA,
    context: {
      toolRequestId: requestId,
      tool: name,
      args: copyArgs(args),
      principalPath: thread.principalPath,
      attempt: past.attempts,
      ...(tails.length > 0 && { ran: tails }),
    },
  });
  if (isDone(call)) return undefined;
  const { outcome, result } = (answer.action === 'accept' ? (answer.content ?? {}) : {}) as Bag;
  if (outcome === 'run_again') {
    await thread.tree.recovery?.begun;
    return held(call) ?? cleared(call);
  }
  if (outcome === 'result') return toToolResult(result);
  const text = `${name} was interrupted; whether it took effect is not known`;
  return errorResult('execution_failed', text);
}

/** A call that a result asked for is asked for anew if that result comes again: this one ends here. */
function breakOffTail(thread: Thread, { request, response, questions, tails }: CallPast): void {
  for (const tail of tails) breakOffTail(thread, tail);
  if (response !== undefined) return;
  const { recovery } = thread.tree;
  for (const past of questions) {
    const open = past.response === undefined ? recovery?.restore(thread, past, past).question : undefined;
    if (open !== undefined) cancelQuestion(open, 'what asked has ended');
  }
  const { requestId, name } = request;
  const result = errorResult('cancelled', 'cancelled: the process ended while it was under way');
  publish(thread, { type: 'tool_response', requestId, name, ...result });
}
