// Whoever compiles for an earlier library of types has `await using` too, or the declarations below would not do.
/// <reference lib="esnext.disposable" preserve="true" />
import type { InspectionEvent, Observer } from 'xstate';
import type {
  AgentDefinition,
  AgentDescriptor,
  AgentEvent,
  AgentResponse,
  AgentSession,
  AnyHookDefinition,
  Clock,
  ContentPart,
  ContextBudget,
  CostTotals,
  CredentialStore,
  ElicitationAnswer,
  ElicitationRequest,
  ExecutionState,
  ExecutorCreator,
  ExecutorType,
  GenerationConfig,
  HostContext,
  LifecycleInterceptor,
  ModelAlias,
  ModelFactory,
  ModelFallbacks,
  ModelInterface,
  ModelPrice,
  ModelStatus,
  PendingRequest,
  PermissionMode,
  PolicyEvaluator,
  RouterStrategy,
  SessionProvider,
  SessionSummary,
  SessionToolset,
  SessionUpdateData,
  SteerData,
  StreamEndData,
  StreamEndReason,
  TelemetryBridge,
  ToolDefinition,
  ToolDescriptor,
  ToolFactory,
  ToolResultData,
  Toolset,
  TraceContext,
  UsageTotals,
} from '../contracts/index.js';
import type { PolicyRuleSet } from '../kernel/policy-rules.js';

/** Answers questions in process; `signal` fires when the question is withdrawn. A throw or a rejection is `cancel`. */
export type ElicitationCallback = (
  request: ElicitationRequest & { threadId?: string; agentId: string },
  options: { signal: AbortSignal },
) => ElicitationAnswer | Promise<ElicitationAnswer>;

export interface HostLimits {
  /** Requests in flight (model calls, tool executions) of the whole host. Default: no limit. */
  concurrency?: number;
  providers?: Record<string, { concurrency: number }>;
  /** Default 120,000. A tool's own `timeoutMs` wins. */
  toolTimeoutMs?: number;
  /** Default 5,000. */
  abortTimeoutMs?: number;
}

export interface HostOptions {
  /** Provider name → model, or a factory of models by the name after `provider/`. `gemini`, `openai`, `openrouter` are built in. */
  models?: Record<string, ModelInterface | ModelFactory>;
  /** Tools, toolsets that are opened before the first run that may use them, and what makes tools for each session. */
  tools?: readonly (ToolDefinition | Toolset | ToolFactory | SessionToolset)[];
  /** Rule sets (merged by tier and priority) and evaluators (the strictest decides). */
  policy?: readonly (PolicyRuleSet | PolicyEvaluator)[];
  /** False: the folder that rules of the tier `workspace` come from is not trusted, and they do not count. Default true. */
  trust?: boolean;
  /** The user's own rules (TOML), which count like those of `policy`; where "always and save" writes. Need not exist yet. */
  userPolicyFile?: string;
  hooks?: readonly (AnyHookDefinition | LifecycleInterceptor)[];
  /** Default `respond`: questions are events, answered through `run.respond`. `deny`: there is nobody to ask. */
  elicitation?: ElicitationCallback | 'respond' | 'deny';
  /** Where answers to `auth_required` are kept. Default: in memory. */
  credentials?: CredentialStore;
  /** Agents known by name. */
  agents?: readonly AgentDefinition[];
  appName?: string;
  /** Default: memory. */
  store?: SessionProvider;
  telemetry?: TelemetryBridge;
  /** Names for models and their parameters. */
  aliases?: Record<string, ModelAlias | string>;
  /** Strategies, asked in order until one answers; what a run was given as `model` goes before them. */
  router?: RouterStrategy | RouterStrategy['route'] | readonly (RouterStrategy | RouterStrategy['route'])[];
  /** By `provider/name`, by the name alone, or `provider/*`. */
  prices?: Record<string, ModelPrice>;
  /** Models that stand in for others: a list for all, or one for each by name. */
  fallbacks?: readonly string[] | Record<string, readonly string[]> | ModelFallbacks;
  limits?: HostLimits;
  clock?: Clock;
  /** What chance decides (the spread of waits) is the same for the same seed. Default: it differs. */
  seed?: number;
  /** XState's inspection events of every actor, unchanged; what `createActor` takes. An inspector of Stately has one. */
  inspect?: ((event: InspectionEvent) => void) | Observer<InspectionEvent>;
}

