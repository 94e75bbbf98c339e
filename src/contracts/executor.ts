import type { Clock } from './clock.js';
import type { AgentDefinition } from './definition.js';
import type { AgentDescriptor, ExecutorType } from './descriptor.js';
import type { ElicitationChannel } from './elicitation.js';
import type { AgentEventDraft, StreamEndData } from './events.js';
import type { HookPoint, HookResult, LifecycleInterceptor } from './hooks.js';
import type { ModelConfig, ModelMessage, ModelRequest, ResolvedModel } from './model.js';
import type { Bag, Open } from './open.js';
import type { SessionProvider } from './persistence.js';
import type { PermissionMode, PolicyEvaluator } from './policy.js';
import type { AgentSession, SessionStreamData } from './session.js';
import type { ModelCallRecord, TraceContext, TracedModelCall } from './telemetry.js';
import type { ToolDescriptor, ToolProvider } from './tools.js';

/** The ports that a host gives a session. Take `Pick<HostContext, …>`, never the whole. */
export interface HostContext {
  readonly policyEngine: PolicyEvaluator;
  readonly hookSystem: LifecycleInterceptor;
  readonly elicitation: ElicitationChannel;
  readonly toolRegistry: ToolProvider;
  readonly modelConfig: ModelConfig;
  readonly sessionService: SessionProvider;
  readonly signal?: AbortSignal | undefined;
  readonly traceContext?: TraceContext | undefined;
}

/**
 * What one turn is given. The host answers the calls and questions that the turn asks for. Its methods are called on
 * it, not taken out of it.
 */
export interface TurnContext {
  readonly sessionId: string;
  readonly threadId: string | undefined;
  readonly agentId: string;
  readonly runId: string;
  readonly definition: AgentDefinition;
  /** Input of the run, as validated: data of the `inputSchema`, or `{ prompt }`. */
  readonly input: unknown;
  readonly systemInstruction: string;
  readonly permissionMode: PermissionMode;
  readonly clock: Clock;
  readonly modelConfig: ModelConfig;
  /** Made when first read: most turns end without it. */
  readonly signal: AbortSignal;
  /** Whether the signal has fired, without making one. */
  readonly aborted: boolean;
  /** The thread's history as a model sees it; a snapshot. Pairing holds. */
  messages(): readonly ModelMessage[];
  /** Tools this agent may call, by the names that the model says. */
  tools(): readonly ToolDescriptor[];
  /**
   * Whether the model may be told of a tool that its provider runs (`provider:google_search`) and that the backend
   * brings by itself. Policy says; a notice tells what it does not allow. Those among `tools` are allowed.
   */
  allowsProviderTool?(name: string): boolean;
  /**
   * Makes the history fit the agent's context budget; nothing where it fits. To be called before `modelRequest`. Never
   * rejects. An executor that keeps the conversation itself has no use for it.
   */
  fitContext?(): undefined | Promise<void>;
  /** The request of this turn, from history, tools, schema and configuration. */
  modelRequest(): ModelRequest;
  /** The model to ask: the run's, the agent's, or the host's. */
  readonly model: string | import('./model.js').ModelInterface | undefined;
  /** True in the grace turn: no tool call is taken. */
  readonly toolsOff: boolean;
  /** False: a message is wanted whole. */
  readonly streaming: boolean;
  /** The tree's state as this thread sees it, frozen. Keys that hold nothing are absent. */
  stateValues(): Readonly<Bag>;
  /**
   * Writes to the tree's state at once, and tells of it. A key that nothing declares becomes one of the tree where an
   * executor that writes such keys is in it. Throws as a tool's `state.set` does, and then nothing changed.
   */
  writeState(delta: Readonly<Bag>): void;
  /** Waits so long by the host's clock; the time counts against no limit. False when the turn was ended meanwhile. */
  rest(ms: number): Promise<boolean>;
  /** A new id for a message of this thread. */
  newMessageId(): string;
  /** Nothing but the name of `model` decides which model is asked, and no budget stands in the way. */
  readonly asksPlainly: boolean;
  /** The calls of this turn where more decides: made when first read. */
  readonly modelCalls: ModelCalls;
  /** Counts one model call against the limits. False: the limit is reached and the call must not be made. */
  admitModelCall(): boolean;
  /** Waits for a place among the requests in flight to a provider; returns what gives it back. Nothing: no limit is set. */
  takePermit(provider: string): undefined | Promise<() => void>;
  /**
   * Publishes one event of this thread. Returns nothing while there is room, else a promise to wait for.
   * An executor may push here, or yield drafts from `turn`, or both.
   */
  publish(draft: AgentEventDraft): void | Promise<void>;
  /** Where this run stands in its trace, to be handed on to a peer. Absent: nobody traces. */
  readonly traceContext?: TraceContext | undefined;
  /** Begins the span of one model call; nothing where nobody traces. */
  traceModelCall?(call: TracedModelCall): ModelCallRecord | undefined;
  /** Asks a person in the name of this agent. */
  readonly elicitation: ElicitationChannel;
  /** Whether some hook listens at a point. */
  hasHook(point: Open<HookPoint>): boolean;
  /** Fires a hook point of this thread; nothing where no hook listens. Never rejects. */
  fireHook(point: Open<HookPoint>, payload: Bag): undefined | Promise<HookResult>;
}

