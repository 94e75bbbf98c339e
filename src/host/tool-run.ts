import type { ToolCallRequest, ToolResultData } from '../contracts/index.js';
import { nextRound, STEPS_PER_ROUND } from '../kernel/next-round.js';
import { isPending, type Pending } from '../kernel/pending.js';
import { errorResult, thrownResult, toToolResult } from '../kernel/tool-result.js';
import { beginActivity, beginWait, endActivity, endWait } from './activity.js';
import { builtinTools } from './builtin-tools.js';
import { CallContext, showProgress } from './call-context.js';
import { delegate } from './delegate.js';
import { stopOf } from './end-run.js';
import { fireHook } from './fire-hook.js';
import { Occupancy } from './occupancy.js';
import { noteOutsideWait } from './outside-wait.js';
import { keepWhole } from './session-files.js';
import { publish, settled } from './session-tree.js';
import { markSideEffect } from './side-effects.js';
import type { ToolOutcome } from './thread.js';
import { argsFor, copyArgs } from './tool-args.js';
import { type Call, newCall, respond, signal, whenDone } from './tool-call.js';
import { isOutdated, judge, judgeAgain, noteWait } from './tool-gate.js';

const MAX_TAIL_DEPTH = 5;

/** Runs a call that was let through, to its response. Never rejects. */
export async function execute(call: Call): Promise<void> {
  if (call.stage === 'done') return;
  call.stage = 'running';
  const { thread } = call;
  const { tree } = thread;
  beginActivity(call);
  try {
    const attempt = call.past === undefined ? 1 : ++call.past.attempts;
    tree.merge.record(thread, {
      type: 'custom',
      kind: 'tool_started',
      data: { requestId: call.requestId, args: call.args, attempt },
    });
    // What was asked for is durable before it has an effect.
    const durable = settled(tree);
    if (durable !== undefined) await durable;
    if (isDone(call)) return;
    // Its thread may not have been told yet, where many are stopped a part at a time.
    if (stopOf(thread) !== undefined)
      return respond(call, errorResult('cancelled', 'cancelled: the run is being stopped'));
    if (tree.storeError !== undefined) {
      const text = `not run: the log of the session cannot be written (${tree.storeError.message})`;
      return respond(call, errorResult('execution_failed', text));
    }
    signal(call, 'call.began');
    publish(thread, { type: 'tool_update', requestId: call.requestId, status: 'executing' });
    await finish(call, await runEntry(call));
  } catch (thrown) {
    if (!isDone(call)) respond(call, thrownResult(thrown));
  } finally {
    endActivity(call);
  }
}

/** What was started before the process ended and goes on outside of it, in a child or at the consumer: awaited again, not started. */
export async function rejoin(call: Call): Promise<void> {
  call.stage = 'running';
  beginActivity(call);
  signal(call, 'call.cleared');
  signal(call, 'call.began');
  try {
    await finish(call, await runEntry(call));
  } catch (thrown) {
    if (!isDone(call)) respond(call, thrownResult(thrown));
  } finally {
    endActivity(call);
  }
}

/** From what a call came to, to its response. */
async function finish(call: Call, outcome: ToolOutcome): Promise<void> {
  if (isDone(call)) return;
  call.ending = outcome.ending;
  if (call.state !== undefined && !outcome.result.isError) call.updates = [...call.state.updates()];
  let { result } = outcome;
  if (result.tailCalls !== undefined) result = await withTailCalls(call, result, result.tailCalls);
  const { hookPoints } = call.thread.tree.host;
  if (result.isError && hookPoints.has('on_tool_error') && !isDone(call)) result = await onToolError(call, result);
  if (hookPoints.has('after_tool') && !isDone(call)) result = await afterTool(call, result);
  const kept = isDone(call) ? undefined : keepWhole(call, result);
  if (kept !== undefined) result = await kept;
  if (!isDone(call)) respond(call, result);
}

const isDone = (call: Call): boolean => call.stage === 'done';

async function runEntry(call: Call): Promise<ToolOutcome> {
  const { entry, thread } = call;
  if (entry?.builtin !== undefined) return builtinTools[entry.builtin](call);
  if (entry?.childIndex !== undefined) {
    // The child counts for itself: while all below waits for a person, nothing is under way here.
    const delegated = delegate(call, entry.childIndex);
    beginWait(call);
    return delegated.finally(() => endWait(call));
  }
  if (!entry?.readOnly && !entry?.idempotent) markSideEffect(thread);
  const isOutside = entry?.isConsumers || !(thread.tree.settings.hostToolExecution || entry?.isHosts);
  if (call.past?.isPending || isOutside) return { result: await askOutside(call) };
  const { permits } = thread.tree.host;
  if (permits.isFree()) return { result: await runTool(call, undefined) };
  // A call that is cancelled while it waits for its place gives up the wait.
  const waiting = new AbortController();
  whenDone(call, () => waiting.abort());
  return { result: await runTool(call, await permits.take(undefined, waiting.signal)) };
}