export interface RunOptions {
  permissionMode?: PermissionMode;
  signal?: AbortSignal;
  model?: string | ModelInterface;
  generation?: GenerationConfig;
  contextBudget?: ContextBudget;
  maxBudgetUsd?: number;
  /** Input and output tokens together. */
  maxTokens?: number;
  tools?: readonly (ToolDefinition | ToolDescriptor)[];
  /** Default true. False: a message comes whole, not in pieces. */
  streaming?: boolean;
  /** False: the caller answers every tool call that the gate lets through. Default true. */
  hostToolExecution?: boolean;
  /** Goes on with that session, or makes it. */
  sessionId?: string;
  /** Default `local`. */
  userId?: string;
  ephemeral?: boolean;
  traceContext?: TraceContext;
  /**
   * Lets another definition go on with the session. It is told what has changed, and may return another state for the
   * root; nothing leaves the state as it is.
   */
  migrate?: (session: {
    /** `metadata.version` of the definition that the session was begun with. */
    from?: string;
    changes: readonly string[];
    state: Record<string, unknown>;
  }) => Record<string, unknown> | undefined | Promise<Record<string, unknown> | undefined>;
}

/** Of a run that goes on: what was given to it when it began stands in the log, save for tools with code and models. */
export interface ResumeOptions extends Omit<RunOptions, 'sessionId' | 'userId' | 'ephemeral'> {
  /** May be left out where the host knows the agent by name. */
  agent?: AgentDefinition;
  /** Takes what cannot be read out of a damaged log first. */
  repair?: boolean;
}

export interface RunResult<Output = unknown> {
  /** The reason is `completed`. */
  ok: boolean;
  reason: StreamEndReason;
  /** The final text; JSON text when the result is data. */
  text: string;
  /** Absent unless there is one: read `ok` first. */
  result: Output;
  usage: UsageTotals;
  /** Absent when no call had a known price. */
  cost?: CostTotals;
  /** `data` of the root's `stream_end`. */
  data: StreamEndData;
  sessionId: string;
}

/** One message and all that it causes. Leaving its iterator early aborts it. */
export interface Run<Output = unknown> extends AsyncIterable<AgentEvent> {
  readonly sessionId: string;
  /** Resolves at the root's `stream_end`, also without iterating. Rejects only for wrong use (`TroupeError`). */
  readonly result: Promise<RunResult<Output>>;
  /** Throws `UNKNOWN_REQUEST` or `INVALID_ANSWER` and changes nothing. A consumer's tool takes `{ result }`. */
  respond(requestId: string, answer: ElicitationAnswer | { result: ToolResultData | string | object }): void;
  /** `threadId` absent: the root; `'*'`: every live thread. */
  steer(data: SteerData, options?: { threadId?: string }): void;
  update(config: SessionUpdateData): void;
  /** The whole run; one thread and all below it; or one tool call, which is answered with `cancelled`. */
  abort(reason?: string, options?: { threadId?: string; requestId?: string }): void;
  state(): RunState;
  /**
   * The machines of the tree as XState persists them, JSON-safe, children before parents: for whoever rehydrates them
   * (`createActor(machine, { snapshot })`). Runs are never resumed from it: `host.resume` reads the log.
   */
  persistedSnapshots(): PersistedThread[];
}

/** The machine of one live thread. */
export interface PersistedThread {
  /** Absent: the root. */
  threadId?: string;
  agentName: string;
  /** Of `troupe/machines/session`; a composition's own machine is its child `turn`. */
  snapshot: Record<string, unknown>;
}

export interface RunState {
  root: ExecutionState;
  /** Everything in the tree that waits for outside input. */
  pending: PendingRequest[];
  threads: ThreadState[];
}

export interface ThreadState {
  threadId?: string;
  agentName: string;
  executor: string;
  state: ExecutionState;
}

