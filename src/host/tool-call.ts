import type { AnyActorRef } from 'xstate';
import type { ToolCallSignal } from '../../machines/tool-call.machine.js';
import type { AgentEventDraft, SessionStreamData, ToolResultData } from '../contracts/index.js';
import type { CallState } from '../kernel/state.js';
import { errorResult } from '../kernel/tool-result.js';
import type { ToolEntry } from './agent-tools.js';
import { cancelDelegation } from './delegate.js';
import { newRequestId } from './questions.js';
import { publish } from './session-tree.js';
import type { RunEnding, RunRecord, Thread } from './thread.js';

/** How a call stands beside the others of its turn. */
export type CallClass = 'free' | 'agent' | 'exclusive';

/** One tool call of a turn, from its request to its one response. */
export interface Call {
  readonly thread: Thread;
  readonly run: RunRecord;
  readonly requestId: string;
  readonly executorRequestId: string | undefined;
  readonly entry: ToolEntry | undefined;
  /** The registered name; what the model said where there is no such tool. */
  readonly name: string;
  args: unknown;
  /** What the tool's validator made of the arguments. */
  parsedArgs: { value: unknown } | undefined;
  readonly brokenArgs: string | undefined;
  readonly messageId: string;
  readonly index: number;
  readonly parentRequestId: string | undefined;
  readonly depth: number;
  readonly standing: CallClass;
  stage: 'judging' | 'asking' | 'ready' | 'running' | 'done';
  actor: AnyActorRef | undefined;
  /** Made when the tool first reads its signal. */
  controller: AbortController | undefined;
  stopReason: string | undefined;
  cancelTimer: (() => void) | undefined;
  state: Pick<CallState, 'updates'> | undefined;
  /** A child works on it: it is answered once the child has settled. */
  isDelegated: boolean;
  /** Lets a waiting execution go: a consumer's answer, an abort. */
  answer: ((result: ToolResultData) => void) | undefined;
  result: ToolResultData | undefined;
  ending: RunEnding | undefined;
  onDone: (() => void)[] | undefined;
}

/** Publishes a `tool_request` and remembers it for this turn's batch. */
export function registerCall(thread: Thread, draft: AgentEventDraft<'tool_request'>): Call {
  const run = thread.run as RunRecord;
  const call = newCall(thread, draft, undefined);
  run.calls.push(call);
  return call;
}

function standingOf(entry: ToolEntry | undefined): CallClass {
  // The end of a loop has its place among the calls: those before it still run, those after it do not.
  if (entry?.builtin === 'exit_loop') return 'exclusive';
  if (entry === undefined || entry.readOnly) return 'free';
  return entry.childIndex === undefined ? 'exclusive' : 'agent';
}

const MAX_ID_LENGTH = 64;

export function newCall(thread: Thread, draft: AgentEventDraft<'tool_request'>, parent: Call | undefined): Call {
  const { agent } = thread;
  const run = thread.run as RunRecord;
  const entry = agent.tools.byModelName.get(draft.name) ?? byRegisteredName(thread, draft.name);
  const brokenArgs = draft._meta?.brokenArgs;
  const call: Call = {
    thread,
    run,
    requestId: takeRequestId(thread, draft.requestId),
    executorRequestId: draft.requestId === '' ? undefined : draft.requestId,
    entry,
    name: entry?.registered ?? draft.name,
    args: draft.args ?? {},
    parsedArgs: undefined,
    brokenArgs: typeof brokenArgs === 'string' ? brokenArgs : undefined,
    messageId: draft.messageId,
    index: draft.index,
    parentRequestId: parent?.requestId,
    depth: parent === undefined ? 0 : parent.depth + 1,
    standing: standingOf(entry),
    stage: 'judging',
    actor: undefined,
    controller: undefined,
    stopReason: undefined,
    cancelTimer: undefined,
    state: undefined,
    isDelegated: false,
    answer: undefined,
    result: undefined,
    ending: undefined,
    onDone: undefined,
  };
  const event: AgentEventDraft<'tool_request'> = {
    type: 'tool_request',
    requestId: call.requestId,
    name: call.name,
    args: call.args,
    messageId: draft.messageId,
    index: draft.index,
  };
  if (draft.thoughtSignature !== undefined) event.thoughtSignature = draft.thoughtSignature;
  if (entry?.descriptor.displayName !== undefined) event.displayName = entry.descriptor.displayName;
  if (entry?.descriptor.annotations !== undefined) event.annotations = entry.descriptor.annotations;
  if (parent !== undefined) event.parentRequestId = parent.requestId;
  if (draft.initiator !== undefined) event.initiator = draft.initiator;
  if (draft._meta !== undefined) event._meta = draft._meta;
  describeCall(call, event);
  publish(thread, event);
  return call;
}

