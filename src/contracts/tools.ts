import type { ContentPart } from './content.js';
import type { Bag, Open } from './open.js';
import type { JsonSchema } from './schema.js';

export type ToolCategory = Open<
  | 'edit'
  | 'delete'
  | 'move'
  | 'execute'
  | 'read'
  | 'search'
  | 'fetch'
  | 'think'
  | 'agent'
  | 'communicate'
  | 'plan'
  | 'switch_mode'
  | 'other'
>;

/** Conventions about a tool, all optional. An absent `category` is `other`; an absent `readOnly` is never read-only. */
export interface ToolAnnotations {
  readOnly?: boolean;
  destructive?: boolean;
  longRunning?: boolean;
  idempotent?: boolean;
  /** Calling it again and again with the same arguments is what it is for: no loop. */
  polling?: boolean;
  /** What it starts runs in a sandbox, or not at all. */
  sandboxed?: boolean;
  /** The provider of the model runs it, out of the host's sight: no call of it comes to the host. */
  providerExecuted?: boolean;
  category?: ToolCategory;
  [key: string]: unknown;
}

/** What a tool is: plain JSON, no code. */
export interface ToolDescriptor {
  name: string;
  displayName?: string;
  description: string;
  parametersSchema: JsonSchema;
  annotations?: ToolAnnotations;
}

export interface ToolCallRequest {
  requestId: string;
  name: string;
  args: unknown;
}

export type ToolErrorType = Open<
  | 'invalid_tool_params'
  | 'tool_not_registered'
  | 'policy_denied'
  | 'declined'
  | 'cancelled'
  | 'tool_timeout'
  | 'execution_failed'
  | 'file_not_found'
  | 'edit_no_occurrence_found'
  | 'mcp_tool_error'
  | 'no_space_left'
>;

/** The outcome of one tool call. `no_space_left` ends the run; every other error goes to the model. */
export interface ToolResultData {
  llmContent: ContentPart[];
  displayContent?: ContentPart[];
  isError?: boolean;
  errorType?: ToolErrorType;
  data?: unknown;
  outputFile?: string;
  /** Characters of the whole output when `llmContent` holds a part of it. */
  contentLength?: number;
  tailCalls?: ToolCallRequest[];
}

/** Progress of a running tool, for display only: never sent to the model, never persisted. */
export interface ToolUpdate {
  content?: ContentPart[];
  /** 0..1 */
  progress?: number;
  data?: unknown;
}

/** What a provider is told about the call. */
export interface ToolCallContext {
  readonly sessionId: string;
  readonly threadId?: string | undefined;
  readonly agentId: string;
  readonly signal: AbortSignal;
  readonly _meta?: Bag | undefined;
}

/** A source of tools: a registry, an MCP connection, an agent's own tools. */
export interface ToolProvider {
  getToolsForAgent(agentName: string): readonly ToolDescriptor[];
  authorize(request: ToolCallRequest, context: ToolCallContext): boolean | Promise<boolean>;
  execute(request: ToolCallRequest, context: ToolCallContext): AsyncGenerator<ToolUpdate, ToolResultData>;
}
