import type { Bag, JsonSchema, ToolContext, ToolResultData, ToolUpdate } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';
import { TroupeError } from '../kernel/errors.js';
import { readSchema } from '../kernel/schema.js';
import { type CallState, createCallState } from '../kernel/state.js';
import { errorResult, thrownResult, toToolResult } from '../kernel/tool-result.js';
import { builtinTools } from './builtin-tools.js';
import { delegate } from './delegate.js';
import { fireHook } from './fire-hook.js';
import { beginWork, endWork } from './limits.js';
import { noteOutsideWait } from './outside-wait.js';
import { ask } from './questions.js';
import { enter, leave, notice, publish, settled } from './session-tree.js';
import type { Thread, ToolOutcome } from './thread.js';
import { type Call, newCall, respond, signal, whenDone } from './tool-call.js';
import { argsFor, judge } from './tool-gate.js';

const MAX_TAIL_DEPTH = 5;

/** Runs a call that was let through, to its response. Never rejects. */
export async function execute(call: Call): Promise<void> {
  if (call.stage === 'done') return;
  call.stage = 'running';
  const { thread } = call;
  const { tree } = thread;
  enter(tree);
  try {
    tree.merge.record(thread, {
      type: 'custom',
      kind: 'tool_started',
      data: { requestId: call.requestId, args: call.args, attempt: 1 },
    });
    // What was asked for is durable before it has an effect.
    const durable = settled(tree);
    if (durable !== undefined) await durable;
    if (isDone(call)) return;
    signal(call, 'call.began');
    publish(thread, { type: 'tool_update', requestId: call.requestId, status: 'executing' });
    const outcome = await runEntry(call);
    if (isDone(call)) return;
    call.ending = outcome.ending;
    const result = await afterTool(call, await withTailCalls(call, outcome.result));
    if (!isDone(call)) respond(call, result);
  } catch (thrown) {
    if (!isDone(call)) respond(call, thrownResult(thrown));
  } finally {
    leave(tree);
  }
}

const isDone = (call: Call): boolean => call.stage === 'done';

async function runEntry(call: Call): Promise<ToolOutcome> {
  const { entry, thread } = call;
  if (entry?.builtin !== undefined) return builtinTools[entry.builtin](call);
  if (entry?.childIndex !== undefined) return delegate(call, entry.childIndex);
  if (entry?.isConsumers || !thread.tree.settings.hostToolExecution) return { result: await askConsumer(call) };
  const { permits } = thread.tree.host;
  if (permits.isFree()) return { result: await runTool(call) };
  const release = await permits.take();
  try {
    return { result: await runTool(call) };
  } finally {
    release();
  }
}

/** Waits for the consumer's `tool_result`; meanwhile nothing of this call is under way. */
function askConsumer(call: Call): Promise<ToolResultData> {
  const { tree } = call.thread;
  return new Promise((resolve) => {
    let isAnswered = false;
    const goOn = (result: ToolResultData) => {
      if (isAnswered) return;
      isAnswered = true;
      tree.consumerCalls.delete(call.requestId);
      noteOutsideWait(call.thread, -1);
      enter(tree);
      resolve(result);
    };
    call.answer = goOn;
    whenDone(call, () => goOn(errorResult('cancelled', 'cancelled')));
    tree.consumerCalls.set(call.requestId, call);
    noteOutsideWait(call.thread, 1);
    leave(tree);
  });
}

async function runTool(call: Call): Promise<ToolResultData> {
  const { thread, entry } = call;
  const tool = entry?.tool;
  if (tool === undefined) return errorResult('tool_not_registered', `nothing runs ${call.name} here`);
  if (call.stage === 'done') return errorResult('cancelled', 'cancelled');
  if (!entry?.readOnly && !entry?.idempotent) markSideEffect(thread);
  beginWork(thread);
  const { host } = thread.tree;
  try {
    const returned = tool.execute(argsFor(call) as never, new CallContext(call));
    if (!isThenable(returned) && !isGenerator(returned)) return toToolResult(returned);
    const work = isGenerator(returned) ? drain(call, returned) : Promise.resolve(returned).then(toToolResult);
    const timeoutMs = tool.timeoutMs ?? host.toolTimeoutMs;
    return await new Promise<ToolResultData>((resolve) => {
      let isSettled = false;
      const settle = (result: ToolResultData, isLeftBehind: boolean) => {
        if (isSettled) return;
        isSettled = true;
        if (isLeftBehind) leaveBehind(call, work);
        resolve(result);
      };
      call.cancelTimer = host.clock.schedule(() => {
        call.controller?.abort(new DOMException(`timed out after ${timeoutMs} ms`, 'TimeoutError'));
        settle(errorResult('tool_timeout', `${call.name} did not end within ${timeoutMs} ms`), true);
      }, timeoutMs);
      whenDone(call, () => settle(errorResult('cancelled', 'cancelled'), true));
      work.then(
        (result) => settle(result, false),
        (thrown) => settle(thrownResult(thrown), false),
      );
    });
  } catch (thrown) {
    return thrownResult(thrown);
  } finally {
    call.cancelTimer?.();
    call.cancelTimer = undefined;
    endWork(thread);
  }
}

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
const isGenerator = (value: unknown): value is AsyncGenerator<unknown, unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value && 'next' in value;