/** One try of a model call that has been let through. */
export interface ModelCall {
  readonly resolved: ResolvedModel;
  /** As it is to go out: with what its alias adds, and no longer an answer than can be paid for. */
  readonly request: ModelRequest;
  /** How it came to this model: goes with its message and its `usage`. Undefined: by its name alone. */
  readonly routing: Bag | undefined;
  /** It is over, and its usage published. `wasAnswered`: something came back. What it had reserved is given back. */
  settle(wasAnswered: boolean): void;
}

/** A model that a backend brings. `name`: as it has its price. */
export type OwnModel = Pick<ResolvedModel, 'name' | 'provider'>;

/** One try of a call of it. */
export type OwnModelCall = Pick<ModelCall, 'request' | 'settle'>;

/** How a try failed. */
export interface ModelFailure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** It came to an end with nothing usable in it. */
  readonly isMalformed: boolean;
  /** Something of it has reached the consumer: it is not silently said again. */
  readonly isSaid: boolean;
}

/** The model calls of one turn: which model is asked, when, and what follows a failure. */
export interface ModelCalls {
  /**
   * Override, router, availability, admission, in this order: lets one try through, counted. The end of the run where
   * no model can be asked (then its `error` is published); undefined where a limit was reached or the turn has ended.
   */
  begin(request: ModelRequest): Promise<ModelCall | TurnEnd | undefined>;
  /** The same for a model that the backend brings and asks by itself: no other stands in for it, and who asks tries again. */
  beginOwn(own: OwnModel, request: ModelRequest): Promise<OwnModelCall | TurnEnd | undefined>;
  /** Waits as long as is due. True: it is to be begun again. False: the failure stands. */
  failed(failure: ModelFailure, resolved: ResolvedModel): Promise<boolean>;
  answered(resolved: ResolvedModel): void;
}

/** How a turn ended, when it ended the run. A turn that asked for tools returns nothing. */
export interface TurnEnd {
  reason: string;
  data?: StreamEndData;
}

/**
 * One agent backend. `turn` must not throw: it ends with `stream_end` (yielded or returned), or returns after
 * `tool_request`s, and is called again with their results as `inbox`. It must stop within `abortTimeoutMs` (5 s) of `signal`.
 */
export interface Executor {
  turn(
    inbox: readonly SessionStreamData[],
    context: TurnContext,
  ): AsyncIterable<AgentEventDraft> | Promise<TurnEnd | undefined>;
  /** Hook points that this executor fires or lets the host fire. Absent: all. */
  readonly hookPoints?: readonly Open<HookPoint>[];
  /** What its sessions can really do; absent: what the descriptor declares. */
  readonly capabilities?: readonly string[];
  /** True: it runs its own model or tools out of the host's sight. Refused unless a policy rule grants it. */
  readonly opaque?: boolean;
  /**
   * True: it keeps the conversation itself: what the host forgets of it is not forgotten there, and it knows nothing of
   * one that it has not had. A run that broke off begins anew with it, or, where something was done by then that may not
   * be done twice, fails with `CANNOT_RESUME`.
   */
  readonly keepsContext?: boolean;
  close?(): void | Promise<void>;
}

/** What a backend stands for, as far as it is known. */
export interface BackendReading {
  /** The definition with what its backend brings: tools, schemas, agents below it. It is not read again. */
  readonly definition: AgentDefinition;
  /** Finds out the rest: a factory, a toolset. Absent: all is known. Rejects with what cannot be read; the next call tries again. */
  readonly complete?: () => Promise<void>;
}

/** Reads the backends of one executor type for one host, before anything of them runs. */
export interface BackendReader {
  /** Cheap, touches nothing outside. Throws `INVALID_DEFINITION` for a backend that is none. */
  read(definition: AgentDefinition): BackendReading;
  /** Lets go of what `complete` opened. Never rejects. */
  close(): Promise<void>;
}

export interface ExecutorCreator {
  (
    descriptor: AgentDescriptor,
    context: HostContext & { readonly definition: AgentDefinition },
  ): AgentSession | Executor;
  /** What all its sessions can do: children begin before what drives them is made. Absent: what they declare. */
  readonly capabilities?: readonly string[];
  /** Semver of the interface layer that it was written against. Another major than the host's is refused. */
  readonly interfaceVersion?: string;
  /**
   * The name of the model that a backend brings and asks by itself, by which it has its price. Undefined: it brings none,
   * or that is known only once it runs. Asked before a run with a limit in USD.
   */
  readonly ownModel?: (definition: AgentDefinition) => string | undefined;
}

export interface SessionFactory {
  register(type: ExecutorType, creator: ExecutorCreator): void;
  /** Not yet running. Throws `UNKNOWN_EXECUTOR`, naming what is registered. */
  create(descriptor: AgentDescriptor, context: HostContext): AgentSession;
  has(type: ExecutorType): boolean;
}

export type { Bag };
