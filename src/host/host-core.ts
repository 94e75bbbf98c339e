import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { SessionInput } from '../../machines/session.events.js';
import type {
  AgentDefinition,
  AgentEventDraft,
  Clock,
  CredentialStore,
  ExecutorCreator,
  LifecycleInterceptor,
  ModelAlias,
  ModelCandidate,
  ModelChoice,
  ModelHealth,
  ModelPrice,
  ModelStatus,
  ModelUsage,
  PolicyEvaluator,
  ResolvedModel,
  RouterStrategy,
  SessionProvider,
  SessionToolset,
  ToolDefinition,
  ToolFactory,
} from '../contracts/index.js';
import type { EventGate } from '../kernel/event-merge.js';
import type { Schedule } from '../kernel/late-timer.js';
import type { SavedRules } from '../kernel/policy-rules.js';
import type { Stamp } from '../kernel/stamp.js';
import type { TurnoverMap } from '../kernel/turnover-map.js';
import type { Backends } from './backends.js';
import type { Watch } from './inspection.js';
import type { MediaCache } from './media-cache.js';
import type { Permits } from './permits.js';
import type { RestoreFile } from './recovery/restore-files.js';
import type { SessionTools } from './session-tools.js';
import type { Skills } from './skills.js';
import type { CompiledAgent, RunEnd, Thread, Tree } from './thread.js';
import type { Toolsets } from './toolsets.js';
import type { Tracing } from './tracing.js';
import type { ElicitationCallback } from './types.js';
import type { Words } from './words.js';

/** What overrides of an alias go by. */
export interface ModelContext {
  readonly agent?: string | undefined;
  readonly purpose?: string | undefined;
  readonly retry?: boolean | undefined;
}

/** All that a host knows of models. */
export interface ModelRegistry {
  /** Why a choice cannot be served, in one sentence; undefined when it can. Makes no model. */
  fault(choice: ModelChoice | undefined): string | undefined;
  resolve(choice: ModelChoice | undefined, context?: ModelContext): ResolvedModel | Promise<ResolvedModel>;
  /** More than a name decides which model is asked. */
  readonly decides: boolean;
  readonly router: readonly RouterStrategy[];
  /** The model that is wanted, then those that stand in for it, in order. */
  candidates(choice: ModelChoice | undefined, context: ModelContext): ModelCandidate[];
  open(candidate: ModelCandidate): ResolvedModel | Promise<ResolvedModel>;
  /** Whether another model than the wanted one may be asked without a person's consent. */
  readonly consent: 'silent' | 'ask';
  healthOf(candidate: ModelCandidate, asked?: ModelChoice): ModelHealth;
  readonly health: {
    failed(name: string, fault: { code: string; retryable: boolean; retryAfterMs?: number | undefined }): void;
    answered(name: string): void;
  };
  price(name: string): ModelPrice | undefined;
  /** In USD; undefined where the price or the tokens are not known. */
  cost(name: string | undefined, usage: ModelUsage): number | undefined;
  /** Every model that a choice may end with, as far as names tell. */
  reachable(choice: ModelChoice | undefined): ModelChoice[];
  reportsCost(choice: ModelChoice): boolean;
  list(also?: readonly string[]): ModelStatus[];
  setAlias(name: string, alias: ModelAlias | string | undefined): void;
  ban(name: string, reason?: string): void;
  allow(name: string): void;
  reset(name?: string): void;
}

