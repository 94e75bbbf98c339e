import type { AnyActorRef } from 'xstate';
import type {
  AgentDefinition,
  AgentDescriptor,
  AgentEvent,
  ContentPart,
  ContextBudget,
  Executor,
  GenerationConfig,
  ModelInterface,
  PermissionMode,
  SessionHandle,
  SessionStreamData,
  StreamEndData,
  ToolDefinition,
  ToolDescriptor,
  ToolResultData,
  TraceContext,
} from '../contracts/index.js';
import type { CrewPlan } from '../kernel/crew.js';
import type { EventMerge, Origin } from '../kernel/event-merge.js';
import type { History } from '../kernel/history.js';
import type { LoopCarry, LoopWatch } from '../kernel/loop-watch.js';
import type { StateDeclaration, StateScope } from '../kernel/state.js';
import type { UsageTally } from '../kernel/usage.js';
import type { AgentTools } from './agent-tools.js';
import type { BudgetAccount, TreeBudget } from './budget.js';
import type { CrewState } from './crew-state.js';
import type { HostCore } from './host-core.js';
import type { Question } from './questions.js';
import type { ThreadPast } from './recovery/past.js';
import type { Recovery } from './recovery/recovery.js';
import type { RunModels } from './run-models.js';
import type { AgentSkills } from './skills.js';
import type { Call } from './tool-call.js';
import type { Words } from './words.js';

/** A definition as it stands at one place of a tree: what its surroundings give it is settled here, once per host. */
export interface CompiledAgent {
  readonly definition: AgentDefinition;
  readonly descriptor: AgentDescriptor;
  /** Name of the logic that carries a run. */
  readonly behaviour: string;
  readonly isComposition: boolean;
  readonly plan: CrewPlan | null;
  readonly children: readonly CompiledAgent[];
  readonly tools: AgentTools;
  /** Nothing: it has none. */
  readonly skills: AgentSkills | undefined;
  /** It or one below it has skills. */
  readonly hasSkills: boolean;
  readonly limits: AgentLimits;
  /** State keys that it and all below it declare. */
  readonly declaration: StateDeclaration;
  /** It or one below it may write state keys that nothing declares. */
  readonly opensState: boolean;
  /** Every tool that it can reach is read-only. */
  readonly readOnly: boolean;
  /** It or one below it is a composition that limits the turns of all below. */
  readonly limitsTurns: boolean;
  /** It or an agent below it has a limit on what it spends. */
  readonly isBudgeted: boolean;
  /** State keys that take the result; undefined: none. */
  readonly outputKeys: readonly string[] | undefined;
  /** The definition whose model and instruction drive the turns: the leader of a hierarchy, else the agent itself. */
  readonly driver: AgentDefinition;
}

export interface AgentLimits {
  readonly maxTurns: number;
  readonly maxLlmCalls: number;
  readonly maxTimeMs: number;
  readonly maxBudgetUsd: number;
  readonly maxTokens: number;
  readonly graceTurn: boolean;
}

/** How a run ended. */
export interface RunEnd {
  readonly reason: string;
  readonly data: StreamEndData;
}

/** Why a run is being stopped before its time. */
export interface RunStop {
  readonly reason: string;
  readonly data: StreamEndData;
}

