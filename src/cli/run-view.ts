import type { AgentEvent, ElicitationRequest, OpenAgentEvent } from '../contracts/index.js';

/** What a person wants to see of one run, folded from its events: nothing of it depends on where it is shown. */
export interface RunView {
  readonly sessionId: string | undefined;
  /** By thread id; the root is `''`. In order of appearance. */
  readonly threads: ReadonlyMap<string, ThreadView>;
  /** Unanswered questions of the whole tree, oldest first, by `requestId`. */
  readonly questions: ReadonlyMap<string, QuestionView>;
  /** Sums of the `usage` events of every thread. */
  readonly totals: Totals;
  /** `reason` of the root's last `stream_end`; absent while it runs. */
  readonly reason: string | undefined;
  /** Timestamps (ISO 8601) of the first and the latest event. */
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
}

export interface Totals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Known cost; absent until a call had a price. */
  readonly usd: number | undefined;
  /** Some call had no known price. */
  readonly costIncomplete: boolean;
}

export type ThreadStatus = 'starting' | 'running' | 'awaiting_tool' | 'awaiting_elicitation' | 'ended';

export interface ThreadView {
  /** `''` for the root. */
  readonly threadId: string;
  readonly parentId: string | undefined;
  readonly agentName: string;
  /** 1-based, among the threads of this agent below the same parent. */
  readonly ordinal: number;
  readonly status: ThreadStatus;
  /** `reason` of its `stream_end`, once ended. */
  readonly reason: string | undefined;
  readonly model: string | undefined;
  /** Ids of the threads that it spawned, in order of appearance. */
  readonly children: readonly string[];
  /** Calls without a response yet, by `requestId`, in the order they were asked. */
  readonly runningTools: ReadonlyMap<string, ToolCallView>;
  readonly toolCalls: number;
  readonly failedToolCalls: number;
  readonly usage: Totals;
  /** The newest message of the agent, at most its last 2,000 characters. */
  readonly lastText: string;
  /** The newest thing gone wrong: of an `error` event or a failed end. */
  readonly lastError: { readonly code: string; readonly message: string } | undefined;
  readonly loop: { readonly iteration: number; readonly maxIterations: number } | undefined;
  /** Who the conversation went to, when the thread ended by handing over. */
  readonly handoffTarget: string | undefined;
  readonly startedAt: string;
  readonly endedAt: string | undefined;
}

export interface ToolCallView {
  readonly requestId: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly args: unknown;
  readonly status: string;
  /** 0..1 */
  readonly progress: number | undefined;
}

