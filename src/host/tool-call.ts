import type { AnyActorRef } from 'xstate';
import type { ToolCallSignal } from '../../machines/tool-call.machine.js';
import type {
  AgentEventDraft,
  Bag,
  ElicitationResponse,
  PermissionMode,
  SessionStreamData,
  ToolPreview,
  ToolResultData,
} from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';
import type { CallState, StateUpdate } from '../kernel/state.js';
import { errorResult } from '../kernel/tool-result.js';
import { type Activity, endActivity } from './activity.js';
import type { ToolEntry } from './agent-tools.js';
import { cancelDelegation } from './delegate.js';
import { planExit } from './plan-mode.js';
import { ask, cancelQuestion, newCallId, type Question, type QuestionDraft } from './questions.js';
import type { CallPast } from './recovery/past.js';
import { publish } from './session-tree.js';
import type { RunEnding, RunRecord, Thread } from './thread.js';

/** How a call stands beside the others of its turn. */
export type CallClass = 'free' | 'agent' | 'exclusive';

/** One tool call of a turn, from its request to its one response. */
export interface Call extends Activity {
  readonly run: RunRecord;
  readonly requestId: string;
  readonly executorRequestId: string | undefined;
  readonly entry: ToolEntry | undefined;
  /** The registered name; what the model said where there is no such tool. */
  readonly name: string;
  /** Its own copy: nobody else holds it. */
  args: unknown;
  /** What the tool's validator made of the arguments. */
  parsedArgs: { value: unknown } | undefined;
  readonly brokenArgs: string | undefined;
  readonly messageId: string;
  readonly index: number;
  /** The call whose result asked for it. */
  readonly parent: Call | undefined;
  readonly depth: number;
  readonly standing: CallClass;
  /** A person has let it through. */
  isApproved: boolean;
  /** What it would have changed when it was approved, where its tool can say so. */
  shown: ToolPreview | undefined;
  /** The mode in which it was let through. */
  judgedIn: PermissionMode | undefined;
  stage: 'judging' | 'asking' | 'ready' | 'running' | 'done';
  actor: AnyActorRef | undefined;
  /** Made when the tool first reads its signal. */
  controller: AbortController | undefined;
  /** Set once it is to stop: cancelled, or out of time. */
  stopReason: string | undefined;
  state: Pick<CallState, 'updates'> | undefined;
  /** What it and its tail calls wrote to the state, in order. */
  updates: StateUpdate[] | undefined;
  /** The call that its result asked for, under way. */
  tail: Call | undefined;
  questions: Set<Question> | undefined;
  /** A child works on it: it is answered once the child has settled. */
  isDelegated: boolean;
  /** Somebody outside brings its result. */
  isOutside: boolean;
  /** Lets a waiting execution go: a consumer's answer, an abort. */
  answer: ((result: ToolResultData) => void) | undefined;
  result: ToolResultData | undefined;
  ending: RunEnding | undefined;
  /** What the log says of it, where it was asked for before the process ended. */
  past: CallPast | undefined;
  onDone: (() => void)[] | undefined;
}

/** Publishes a `tool_request` and remembers it for this turn's batch. */
export function registerCall(thread: Thread, draft: AgentEventDraft<'tool_request'>): Call {
  const run = thread.run as RunRecord;
  const call = newCall(thread, draft);
  run.calls.push(call);
  return call;
}

function standingOf({ tree }: Thread, entry: ToolEntry | undefined): CallClass {
  // The end of a loop has its place among the calls: those before it still run, those after it do not.
  if (entry?.builtin === 'exit_loop' || entry?.builtin === 'exit_plan_mode') return 'exclusive';
  if (entry === undefined || entry.readOnly) return 'free';
  if (entry.childIndex !== undefined) return 'agent';
  // What the consumer runs is put before it all at once: the order is its own.
  const isConsumers = entry.isConsumers || (entry.builtin === undefined && !tree.settings.hostToolExecution);
  return isConsumers ? 'agent' : 'exclusive';
}

const MAX_ID_LENGTH = 64;

type CallIdentity = Pick<
  Call,
  'requestId' | 'executorRequestId' | 'entry' | 'name' | 'args' | 'brokenArgs' | 'messageId' | 'index' | 'parent'
>;