function describeCall(call: Call, event: AgentEventDraft<'tool_request'>): void {
  const describe = call.entry?.tool?.describe;
  if (describe === undefined) return;
  try {
    const { title, locations } = describe(call.args as never);
    if (title !== undefined) event.title = title;
    if (locations !== undefined) event.locations = locations;
  } catch {
    // The arguments are not validated yet: a description that cannot be made is left out.
  }
}

function byRegisteredName(thread: Thread, name: string): ToolEntry | undefined {
  if (!name.includes('.')) return undefined;
  for (const entry of thread.agent.tools.byModelName.values()) if (entry.registered === name) return entry;
  return undefined;
}

/**
 * The provider's id where it is new in the session tree, else one of ours: providers repeat, reuse and omit ids. The
 * provider's own stays in `_meta`.
 */
function takeRequestId(thread: Thread, given: string): string {
  const { tree } = thread;
  if (given === '' || given.length > MAX_ID_LENGTH || tree.requestIds.has(given)) return newRequestId(tree, 'c');
  tree.requestIds.add(given);
  return given;
}

export function signal(call: Call, type: ToolCallSignal['type']): void {
  call.actor?.send({ type });
}

/** Publishes the one response of a call. */
export function respond(call: Call, result: ToolResultData): void {
  if (call.stage === 'done') return;
  call.stage = 'done';
  call.result = result;
  call.cancelTimer?.();
  call.cancelTimer = undefined;
  call.answer = undefined;
  const { thread } = call;
  thread.tree.consumerCalls.delete(call.requestId);
  publish(thread, { type: 'tool_response', requestId: call.requestId, name: call.name, ...ownFields(result) });
  signal(
    call,
    result.isError ? (result.errorType === 'cancelled' ? 'call.cancelled' : 'call.failed') : 'call.succeeded',
  );
  if (call.executorRequestId !== undefined && call.parentRequestId === undefined) {
    const data: SessionStreamData = { kind: 'tool_result', requestId: call.executorRequestId, result };
    call.run.inbox.push(data);
  }
  for (const task of call.onDone ?? []) task();
  call.onDone = undefined;
}

/** Runs `task` when the call has its response. */
export function whenDone(call: Call, task: () => void): void {
  call.onDone ??= [];
  call.onDone.push(task);
}

function ownFields(result: ToolResultData): ToolResultData {
  const { llmContent, displayContent, isError, errorType, data, outputFile, contentLength } = result;
  const fields: ToolResultData = { llmContent };
  if (displayContent !== undefined) fields.displayContent = displayContent;
  if (isError !== undefined) fields.isError = isError;
  if (errorType !== undefined) fields.errorType = errorType;
  if (data !== undefined) fields.data = data;
  if (outputFile !== undefined) fields.outputFile = outputFile;
  if (contentLength !== undefined) fields.contentLength = contentLength;
  return fields;
}

/** Ends a call that is under way: its signal fires, and it is answered at once, whatever the tool still does. */
export function cancelCall(call: Call, reason: string): void {
  if (call.stage === 'done') return;
  call.stopReason = reason;
  if (call.isDelegated) {
    cancelDelegation(call);
    return;
  }
  call.controller?.abort(new DOMException(reason, 'AbortError'));
  respond(call, errorResult('cancelled', `cancelled: ${reason}`));
}

export function cancelCalls(thread: Thread, reason: string): void {
  for (const call of thread.run?.calls ?? []) cancelCall(call, reason);
}