/** One run of one thread, from its message to its `stream_end`. */
export interface RunRecord {
  input: unknown;
  inputText: string;
  /** Own usage, and that of every child run that has ended. */
  readonly tally: UsageTally;
  turns: number;
  /** Of all below it, counted where a composition of the tree limits them. */
  turnsBelow: number;
  /** Of these, those under way. */
  turnsOpen: number;
  /** Turns below for which there is no room: each goes on, and ends the run, once none is under way. */
  heldTurns: (() => void)[] | undefined;
  llmCalls: number;
  /** Set once the run is being stopped; the first reason counts. */
  stop: RunStop | undefined;
  /** Epoch ms of `stop`. */
  stoppedAt: number;
  /** The state that the session was in then. */
  left: string | undefined;
  /** A limit that was reached while a grace turn was still to be had. */
  reached: RunEnd | undefined;
  /** Calls of the turn under way, in the order asked. */
  calls: Call[];
  inbox: SessionStreamData[];
  /** Text of the last agent message, and what it belongs to. */
  lastText: string;
  /** What is still to be joined to it: `lastTextOf` does. */
  lastPieces: string[] | undefined;
  lastMessageId: string;
  /** What a built-in tool asked for: the run ends after this turn's calls. */
  ending: RunEnding | undefined;
  /** `transfer`: who handed the conversation over to the member that is active. */
  handedOverBy: { from: string; reason?: string } | undefined;
  /** Where this run's messages begin in the history. */
  historyFrom: number;
  outputFaults: number;
  graceUsed: boolean;
  loops: LoopWatch | undefined;
  workUsedMs: number;
  workSince: number;
  working: number;
  cancelWorkTimer: (() => void) | undefined;
  /**
   * Ends the turn under way; set by the turn. `stop` and `interrupt` tell it, and after an interruption the run goes
   * on; `force` waits no longer.
   */
  cutTurn: ((how: 'stop' | 'interrupt' | 'force') => void) | undefined;
  interrupted: boolean;
  /** What was decided about its models; made where more than a name decides. */
  models: RunModels | undefined;
  /** Nothing: no hook has had to do with it. */
  hooks: RunHooks | undefined;
}

/** What hooks have made of a run so far. */
export interface RunHooks {
  /** Lets go of the hook that is waited for. */
  cutWait: (() => void) | undefined;
  /** An `after_agent` hook has sent it back once. */
  wasSentBack: boolean;
  /** `ending`: the hooks at its end are asked; `final`: how it ends stands; `ended`: its last event is on its way out. */
  phase: 'open' | 'ending' | 'final' | 'ended';
  /** It was taken up before its first turn: whether it may run is still to be asked. */
  isUnasked: boolean;
  /** A hook has answered in the agent's place. */
  isAnswered: boolean;
  /** What the run was asked; kept for `after_agent`. */
  prompt: ContentPart[] | undefined;
  /** What hooks want every agent of a composition to be told. */
  context: string | undefined;
  /** Names of the tools, as the model says them, that may be called in this turn; undefined: all that it has. */
  selected: ReadonlySet<string> | undefined;
}

/** What hooks have made of a session so far. */
export interface TreeHooks {
  /** Why the next run is the first of a conversation; undefined: it is not. */
  source: string | undefined;
  /** Its first run has begun. */
  hasBegun: boolean;
  /** What `session_start` wants every agent of a composition to be told. */
  context: string | undefined;
  /** Resolves once the notices that wait for their hooks are out. */
  telling: Promise<void> | undefined;
}

export interface RunEnding {
  readonly handoff?: { target: string; reason?: string };
  readonly escalate?: { reason?: string };
  readonly complete?: { value: unknown };
  readonly failure?: { code: string; message: string };
}

export interface CountedHistory {
  /** How long the history was then, estimated. */
  readonly estimated: number;
  /** Counted by the provider ÷ estimated; 1 where it does not count. */
  readonly ratio: number;
  /** It does count. */
  readonly isKnown: boolean;
}

/** One session of a tree at run time. What must survive a process is in the log, not here. */
export interface Thread extends Origin {
  readonly tree: Tree;
  readonly parent: Thread | undefined;
  agent: CompiledAgent;
  readonly address: string;
  /** Agent names from the root down, joined by `/`. */
  readonly principalPath: string;
  /** Index among the parent's children; -1 for the root. */
  readonly index: number;
  actor: AnyActorRef;
  executor: Executor | undefined;
  history: History;
  state: StateScope;
  /** Cost of this session so far, that of its descendants included. */
  spentUsd: number;
  /** The same in tokens; counted where `tree.budget` is kept. */
  spentTokens: number;
  /** Of a loop: what its run knows of its agents from one iteration to the next. */
  loopCarry: LoopCarry | undefined;
  /** What is reserved of its own limits; made with the first reservation. */
  account: BudgetAccount | undefined;
  run: RunRecord | undefined;
  end: RunEnd | undefined;
  /** The session ends with its run. */
  endsSession: boolean;
  hasEnded: boolean;
  /** Children spawned so far, over all its runs. */
  spawned: number;
  children: Set<Thread> | undefined;
  crew: CrewState | undefined;
  questions: Set<Question> | undefined;
  steers: Words[];
  /** Ids of words that it has taken; undefined: none. */
  heard: Set<string> | undefined;
  isPaused: boolean;
  resumeTurn: (() => void) | undefined;
  /** Open questions and consumer's calls of this thread. */
  outsideWaits: number;
  /** Messages at the start of the history that came from other threads. */
  preloaded: number;
  /** A call of the parent that this thread's run answers: its messages are shown as the call's progress. */
  projectsTo: { thread: Thread; requestId: string } | undefined;
  /** A tool without `readOnly` or `idempotent` has run here or below. */
  hadSideEffects: boolean;
  instruction: string | undefined;
  /** What the log says of its run, in a tree that was taken up in the middle of it; used up as the run goes on. */
  past: ThreadPast | undefined;
  /** Estimated tokens at which a compaction that came to nothing is tried again. */
  compactAgainAt: number;
  /** The provider's own count of the history; undefined: never asked. */
  counted: CountedHistory | undefined;
}