/** A call that nobody has looked at yet. */
export function makeCall(thread: Thread, run: RunRecord, identity: CallIdentity): Call {
  const { requestId, executorRequestId, entry, name, args, brokenArgs, messageId, index, parent } = identity;
  return {
    thread,
    run,
    requestId,
    executorRequestId,
    entry,
    name,
    args,
    parsedArgs: undefined,
    brokenArgs,
    messageId,
    index,
    parent,
    depth: parent === undefined ? 0 : parent.depth + 1,
    standing: standingOf(thread, entry),
    isApproved: false,
    shown: undefined,
    judgedIn: undefined,
    stage: 'judging',
    actor: undefined,
    controller: undefined,
    stopReason: undefined,
    isActive: false,
    waits: 0,
    state: undefined,
    updates: undefined,
    tail: undefined,
    questions: undefined,
    isDelegated: false,
    isOutside: false,
    answer: undefined,
    result: undefined,
    ending: undefined,
    past: undefined,
    onDone: undefined,
  };
}

/**
 * A call as the registry knows it: of the draft only id, name, arguments and place are taken. `from` is the call whose
 * result asked for it.
 */
export function newCall(
  thread: Thread,
  draft: AgentEventDraft<'tool_request'>,
  from?: { parent: Call; initiator: 'agent' | 'hook' },
): Call {
  const { agent } = thread;
  const run = thread.run as RunRecord;
  const entry =
    agent.tools.byModelName.get(draft.name) ?? byRegisteredName(thread, draft.name) ?? planExit(thread, draft.name);
  const { args, shown, brokenArgs } = readArgs(draft);
  const parent = from?.parent;
  const call = makeCall(thread, run, {
    requestId: takeRequestId(thread, draft.requestId),
    executorRequestId: draft.requestId === '' || parent !== undefined ? undefined : draft.requestId,
    entry,
    name: entry?.registered ?? draft.name,
    args,
    brokenArgs,
    messageId: draft.messageId,
    index: draft.index,
    parent,
  });
  const event: AgentEventDraft<'tool_request'> = {
    type: 'tool_request',
    requestId: call.requestId,
    name: call.name,
    args: shown,
    messageId: draft.messageId,
    index: draft.index,
  };
  if (draft.thoughtSignature !== undefined) event.thoughtSignature = draft.thoughtSignature;
  if (entry?.descriptor.displayName !== undefined) event.displayName = entry.descriptor.displayName;
  if (entry?.descriptor.annotations !== undefined) event.annotations = entry.descriptor.annotations;
  if (parent !== undefined) event.parentRequestId = parent.requestId;
  if (from?.initiator === 'hook') event.initiator = 'hook';
  if (draft._meta !== undefined) event._meta = draft._meta;
  describeCall(call, event);
  publish(thread, event);
  return call;
}

/** Characters that no JSON of more than 500 levels is shorter than. */
const SHALLOW = 1_000;

/**
 * Arguments as the call has them, a copy that nobody can reach into, and as its event shows them. Blank text is none.
 * What could not be read, or is no JSON, never runs.
 */
function readArgs({ args, _meta }: AgentEventDraft<'tool_request'>): {
  args: unknown;
  shown: unknown;
  brokenArgs: string | undefined;
} {
  if (typeof _meta?.brokenArgs === 'string') return { args: {}, shown: args ?? {}, brokenArgs: _meta.brokenArgs };
  const isNone = args === undefined || args === null || (typeof args === 'string' && args.trim() === '');
  if (isNone) return { args: {}, shown: {}, brokenArgs: undefined };
  try {
    const text = JSON.stringify(args);
    // Deeper than this two actions could not be told apart: see `canonicalJson`.
    const read: unknown = JSON.parse(text);
    const fault = text.length > SHALLOW ? jsonFault(read) : undefined;
    if (fault !== undefined) return { args: {}, shown: {}, brokenArgs: `it is nested deeper than is read` };
    return { args: read, shown: args, brokenArgs: undefined };
  } catch (thrown) {
    return { args: {}, shown: {}, brokenArgs: describeError(thrown).message };
  }
}

function describeCall(call: Call, event: AgentEventDraft<'tool_request'>): void {
  const { title, locations } = describe(call, call.args);
  if (title !== undefined) event.title = title;
  if (locations !== undefined) event.locations = locations;
}

type Description = Pick<AgentEventDraft<'tool_request'>, 'title' | 'locations'>;

