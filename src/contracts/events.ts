import type { ContentPart } from './content.js';
import type { ElicitationRequest, ElicitationResponse } from './elicitation.js';
import type { ModelUsage } from './model.js';
import type { Bag, Open } from './open.js';
import type { PermissionMode } from './policy.js';
import type { ToolAnnotations, ToolDescriptor, ToolResultData, ToolUpdate } from './tools.js';

export type EventSource = Open<'agent' | 'user' | 'host'>;

/** What every event carries. `threadId` is omitted for the root. */
export interface AgentEventBase {
  /** Unique within the host; not secret. */
  id: string;
  /** ISO 8601, UTC, ms; never goes back within a session tree. Many events share one: order is `seq`. */
  timestamp: string;
  /** Strictly increasing within a session tree; the position for replay and reattach. */
  seq: number;
  /** One per `stream()` call. */
  streamId?: string;
  /** The id of the message that began the run. */
  runId?: string;
  /** The name of the agent that emitted it. */
  agentId?: string;
  threadId?: string;
  source?: EventSource;
  _meta?: Bag;
}

export type StreamEndReason = Open<
  'completed' | 'failed' | 'aborted' | 'max_turns' | 'max_budget' | 'max_time' | 'refusal'
>;

/** Sums over a thread and its descendants, where they stand in a `stream_end`. */
export interface UsageTotals {
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  thoughtTokens?: number;
}

/** `incomplete`: some call had no known price. */
export interface CostTotals {
  usd: number;
  incomplete?: boolean;
}

export interface StreamEndData extends Bag {
  result?: unknown;
  results?: Bag;
  usage?: UsageTotals;
  cost?: CostTotals;
  numTurns?: number;
  handoffTarget?: string;
  escalateReason?: string;
  code?: string;
  message?: string;
  reason?: string;
  by?: string;
  forced?: boolean;
  limit?: string;
  used?: number;
  failures?: Record<string, { code: string; message: string }>;
}

/** Event payloads by `type`. Other modules add their own by declaration merging. */
export interface AgentEvents {
  /** First event of every session. */
  initialize: {
    sessionId: string;
    agent: { name: string; displayName?: string; description: string };
    interfaceVersion: string;
    capabilities: string[];
    model?: string;
    tools?: ToolDescriptor[];
    resumed?: boolean;
  };
  session_update: {
    model?: string;
    permissionMode?: PermissionMode;
    tools?: ToolDescriptor[];
    title?: string;
    stateDelta?: Bag;
    config?: Bag;
  };
  /** Increments of one message share a `messageId`; their contents concatenate. The log keeps it whole, once. */
  message: { messageId: string; role: Open<'user' | 'agent' | 'developer'>; content: ContentPart[] };
  tool_request: {
    requestId: string;
    /** The registered name. */
    name: string;
    args: unknown;
    /** The model message that the call stands in, and its place among that message's parts. */
    messageId: string;
    index: number;
    thoughtSignature?: string;
    displayName?: string;
    title?: string;
    locations?: { path: string; line?: number }[];
    annotations?: ToolAnnotations;
    /** Tail calls: not part of the model's history. */
    parentRequestId?: string;
    initiator?: Open<'agent' | 'client' | 'hook'>;
  };
  /** Display only: never sent to the model, never persisted. */
  tool_update: {
    requestId: string;
    status?: Open<'validating' | 'awaiting_approval' | 'scheduled' | 'executing'>;
  } & ToolUpdate;
  /** Exactly one per `tool_request`, always. */
  tool_response: { requestId: string; name: string } & ToolResultData;
  elicitation_request: ElicitationRequest;
  /** Exactly one per `elicitation_request`, always. */
  elicitation_response: ElicitationResponse;
  /** An increment: the sum of a thread's usage events is its total. */
  usage: { model?: string } & ModelUsage;
  /** `code`: gRPC-style names such as `RESOURCE_EXHAUSTED`. */
  error: { code: string; message: string; fatal: boolean; retryable?: boolean; details?: Bag };
  /** Last event of a run on a thread. */
  stream_end: { reason: StreamEndReason; data?: StreamEndData };
  /** `kind: 'notice'` with `{ code, severity, text }` is how the host tells a person something. */
  custom: { kind: string; data?: unknown };
}

export type AgentEventType = keyof AgentEvents;

/** The known events, discriminated by `type`. */
export type AgentEvent<T extends AgentEventType = AgentEventType> = {
  [K in T]: AgentEventBase & AgentEvents[K] & { type: K };
}[T];

/** An event before the host stamped it. */
export type AgentEventDraft<T extends AgentEventType = AgentEventType> = {
  [K in T]: AgentEvents[K] & { type: K; source?: EventSource; _meta?: Bag };
}[T];

/** An event as it comes from outside: its `type` may be any string. */
export type OpenAgentEvent = AgentEvent | (AgentEventBase & { type: string; [key: string]: unknown });