/** Waits for a `tool_result` from outside; meanwhile nothing of this call is under way. */
function askOutside(call: Call): Promise<ToolResultData> {
  if (isDone(call)) return Promise.resolve(errorResult('cancelled', 'cancelled'));
  call.isOutside = true;
  const { tree } = call.thread;
  return new Promise((resolve) => {
    let isAnswered = false;
    const goOn = (result: ToolResultData) => {
      if (isAnswered) return;
      isAnswered = true;
      tree.consumerCalls.delete(call.requestId);
      noteOutsideWait(call.thread, -1);
      endWait(call);
      resolve(result);
    };
    call.answer = goOn;
    whenDone(call, () => goOn(errorResult('cancelled', 'cancelled')));
    tree.consumerCalls.set(call.requestId, call);
    noteOutsideWait(call.thread, 1);
    beginWait(call);
  });
}

/** A call whose tool has no result yet stays open: whoever has the ticket brings it. */
async function runTool(call: Call, release: (() => void) | undefined): Promise<ToolResultData> {
  const outcome = await runCode(call, release);
  if (!isPending(outcome)) return outcome;
  if (!isDone(call)) {
    const { ticket } = outcome;
    const data = { requestId: call.requestId, ...(ticket !== undefined && { ticket }) };
    publish(call.thread, { type: 'custom', kind: 'tool_pending', data, source: 'host' });
  }
  return askOutside(call);
}