/** Choices for a whole tree that a caller may change while it runs. */
export interface TreeSettings {
  permissionMode: PermissionMode;
  model: string | ModelInterface | undefined;
  generation: GenerationConfig | undefined;
  hostToolExecution: boolean;
  streaming: boolean;
  maxBudgetUsd: number;
  maxTokens: number;
  contextBudget: ContextBudget | undefined;
}

/** One session tree: the root session and everything below it, with one log and one merged stream. */
export interface Tree {
  readonly host: HostCore;
  readonly sessionId: string;
  /** Whose session it is: what is kept for one user is not for another. */
  readonly userId: string;
  /** Nothing: nothing is logged; also from where the session is taken back on. */
  handle: SessionHandle | undefined;
  readonly merge: EventMerge<Thread>;
  readonly settings: TreeSettings;
  root: Thread;
  /** Something waits that only outside input can move. */
  readonly waitsForOutside: boolean;
  /** Every request that outside input may answer. */
  readonly questions: Map<string, Question>;
  readonly consumerCalls: Map<string, Call>;
  /** Tools that came with the run; those without code are the consumer's to run. */
  runTools: readonly (ToolDefinition | ToolDescriptor)[];
  readonly requestIds: Set<string>;
  requestCount: number;
  /** "Always" answers: `principalPath|tool` and `principalPath|tool|action hash`. */
  readonly always: Set<string>;
  /** Things under way that will move the tree without outside input. */
  busy: number;
  pauseCheckScheduled: boolean;
  /** Resolves once every appended event is durable; undefined when all are. */
  pendingWrites: Promise<void> | undefined;
  /** The store takes its time: what is appended is durable later. */
  writesLater: boolean;
  /** Positions up to this one are given out once, whatever happens. */
  reservedSeq: number;
  cancelForce: (() => void) | undefined;
  onPaused: (() => void) | undefined;
  onRunEnded: ((end: RunEnd) => void) | undefined;
  /** The consumer is let go while the run goes on. */
  onDetach: (() => void) | undefined;
  onClosed: (() => void) | undefined;
  /** It was found in the store. */
  isResumed: boolean;
  /** The latest `initialize` of its log, until the session has gone on. */
  began: AgentEvent<'initialize'> | undefined;
  /** How its session ended. */
  endReason: string;
  /** Some session in it has a limit on what it spends. */
  budget: TreeBudget | undefined;
  /** Nothing: no hook has had to do with it. */
  hooks: TreeHooks | undefined;
  /** Some state key is declared. */
  hasState: boolean;
  isClosed: boolean;
  /** Told of what a tool brings whose call had been answered without it. */
  onStaleResult: ((call: Call, result: ToolResultData) => void) | undefined;
  /** Of a tree that was taken up in the middle of a run. */
  recovery: Recovery | undefined;
  storeError: { code: string; message: string } | undefined;
  /** Told once, when the log cannot be written any more. */
  onStoreFailed: ((tree: Tree) => void) | undefined;
  /** What the caller's own trace says of this run. */
  traceContext: TraceContext | undefined;
}

export interface ToolOutcome {
  readonly result: ToolResultData;
  readonly ending?: RunEnding | undefined;
}

export const threadKey = (sessionId: string, threadId: string | undefined): string =>
  threadId === undefined ? sessionId : `${sessionId}/${threadId}`;