async function drain(call: Call, generator: AsyncGenerator<unknown, unknown>): Promise<ToolResultData> {
  for (;;) {
    const step = await generator.next();
    if (step.done) return toToolResult(step.value);
    if (call.stage === 'done') {
      void generator.return(undefined).catch(() => {});
      return errorResult('cancelled', 'cancelled');
    }
    showProgress(call, step.value as ToolUpdate | string | number);
  }
}

/** A tool that goes on after its call has been answered: closing the host waits for it a while. */
function leaveBehind(call: Call, work: Promise<unknown>): void {
  const { strays } = call.thread.tree.host;
  const stray: Promise<unknown> = work.catch(() => {}).finally(() => strays.delete(stray));
  strays.add(stray);
}

function markSideEffect(thread: Thread): void {
  for (let at: Thread | undefined = thread; at !== undefined && !at.hadSideEffects; at = at.parent)
    at.hadSideEffects = true;
}

function showProgress(call: Call, update: ToolUpdate | string | number): void {
  if (call.stage === 'done') return;
  const fields: ToolUpdate =
    typeof update === 'string'
      ? { content: toParts(update) }
      : typeof update === 'number'
        ? { progress: update }
        : update;
  publish(call.thread, { ...fields, type: 'tool_update', requestId: call.requestId });
}

/** What a tool is given; its signal is made when it is first read. */
class CallContext implements ToolContext {
  readonly #call: Call;
  #state: CallState | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    const call = this.#call;
    if (call.controller === undefined) {
      call.controller = new AbortController();
      if (call.stage === 'done')
        call.controller.abort(new DOMException(call.stopReason ?? 'the call has ended', 'AbortError'));
    }
    return call.controller.signal;
  }
  get sessionId(): string {
    return this.#call.thread.tree.sessionId;
  }
  get threadId(): string | undefined {
    return this.#call.thread.threadId;
  }
  get agentId(): string {
    return this.#call.thread.agentId;
  }
  get requestId(): string {
    return this.#call.requestId;
  }
  get state() {
    const call = this.#call;
    if (this.#state === undefined) {
      this.#state = createCallState(call.thread.state);
      call.state = this.#state;
    }
    return this.#state.view;
  }

  async elicit(question: Parameters<ToolContext['elicit']>[0]): Promise<{ action: string; content?: Bag }> {
    const call = this.#call;
    const { requestedSchema, expiresAt, kind = 'user_approval', message, title, context } = question;
    if (call.stage === 'done') return { action: 'cancel' };
    const answer = await ask(call.thread, {
      kind,
      message,
      ...(title !== undefined && { title }),
      ...(requestedSchema !== undefined && { requestedSchema: askedSchema(requestedSchema) }),
      ...(expiresAt !== undefined && {
        expiresAt: typeof expiresAt === 'string' ? expiresAt : expiresAt.toISOString(),
      }),
      context: { ...context, toolRequestId: call.requestId },
    });
    return answer.content === undefined
      ? { action: answer.action }
      : { action: answer.action, content: answer.content };
  }

  progress(update: ToolUpdate | string | number): void {
    showProgress(this.#call, update);
  }

  log(text: string): void {
    const { thread, requestId } = this.#call;
    publish(thread, { type: 'custom', kind: 'log', data: { requestId, text } });
  }
}

function askedSchema(schema: Exclude<Parameters<ToolContext['elicit']>[0]['requestedSchema'], undefined>): JsonSchema {
  const reading = readSchema(schema as JsonSchema, { path: 'requestedSchema', objectOnly: true });
  const [problem] = reading.problems;
  if (problem !== undefined) throw new TroupeError({ code: problem.code, message: problem.message });
  return reading.jsonSchema;
}

/** Runs what a result asks to run before the model sees it; the model gets the last result. */
async function withTailCalls(call: Call, result: ToolResultData): Promise<ToolResultData> {
  let last = result;
  for (const tail of result.tailCalls ?? []) {
    if (call.depth + 1 > MAX_TAIL_DEPTH) {
      return errorResult('execution_failed', `tail calls may stand ${MAX_TAIL_DEPTH} deep; ${tail.name} was not run`);
    }
    const inner = newCall(
      call.thread,
      {
        type: 'tool_request',
        requestId: '',
        name: tail.name,
        args: tail.args,
        messageId: call.messageId,
        index: call.index,
      },
      call,
    );
    const refusal = await judge(inner);
    if (refusal !== undefined) respond(inner, refusal);
    else await execute(inner);
    last = inner.result ?? last;
  }
  return last;
}

async function afterTool(call: Call, result: ToolResultData): Promise<ToolResultData> {
  const { name: tool, args, requestId } = call;
  const fired = fireHook(call.thread, 'after_tool', { tool, args, requestId, result });
  if (fired === undefined) return result;
  const said = await fired;
  if (said.action !== 'proceed')
    notice(call.thread, 'HOOK_FAILED', 'warning', said.reason ?? 'a hook at after_tool failed');
  const extra = (said.modifications as { additionalContext?: unknown } | undefined)?.additionalContext;
  return typeof extra === 'string'
    ? { ...result, llmContent: [...result.llmContent, { type: 'text', text: extra }] }
    : result;
}