/** Fires the hooks that stand around runs, events and notices, and does what they say. */
export interface Lifecycle {
  /** Begins a run that is recorded and has said nothing yet: asks the hooks, publishes its message, lets it go. */
  begin(thread: Thread, message: { messageId: string; role: 'user' | 'developer' }): void;
  /** The same for a run that is gone on with: what was asked before it is not asked again. */
  resume(thread: Thread): void;
  /** Asks about the words that wait for a thread; nothing when there is nothing to ask. */
  beforeTurn(thread: Thread): undefined | Promise<void>;
  /** Asks about words that have just been said to a thread. */
  reviewWords(thread: Thread, words: Words): void;
  /** True: the run ends later, or goes on. */
  end(thread: Thread, end: RunEnd, report: EndReport): boolean;
  /** Publishes a notice, as its hooks would have it. */
  notice(thread: Thread, draft: AgentEventDraft<'custom'>): void;
  /** The root's actor is gone. */
  sessionEnded(tree: Tree): undefined | Promise<void>;
  gateOf(tree: Tree): EventGate<Thread> | undefined;
}

/** Keeps large media of events as artifacts of their sessions. */
export interface MediaKeeper {
  /** From here on large media of the tree is kept before the event that brings it is seen; what comes after it waits. */
  keepFor(tree: Tree): void;
  /** The same behind what hooks make of an event. */
  gateOf(tree: Tree, hooks: EventGate<Thread>): EventGate<Thread>;
  readonly cache: MediaCache<Tree>;
}

/** Tells the session of the end of its run. */
export type EndReport = (reason: string, endsSession: boolean) => void;

/** What all sessions of one host share. */
export interface HostCore {
  readonly clock: Clock;
  /** Timers of calls and turns: most end before one is needed. */
  readonly lateTimer: Schedule;
  readonly restoreFile: RestoreFile;
  readonly stamp: Stamp;
  readonly models: ModelRegistry;
  readonly policy: PolicyEvaluator;
  /** Nothing: the host has no file for what a person wants to be kept. */
  readonly savedRules: SavedRules | undefined;
  readonly hooks: LifecycleInterceptor | undefined;
  /** Points that some hook listens to. */
  readonly hookPoints: ReadonlySet<string>;
  /** Nothing: no hook listens to what it fires. */
  readonly lifecycle: Lifecycle | undefined;
  readonly credentials: CredentialStore;
  readonly media: MediaKeeper;
  readonly elicitation: ElicitationCallback | 'respond' | 'deny';
  readonly store: SessionProvider;
  readonly appName: string;
  /** Nothing: nobody traces. */
  tracing: Tracing | undefined;
  /** Nothing: nobody looks. */
  watch: Watch | undefined;
  readonly permits: Permits;
  /** In [0, 1): spreads what would happen all at once. */
  readonly random: () => number;
  readonly toolTimeoutMs: number;
  readonly abortTimeoutMs: number;
  /** Replaced when a toolset brings others. */
  hostTools: ReadonlyMap<string, ToolDefinition>;
  readonly backends: Backends;
  readonly skills: Skills;
  /** Nothing: the host has none. */
  toolsets: Toolsets | undefined;
  sessionTools: SessionTools;
  /** Of one session: what a source on an agent has made for it. */
  readonly ownTools?: ((source: ToolFactory | SessionToolset) => readonly ToolDefinition[]) | undefined;
  readonly agents: ReadonlyMap<string, AgentDefinition>;
  readonly executors: ReadonlyMap<string, ExecutorCreator>;
  /** Patterns whose runs are carried by a logic of their own, and `hierarchical`. */
  readonly patterns: ReadonlySet<string>;
  readonly threads: TurnoverMap<string, Thread>;
  readonly trees: TurnoverMap<string, Tree>;
  /** Sessions that a run has been asked of, while its input is checked or the store is asked. */
  readonly opening: TurnoverMap<string, Promise<unknown>>;
  /** Sessions that have ended and whose last events are on their way into the store. */
  readonly closing: TurnoverMap<string, Promise<void>>;
  /** Begun anew with other host tools. */
  compiled: WeakMap<AgentDefinition, CompiledAgent>;
  /** Every tool promise that an abort or a timeout left behind, until it settles. */
  readonly strays: Set<Promise<unknown>>;
  sessionLogic: AnyActorLogic;
  /** Starts a root session below the host's own actor. */
  spawn: (sessionId: string, input: SessionInput) => AnyActorRef;
  isClosing: boolean;
}
