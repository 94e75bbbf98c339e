import type { ContentPart } from './content.js';
import type { ElicitationAnswer } from './elicitation.js';
import type { AgentEvent } from './events.js';
import type { GenerationConfig, ModelInterface } from './model.js';
import type { Bag, Open } from './open.js';
import type { SessionSnapshot } from './persistence.js';
import type { PermissionMode } from './policy.js';
import type { TraceContext } from './telemetry.js';
import type { ToolDescriptor, ToolResultData } from './tools.js';

export type SessionStreamData =
  | { kind: 'message'; content: string | ContentPart[]; input?: unknown }
  | { kind: 'tool_result'; requestId: string; result: ToolResultData }
  | { kind: 'tool_results'; results: { requestId: string; result: ToolResultData }[] }
  | { kind: 'elicitation_response'; requestId: string; response: ElicitationAnswer };

/** Honoured on the first `stream()` call; later calls take data and at most `signal`. */
export interface ExecutionOptions {
  /** Tools known only by descriptor belong to the consumer: their calls pause the stream until `tool_result`. */
  tools?: ToolDescriptor[];
  model?: string | ModelInterface;
  generation?: GenerationConfig;
  /** Default true. False: the consumer answers every call that the gate lets through. */
  hostToolExecution?: boolean;
  streaming?: boolean;
  permissionMode?: PermissionMode;
  sessionRef?: string | SessionSnapshot;
  forkSession?: boolean;
  ephemeral?: boolean;
  contextBudget?: ContextBudget;
  traceContext?: TraceContext;
  signal?: AbortSignal;
}

export interface ContextBudget {
  maxTokens: number;
  strategy?: Open<'summarize' | 'truncate' | 'sliding_window'>;
}

export interface SessionUpdateData {
  permissionMode?: PermissionMode;
  model?: string | ModelInterface;
  tools?: ToolDescriptor[];
  title?: string;
  config?: Bag;
}

export interface SteerData {
  message?: string | ContentPart[];
  action?: Open<'background' | 'interrupt' | 'pause' | 'resume'>;
  data?: Bag;
}

export interface AgentResponse {
  /** Returned unread it aborts the run; leaving the loop early does too. */
  stream: AsyncGenerator<AgentEvent, void, undefined>;
  /** Ends the run only; the session stays usable. */
  controller: { abort(reason?: string): void };
}

/** How an agent runs. See the guide "sessions" for when a stream pauses and when it ends. */
export interface AgentSession {
  /** Takes effect at the call. Wrong use rejects the first `next()`; a failure at run time is an event. */
  stream(data: SessionStreamData, options?: ExecutionOptions): AgentResponse;
  update(config: SessionUpdateData): void;
  steer(data: SteerData): void;
  /** Ends the session. */
  abort(reason?: string): void;
}

/** An open request that only outside input can move. */
export interface PendingRequest {
  requestId: string;
  kind: 'tool' | 'elicitation';
  /** The tool's registered name, or the elicitation's kind. */
  name: string;
  threadId?: string;
  agentId: string;
}

export type ExecutionState =
  | { type: 'idle' }
  | { type: 'running'; turnCount: number }
  | { type: 'awaiting_tool'; pending: PendingRequest[] }
  | { type: 'awaiting_elicitation'; pending: PendingRequest[] }
  | { type: 'completed' | 'error' | 'aborted'; reason: string };