/** The bare session, as the host makes it. */
export interface HostSession extends AgentSession {
  readonly sessionId: string;
  stream(...args: Parameters<AgentSession['stream']>): AgentResponse;
  state(): ExecutionState;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a host knows of models, and what may be changed about it while it runs. */
export interface HostModels {
  /** Aliases, models that were asked, stand in or have a price, those that something is known against, and `also`. */
  list(also?: readonly string[]): ModelStatus[];
  /** Counts from the next request on; undefined takes it away. Throws `INVALID_OPTION`, and then nothing has changed. */
  setAlias(name: string, alias: ModelAlias | string | undefined): void;
  /** A model, or an alias, that is not asked from the next request on: what stands in for it is. */
  ban(name: string, reason?: string): void;
  allow(name: string): void;
  /** Forgets failures of one model, or of all. */
  reset(name?: string): void;
}

export interface InspectServerOptions {
  port?: number;
  hostname?: string;
  /** Default: a random one. */
  token?: string;
  /** What this host is called there. Default: its `appName`. */
  name?: string;
  /** Hosts of this process that are shown beside it, by the names that they have there. */
  hosts?: Readonly<Record<string, Host>>;
  /** Studios of other processes that are shown beside it: their addresses, as they were printed. */
  connect?: readonly string[];
}

export interface InspectServer {
  /** Opens the page, token included. */
  readonly url: string;
  close(): Promise<void>;
}

export interface RewindOptions {
  /** The last event that stays. */
  to: number;
  /**
   * The folder of the workspace: files below it that the edit tools have changed since are put back to what they held,
   * each where nobody else has changed it meanwhile.
   */
  restoreFiles?: string;
}

export interface Host {
  readonly models: HostModels;
  /** `input`: text, parts, or data of the agent's `inputSchema`. */
  run<Input, Output>(
    agent: AgentDefinition<string, Input, Output>,
    input: NoInfer<string | readonly ContentPart[] | Input>,
    options?: RunOptions,
  ): Run<Output>;
  session(agent: AgentDefinition, options?: RunOptions): HostSession;
  /**
   * Goes on with the run that the log of a session breaks off in: its iterator begins behind the end of the log, with
   * each pending request once more. Where the latest run had ended, the Run is over and has its result.
   */
  resume<Output = unknown>(sessionId: string, options?: ResumeOptions): Promise<Run<Output>>;
  /**
   * A session of its own with the past of another up to a position (default: all of it), moved back to the last one
   * behind which no call and no question is open. The source may be under way, and does not change.
   */
  fork(sessionId: string, options?: { at?: number }): Promise<{ sessionId: string; at: number }>;
  /**
   * Takes a session back: what its log has behind `to` is cut off. A run under way in this host ends `aborted`; while a
   * model call of it is in flight it is refused (`SESSION_BUSY`). Files stay as they are, unless `restoreFiles` says
   * otherwise; a notice in the log tells which.
   */
  rewind(sessionId: string, options: RewindOptions): Promise<void>;
  /** What the log has after that point, then live, with no gap and no double; ends after the root's `stream_end` if no run follows. */
  attach(sessionId: string, options?: { after?: number | string }): AsyncIterable<AgentEvent>;
  list(agentName?: string): Promise<SessionSummary[]>;
  delete(sessionId: string): Promise<void>;
  registerExecutor(type: ExecutorType, creator: ExecutorCreator): void;
  /** The descriptor tree, plain JSON. Checks the whole definition. */
  describe(agent: AgentDefinition): AgentDescriptor;
  /**
   * The host's ports, for what bridges it to another framework: models, policy, hooks, questions, tools, store. A question
   * that is asked here belongs to no session: it is answered by an `elicitation` callback, and otherwise with `cancel`.
   */
  context(): HostContext;
  /**
   * Serves Studio for this host: its page and the wire behind it. Without a `port` any that is free, on 127.0.0.1 only
   * unless `hostname` says otherwise; `url` holds the token that every request needs. It ends with the host.
   */
  inspectServer(options?: InspectServerOptions): Promise<InspectServer>;
  supports(capability: string): boolean;
  /** Stops taking work, waits up to `drainMs` (default 0) for runs, aborts the rest. After it nothing is left. */
  close(options?: { drainMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
