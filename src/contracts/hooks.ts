import type { ContentPart } from './content.js';
import type { AgentEvent } from './events.js';
import type { ModelRequest, ModelResponse } from './model.js';
import type { Bag, Open } from './open.js';
import type { PermissionMode } from './policy.js';
import type { ToolResultData } from './tools.js';

/** What every hook is told. */
export interface HookPayloadBase {
  sessionId: string;
  /** Absent: the root of the session. */
  threadId?: string | undefined;
  /** Agent names from the root down, joined by `/`. */
  principalPath: string;
  mode: PermissionMode;
}

/**
 * Payload and permitted modification of every known hook point. Other modules add points by declaration merging.
 *
 * `session_start`, `on_user_message`, `before_run`, `after_run` and `session_end` fire for the session as a whole, the
 * other points for every thread of it: `before_agent` for the root and for each child.
 */
export interface HookPoints {
  before_agent: {
    payload: { prompt: ContentPart[] };
    modifications: { additionalContext?: string; response?: string };
  };
  after_agent: {
    payload: { prompt: ContentPart[]; response: unknown; stopHookActive: boolean };
    modifications: { clearContext?: boolean };
  };
  before_model: {
    payload: { request: ModelRequest };
    modifications: { request?: ModelRequest; response?: ModelResponse };
  };
  after_model: {
    payload: { request: ModelRequest; response: ModelResponse };
    modifications: { response?: ModelResponse };
  };
  before_tool: {
    payload: { tool: string; args: unknown; requestId: string; mcp?: Bag };
    modifications: { args?: unknown };
  };
  after_tool: {
    payload: { tool: string; args: unknown; requestId: string; mcp?: Bag; result: ToolResultData };
    modifications: { additionalContext?: string; tailCall?: { name: string; args: unknown } };
  };
  on_event: { payload: { event: AgentEvent }; modifications: { event?: Partial<AgentEvent> } };
  on_user_message: { payload: { content: ContentPart[] }; modifications: { content?: ContentPart[] } };
  before_run: { payload: { prompt: ContentPart[] }; modifications: { additionalContext?: string; response?: string } };
  after_run: { payload: { reason: string; result?: unknown }; modifications: Record<string, never> };
  on_model_error: { payload: { request: ModelRequest; error: Bag }; modifications: { response?: ModelResponse } };
  on_tool_error: {
    payload: { tool: string; args: unknown; requestId: string; mcp?: Bag; error: ToolResultData };
    modifications: { result?: ToolResultData };
  };
  before_tool_selection: {
    payload: { request: ModelRequest };
    modifications: { toolMode?: 'auto' | 'any' | 'none'; allowedTools?: string[] };
  };
  notification: {
    payload: { type: string; message: string; details?: Bag };
    modifications: { suppress?: boolean; message?: string };
  };
  session_start: {
    payload: { source: Open<'startup' | 'resume' | 'clear'> };
    modifications: { additionalContext?: string };
  };
  session_end: { payload: { reason: string }; modifications: Record<string, never> };
  pre_compress: { payload: { trigger: Open<'manual' | 'auto'> }; modifications: { suppress?: boolean } };
}

export type HookPoint = keyof HookPoints;
export type HookPayload<P extends HookPoint> = HookPayloadBase & HookPoints[P]['payload'];

export interface HookResult<Modifications = Bag> {
  /** `ask`: at `before_tool`, what policy would allow is asked about. Unknown is `block`. */
  action: Open<'proceed' | 'block' | 'ask'>;
  reason?: string;
  modifications?: Modifications;
  /** For the person, as a `hook_message`. */
  systemMessage?: string;
  /** False: the run ends here, `aborted`, with `stopReason`. */
  continue?: boolean;
  stopReason?: string;
  /** True: the hook's own text (`systemMessage`) is not shown. */
  suppressOutput?: boolean;
  /** Of a chain: `faults` (texts) and `notices` (`{ code, text }`) for the person. */
  _meta?: Bag;
}

/** What one call of a hook is given beside its payload. */
export interface HookCall {
  /** Fires when nobody waits for the answer any more: its time is over, or the host is being closed. Made when first read. */
  readonly signal: AbortSignal;
}

/** Typed face of one hook; `defineHook` makes it. */
export interface HookDefinition<P extends HookPoint = HookPoint> {
  readonly point: P;
  /** What it is called in messages. */
  readonly name?: string;
  /** Default 60,000. */
  readonly timeoutMs?: number;
  // A method, so that a hook of any one point is a hook.
  run(
    payload: HookPayload<P>,
    call?: HookCall,
  ):
    | HookResult<HookPoints[P]['modifications']>
    | undefined
    | void
    | Promise<HookResult<HookPoints[P]['modifications']> | undefined | void>;
}

/** A hook of any point, as a list of them takes it; `defineHook` gives payload and answer their types. */
export interface AnyHookDefinition {
  readonly point: HookPoint;
  readonly name?: string;
  readonly timeoutMs?: number;
  readonly run: (payload: never, call?: HookCall) => unknown;
}

export interface LifecycleInterceptor {
  fire(point: Open<HookPoint>, payload: HookPayloadBase & Bag): Promise<HookResult>;
  supportedHookPoints(): readonly Open<HookPoint>[];
  /** The same as `fire`, at once where every hook answers at once: there may be an event for every word. */
  fireNow?(point: Open<HookPoint>, payload: HookPayloadBase & Bag): HookResult | Promise<HookResult>;
  /** Ends what its hooks still have under way for a thread and all below it: their run is being stopped. Must not throw. */
  cancel?(sessionId: string, threadId: string | undefined, reason: string): void;
  /** Ends what its hooks still have under way. */
  close?(): void | Promise<void>;
}