/** What the tool says of a call with these arguments; nothing where it cannot (they need not have been validated). */
export function describe(call: Call, args: unknown): Description {
  const tool = call.entry?.tool;
  if (tool?.describe === undefined) return {};
  try {
    const { title, locations } = tool.describe(args as never);
    return {
      ...(typeof title === 'string' && { title }),
      ...(Array.isArray(locations) && { locations }),
    };
  } catch {
    return {};
  }
}

export function byRegisteredName(thread: Thread, name: string): ToolEntry | undefined {
  if (!name.includes('.')) return undefined;
  for (const entry of thread.agent.tools.byModelName.values()) if (entry.registered === name) return entry;
  return undefined;
}

/**
 * The provider's id where it is new in the session tree, else one of ours: providers repeat, reuse and omit ids. The
 * provider's own stays in `_meta`.
 */
function takeRequestId(thread: Thread, given: unknown): string {
  const { tree } = thread;
  if (typeof given !== 'string' || given === '' || given.length > MAX_ID_LENGTH || tree.requestIds.has(given))
    return newCallId(tree);
  tree.requestIds.add(given);
  return given;
}

/** Shows a call that an opaque agent ran itself: under an id of the tree, marked, and told as what it is. */
export function showOwnCall(
  thread: Thread,
  request: AgentEventDraft<'tool_request'>,
  response: AgentEventDraft<'tool_response'>,
): void {
  const requestId = takeRequestId(thread, request.requestId);
  const { args, name, messageId, index, title } = request;
  const _meta = { opaque: true };
  publish(thread, {
    type: 'tool_request',
    requestId,
    name,
    args,
    messageId,
    index,
    ...(title !== undefined && { title }),
    _meta,
  });
  publish(thread, { type: 'tool_response', requestId, name, ...ownFields(response), _meta });
}

export function signal(call: Call, type: ToolCallSignal['type']): void {
  call.actor?.send({ type });
}

/** Publishes the one response of a call. */
export function respond(call: Call, result: ToolResultData): void {
  if (call.stage === 'done') return;
  // What was asked for its sake is asked no more.
  for (const question of [...(call.questions ?? [])]) cancelQuestion(question, 'its call has ended');
  call.stage = 'done';
  call.result = result;
  call.answer = undefined;
  const { thread } = call;
  thread.tree.consumerCalls.delete(call.requestId);
  const event: AgentEventDraft<'tool_response'> = {
    type: 'tool_response',
    requestId: call.requestId,
    name: call.name,
    ...ownFields(result),
  };
  const effects = effectsOf(call);
  if (effects !== undefined) event._meta = effects;
  publish(thread, event);
  signal(
    call,
    result.isError ? (result.errorType === 'cancelled' ? 'call.cancelled' : 'call.failed') : 'call.succeeded',
  );
  if (call.executorRequestId !== undefined && call.parent === undefined) {
    const data: SessionStreamData = { kind: 'tool_result', requestId: call.executorRequestId, result };
    call.run.inbox.push(data);
  }
  const tasks = call.onDone ?? [];
  call.onDone = undefined;
  for (const task of tasks) task();
  endActivity(call);
}

/** What a result leads to beside what it says: whoever reads the log must not run the call to learn it. */
function effectsOf({ ending, updates, run }: Call): Bag | undefined {
  const isSilent = updates === undefined || updates.length === 0;
  if (ending === undefined && isSilent && run.stop === undefined) return undefined;
  return {
    ...(ending !== undefined && { ending }),
    ...(!isSilent && { updates }),
    // A run that is being stopped is stopped, whoever goes on with its log; what the host stops it would stop again.
    ...(run.stop !== undefined && run.stop.data.by !== 'host' && { stop: run.stop }),
  };
}

/** Asks for the sake of a call; the question is withdrawn when the call ends before it is answered. */
export async function askFor(
  call: Call,
  draft: QuestionDraft,
  faults?: Question['faults'],
  onAsked?: (question: Question) => void,
): Promise<ElicitationResponse> {
  let asked: Question | undefined;
  const response = await ask(call.thread, draft, {
    activity: call,
    faults,
    onAsked: (question) => {
      asked = question;
      call.questions ??= new Set();
      call.questions.add(question);
      onAsked?.(question);
    },
  });
  if (asked !== undefined) call.questions?.delete(asked);
  return response;
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
  if (call.tail !== undefined) cancelCall(call.tail, reason);
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
