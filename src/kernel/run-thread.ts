import type { AgentEvent } from '../contracts/index.js';

export interface Totals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Known cost; absent until a call had a price. */
  readonly usd: number | undefined;
  /** Some call had no known price. */
  readonly costIncomplete: boolean;
}

export type ThreadStatus = 'starting' | 'running' | 'awaiting_tool' | 'awaiting_elicitation' | 'ended';

export interface ThreadModel {
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
  readonly runningTools: Readonly<Record<string, ToolCallModel>>;
  readonly runningToolCount: number;
  /** Questions of its own that nobody has answered. */
  readonly openQuestions: number;
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
  /** Of the run under way, or the last. */
  readonly runStartedAt: string;
  readonly endedAt: string | undefined;
}

export interface ToolCallModel {
  readonly requestId: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly args: unknown;
  readonly status: string;
  /** 0..1 */
  readonly progress: number | undefined;
}

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** A thread while it is being folded. */
export type OpenThread = Mutable<ThreadModel> & {
  children: string[];
  runningTools: Record<string, ToolCallModel>;
  messageId?: string;
};

const textLimit = 2_000;
export const noTotals: Totals = { inputTokens: 0, outputTokens: 0, usd: undefined, costIncomplete: false };

/** One event of the thread; what concerns the tree is left to the run. */
export function foldThread(thread: OpenThread, event: AgentEvent): void {
  switch (event.type) {
    case 'agent_started':
      break;
    case 'initialize':
      thread.agentName = event.agent.name;
      thread.model = event.model ?? thread.model;
      reopen(thread, event.timestamp);
      break;
    case 'session_update':
      thread.model = event.model ?? thread.model;
      break;
    case 'message':
      if (event.role === 'user') reopen(thread, event.timestamp);
      if (event.role === 'agent') appendText(thread, event);
      break;
    case 'tool_request':
      thread.toolCalls++;
      if (thread.runningTools[event.requestId] === undefined) thread.runningToolCount++;
      thread.runningTools[event.requestId] = {
        requestId: event.requestId,
        name: event.displayName ?? event.name,
        title: event.title,
        args: event.args,
        status: 'requested',
        progress: undefined,
      };
      break;
    case 'tool_update': {
      const call = thread.runningTools[event.requestId];
      if (call === undefined) break;
      const status = event.status ?? call.status;
      thread.runningTools[event.requestId] = { ...call, status, progress: event.progress ?? call.progress };
      break;
    }
    case 'tool_response':
      if (thread.runningTools[event.requestId] !== undefined) thread.runningToolCount--;
      delete thread.runningTools[event.requestId];
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
      thread.runningTools = Object.create(null);
      thread.runningToolCount = 0;
      break;
    default:
  }
}

export function newThread(
  start: Pick<ThreadModel, 'threadId' | 'parentId' | 'agentName' | 'ordinal' | 'startedAt'>,
): OpenThread {
  return {
    ...start,
    status: 'starting',
    reason: undefined,
    model: undefined,
    children: [],
    runStartedAt: start.startedAt,
    runningTools: Object.create(null),
    runningToolCount: 0,
    openQuestions: 0,
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

function reopen(thread: OpenThread, at: string): void {
  if (thread.status === 'ended') {
    thread.lastError = undefined;
    thread.runStartedAt = at;
  }
  thread.status = 'running';
  thread.reason = undefined;
  thread.endedAt = undefined;
  thread.handoffTarget = undefined;
}

function appendText(thread: OpenThread, event: AgentEvent<'message'>): void {
  const text = event.content.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : '')).join('');
  const goesOn = thread.messageId === event.messageId && event._meta?.replace !== true;
  // A message of nothing but thoughts or calls leaves the last text standing.
  if (text === '') return;
  thread.lastText = (goesOn ? thread.lastText + text : text).slice(-textLimit);
  thread.messageId = event.messageId;
}

export function addUsage(sum: Totals, event: AgentEvent<'usage'>): Totals {
  const usd = event.cost?.usd;
  return {
    inputTokens: sum.inputTokens + (event.inputTokens ?? 0),
    outputTokens: sum.outputTokens + (event.outputTokens ?? 0),
    usd: usd === undefined ? sum.usd : (sum.usd ?? 0) + usd,
    costIncomplete: sum.costIncomplete || usd === undefined,
  };
}