async function runCode(call: Call, release: (() => void) | undefined): Promise<ToolResultData | Pending> {
  const { thread, entry } = call;
  const tool = entry?.tool;
  if (tool === undefined || isDone(call)) {
    release?.();
    return tool === undefined
      ? errorResult('tool_not_registered', `nothing runs ${call.name} here`)
      : errorResult('cancelled', 'cancelled');
  }
  const occupancy = new Occupancy(call, release);
  try {
    const returned = tool.execute(argsFor(call) as never, new CallContext(call, occupancy));
    if (!isThenable(returned) && !isGenerator(returned)) return toOutcome(returned);
    const work = isGenerator(returned) ? drain(call, returned) : Promise.resolve(returned).then(toOutcome);
    const timeoutMs = tool.timeoutMs ?? thread.tree.host.toolTimeoutMs;
    return await new Promise<ToolResultData | Pending>((resolve) => {
      let isSettled = false;
      const settle = (result: ToolResultData | Pending, isLeftBehind: boolean) => {
        if (isSettled) return;
        isSettled = true;
        occupancy.end();
        if (isLeftBehind) leaveBehind(call, work);
        resolve(result);
      };
      occupancy.limit(timeoutMs, () => {
        call.stopReason = `timed out after ${timeoutMs} ms`;
        call.controller?.abort(new DOMException(call.stopReason, 'TimeoutError'));
        settle(errorResult('tool_timeout', `${call.name} did not end within ${timeoutMs} ms`), true);
      });
      whenDone(call, () => settle(errorResult('cancelled', 'cancelled'), true));
      work.then(
        (result) => settle(result, false),
        (thrown) => settle(thrownResult(thrown), false),
      );
    });
  } catch (thrown) {
    return thrownResult(thrown);
  } finally {
    occupancy.end();
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
const isGenerator = (value: unknown): value is AsyncGenerator<unknown, unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;

const toOutcome = (value: unknown): ToolResultData | Pending => (isPending(value) ? value : toToolResult(value));

async function drain(call: Call, generator: AsyncGenerator<unknown, unknown>): Promise<ToolResultData | Pending> {
  for (let steps = 1; ; steps++) {
    const step = await generator.next();
    if (step.done) return toOutcome(step.value);
    if (steps % STEPS_PER_ROUND === 0) await nextRound();
    if (call.stage === 'done') {
      void generator.return(undefined).catch(() => {});
      return errorResult('cancelled', 'cancelled');
    }
    // A consumer that is behind is waited for.
    const full = showProgress(call, step.value);
    if (full !== undefined) await full;
  }
}

/** A tool that goes on after its call has been answered: closing the host waits for it a while. */
function leaveBehind(call: Call, work: Promise<ToolResultData | Pending>): void {
  const { tree } = call.thread;
  const { strays } = tree.host;
  const stray: Promise<unknown> = work
    .catch(thrownResult)
    .then((result) => (isPending(result) ? undefined : tree.onStaleResult?.(call, result)))
    .finally(() => strays.delete(stray));
  strays.add(stray);
}

/** Runs what a result asks to run before the model sees it; the model gets the last result. */
async function withTailCalls(
  call: Call,
  result: ToolResultData,
  tailCalls: readonly Pick<ToolCallRequest, 'name' | 'args'>[],
  initiator: 'agent' | 'hook' = 'agent',
): Promise<ToolResultData> {
  let last = result;
  for (const { name, args } of tailCalls) {
    if (call.depth + 1 > MAX_TAIL_DEPTH) {
      return errorResult('execution_failed', `tail calls may stand ${MAX_TAIL_DEPTH} deep; ${name} was not run`);
    }
    const { messageId, index } = call;
    const draft = { type: 'tool_request', requestId: '', name, args, messageId, index } as const;
    const tail = newCall(call.thread, draft, { parent: call, initiator });
    call.tail = tail;
    const ended = runToEnd(tail);
    beginWait(call);
    await ended;
    endWait(call);
    call.tail = undefined;
    if (isDone(call)) break;
    last = tail.result ?? last;
    call.ending ??= tail.ending;
    if (tail.updates !== undefined) call.updates = [...(call.updates ?? []), ...tail.updates];
  }
  return last;
}

/** Resolves when the call has its response, whoever gives it. */
function runToEnd(call: Call): Promise<void> {
  return new Promise((resolve) => {
    whenDone(call, resolve);
    beginActivity(call);
    void judge(call).then(async (refusal) => {
      if (isDone(call)) return;
      if (refusal !== undefined) return respond(call, refusal);
      if (call.standing !== 'free') {
        noteWait(call);
        await turnOf(call);
      }
      const again = !isDone(call) && isOutdated(call) ? await judgeAgain(call) : undefined;
      if (isDone(call)) return;
      if (again !== undefined) return respond(call, again);
      await execute(call);
    });
  });
}

/**
 * A call that may change things waits for those before it; one that a free call asks for, for those before that: they
 * may still be waiting for approval.
 */
async function turnOf(call: Call): Promise<void> {
  let asked = call;
  while (asked.parent !== undefined) asked = asked.parent;
  for (const before of call.run.calls) {
    if (before === asked || isDone(call)) return;
    if (isDone(before)) continue;
    beginWait(call);
    await new Promise<void>((resolve) => {
      whenDone(before, resolve);
      whenDone(call, resolve);
    });
    endWait(call);
  }
}

/** What hooks are told of a call. */
function aboutCall({ name: tool, args, requestId, entry }: Call) {
  const mcp = entry?.tool?.mcp;
  return { tool, args: copyArgs(args), requestId, ...(mcp !== undefined && { mcp: { ...mcp } }) };
}

/** A result in place of the one that says what went wrong, where a hook has one. */
async function onToolError(call: Call, error: ToolResultData): Promise<ToolResultData> {
  const said = await fireHook(call.thread, 'on_tool_error', { ...aboutCall(call), error });
  if (said === undefined || said.action !== 'proceed' || said.modifications?.result === undefined) return error;
  try {
    return toToolResult(said.modifications.result);
  } catch (thrown) {
    return thrownResult(thrown);
  }
}

async function afterTool(call: Call, result: ToolResultData): Promise<ToolResultData> {
  const { name: tool } = call;
  const said = await fireHook(call.thread, 'after_tool', { ...aboutCall(call), result });
  if (said === undefined || isDone(call)) return result;
  if (said.action !== 'proceed') {
    const text = `the result of ${tool} is withheld by a hook: ${said.reason ?? 'no reason given'}`;
    return errorResult('policy_denied', text);
  }
  const { additionalContext, tailCall } = said.modifications ?? {};
  const seen = isTailCall(tailCall) ? await withTailCalls(call, result, [tailCall], 'hook') : result;
  return typeof additionalContext === 'string'
    ? { ...seen, llmContent: [...seen.llmContent, { type: 'text', text: additionalContext }] }
    : seen;
}

const isTailCall = (value: unknown): value is { name: string; args: unknown } =>
  typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