export interface QuestionView {
  readonly request: ElicitationRequest;
  readonly threadId: string;
  readonly agentName: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type OpenThread = Mutable<ThreadView> & {
  children: string[];
  runningTools: Map<string, ToolCallView>;
  messageId?: string;
};

const textLimit = 2_000;
const noTotals: Totals = { inputTokens: 0, outputTokens: 0, usd: undefined, costIncomplete: false };

/**
 * A view with the one way to change it: `fold` takes the events of a run in their order and changes `view` in place
 * (a copy per event would make long runs quadratic). Unknown event types change nothing but the times.
 */
export function createRunView(): { readonly view: RunView; fold(event: OpenAgentEvent): void } {
  const threads = new Map<string, OpenThread>();
  const questions = new Map<string, QuestionView>();
  const view: Mutable<RunView> = {
    sessionId: undefined,
    threads,
    questions,
    totals: noTotals,
    reason: undefined,
    firstAt: undefined,
    lastAt: undefined,
  };

  /** How many threads of each agent stand below each parent. */
  const spawned = new Map<string, number>();

  const threadOf = (event: OpenAgentEvent, agentName?: string): OpenThread => {
    const threadId = event.threadId ?? '';
    const known = threads.get(threadId);
    if (known !== undefined) return known;
    const parentId = parentOf(threadId);
    const parent =
      parentId === undefined
        ? undefined
        : (threads.get(parentId) ?? threadOf({ ...event, threadId: parentId || undefined, agentId: undefined }));
    const name = agentName ?? event.agentId ?? nameFrom(threadId);
    const family = `${parentId} ${name}`;
    const ordinal = (spawned.get(family) ?? 0) + 1;
    spawned.set(family, ordinal);
    const thread = newThread({ threadId, parentId, agentName: name, ordinal, startedAt: event.timestamp });
    threads.set(threadId, thread);
    parent?.children.push(threadId);
    return thread;
  };

  return {
    view,
    fold(event) {
      view.firstAt ??= event.timestamp;
      view.lastAt = event.timestamp;
      const known = event as AgentEvent;
      const thread = threadOf(event, known.type === 'agent_started' ? known.agentName : undefined);
      foldThread(thread, known);
      switch (known.type) {
        case 'initialize':
          if (thread.parentId === undefined) view.sessionId = known.sessionId;
          break;
        case 'message':
          if (thread.parentId === undefined && known.role === 'user') view.reason = undefined;
          break;
        case 'usage':
          view.totals = addUsage(view.totals, known);
          break;
        case 'elicitation_request':
          questions.set(known.requestId, { request: known, threadId: thread.threadId, agentName: thread.agentName });
          break;
        case 'elicitation_response':
          questions.delete(known.requestId);
          break;
        case 'stream_end':
          if (thread.parentId === undefined) view.reason = known.reason;
          break;
        default:
      }
      if (thread.status !== 'ended') thread.status = statusOf(thread, questions);
    },
  };
}

function foldThread(thread: OpenThread, event: AgentEvent): void {
  switch (event.type) {
    case 'agent_started':
      break;
    case 'initialize':
      thread.agentName = event.agent.name;
      thread.model = event.model ?? thread.model;
      reopen(thread);
      break;
    case 'session_update':
      thread.model = event.model ?? thread.model;
      break;
    case 'message':
      if (event.role === 'user') reopen(thread);
      if (event.role === 'agent') appendText(thread, event);
      break;
    case 'tool_request':
      thread.toolCalls++;
      thread.runningTools.set(event.requestId, {
        requestId: event.requestId,
        name: event.displayName ?? event.name,
        title: event.title,
        args: event.args,
        status: 'requested',
        progress: undefined,
      });
      break;
    case 'tool_update': {
      const call = thread.runningTools.get(event.requestId);
      if (call === undefined) break;
      const status = event.status ?? call.status;
      thread.runningTools.set(event.requestId, { ...call, status, progress: event.progress ?? call.progress });
      break;
    }
    case 'tool_response':
      thread.runningTools.delete(event.requestId);
      if (event.isError === true) thread.failedToolCalls++;
      break;
    case 'usage':
      thread.usage = addUsage(thread.usage, event);
      thread.model = event.model ?? thread.model;
      break;
    case 'error':
      thread.lastError = { code: event.code, message: event.message };
      break;
    case 'loop_iteration':
      thread.loop = { iteration: event.iteration, maxIterations: event.maxIterations };
      break;
    case 'stream_end':
      thread.status = 'ended';
      thread.reason = event.reason;
      thread.endedAt = event.timestamp;
      thread.handoffTarget = event.data?.handoffTarget;
      if (event.reason === 'failed' && event.data?.code !== undefined)
        thread.lastError = { code: event.data.code, message: event.data.message ?? '' };
      thread.runningTools.clear();
      break;
    default:
  }
}

function newThread(
  start: Pick<ThreadView, 'threadId' | 'parentId' | 'agentName' | 'ordinal' | 'startedAt'>,
): OpenThread {
  return {
    ...start,
    status: 'starting',
    reason: undefined,
    model: undefined,
    children: [],
    runningTools: new Map(),
    toolCalls: 0,
    failedToolCalls: 0,
    usage: noTotals,
    lastText: '',
    lastError: undefined,
    loop: undefined,
    handoffTarget: undefined,
    endedAt: undefined,
  };
}

function reopen(thread: OpenThread): void {
  if (thread.status === 'ended') thread.lastError = undefined;
  thread.status = 'running';
  thread.reason = undefined;
  thread.endedAt = undefined;
  thread.handoffTarget = undefined;
}

function statusOf(thread: OpenThread, questions: ReadonlyMap<string, QuestionView>): ThreadStatus {
  for (const question of questions.values()) if (question.threadId === thread.threadId) return 'awaiting_elicitation';
  if (thread.runningTools.size > 0) return 'awaiting_tool';
  return thread.status === 'starting' ? 'starting' : 'running';
}

function appendText(thread: OpenThread, event: AgentEvent<'message'>): void {
  const text = event.content.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join('');
  const goesOn = thread.messageId === event.messageId && event._meta?.replace !== true;
  // A message of nothing but thoughts or calls leaves the last text standing.
  if (text === '') return;
  thread.lastText = (goesOn ? thread.lastText + text : text).slice(-textLimit);
  thread.messageId = event.messageId;
}

function addUsage(sum: Totals, event: AgentEvent<'usage'>): Totals {
  const usd = event.cost?.usd;
  return {
    inputTokens: sum.inputTokens + (event.inputTokens ?? 0),
    outputTokens: sum.outputTokens + (event.outputTokens ?? 0),
    usd: usd === undefined ? sum.usd : (sum.usd ?? 0) + usd,
    costIncomplete: sum.costIncomplete || usd === undefined,
  };
}

/** A thread id is the dotted path of its spawns below the root. */
function parentOf(threadId: string): string | undefined {
  if (threadId === '') return undefined;
  const dot = threadId.lastIndexOf('.');
  return dot < 0 ? '' : threadId.slice(0, dot);
}

function nameFrom(threadId: string): string {
  const segment = threadId.slice(threadId.lastIndexOf('.') + 1);
  return segment === '' ? 'root' : segment.replace(/_\d+$/, '');
}
