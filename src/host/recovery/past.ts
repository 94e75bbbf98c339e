import type { AgentEvent, Bag, SessionStreamData } from '../../contracts/index.js';
import type { History } from '../../kernel/history.js';
import type { LoopCarry, LoopWatch } from '../../kernel/loop-watch.js';
import type { StateUpdate } from '../../kernel/state.js';
import type { UsageTally } from '../../kernel/usage.js';
import type { RunRoute } from '../run-models.js';
import type { CompiledAgent, RunEnd, RunStop } from '../thread.js';
import type { Words } from '../words.js';

/** A question and, where there is one, its answer. */
export interface QuestionPast {
  readonly request: AgentEvent<'elicitation_request'>;
  response: AgentEvent<'elicitation_response'> | undefined;
}

/** One tool call as its log has it. */
export interface CallPast {
  readonly request: AgentEvent<'tool_request'>;
  /** How often it was started. */
  attempts: number;
  /** Its tool has no result yet: somebody outside brings it. */
  isPending: boolean;
  /** As it was started last. */
  startedArgs: unknown;
  response: AgentEvent<'tool_response'> | undefined;
  /** Its writes have reached the state. */
  isApplied: boolean;
  /** Asked for its sake, in order; those left out that were used up by its latest start. */
  questions: QuestionPast[];
  /** Calls that its result asked for. */
  readonly tails: CallPast[];
}

/** The latest turn of a thread: what the model said, and the calls that it asked for. */
export interface TurnPast {
  readonly messageId: string;
  /** The model has said something beside its calls. */
  spoke: boolean;
  readonly calls: CallPast[];
  /** How many calls the model asked for; 0 where the log does not say. */
  expected: number;
  /** Something stands in the log that comes only after the turn: nothing of it is missing. */
  isWhole: boolean;
  /** What the executor was given for it. */
  readonly inbox: SessionStreamData[];
}

/** One thread of a run that broke off, as its log has it. `ThreadFold` makes it. */
export interface ThreadPast {
  readonly threadId: string | undefined;
  readonly agent: CompiledAgent;
  readonly parent: ThreadPast | undefined;
  /** Index among the parent's children; -1 for the root. */
  readonly index: number;
  /** The call of a leader that it answers. */
  readonly requestId: string | undefined;
  readonly restartOf: string | undefined;
  readonly history: History;
  /** The record of the state as the thread sees it. */
  values: Readonly<Bag>;
  /** The same when its run began. */
  valuesAtStart: Readonly<Bag>;
  /** Its own writes to it, in order. */
  updates: StateUpdate[];
  isInitialized: boolean;
  /** Its own `initialize`; of the root: see `Past.began`. */
  began: AgentEvent<'initialize'> | undefined;
  /** The message that began its run. */
  input: AgentEvent<'message'> | undefined;
  /** Where its run's messages begin in the history. */
  historyFrom: number;
  inbox: SessionStreamData[];
  turn: TurnPast | undefined;
  /** Its parent has come to it again. */
  isBack: boolean;
  /** The thread has not yet gone on from it. */
  isToBeTakenUp: boolean;
  turns: number;
  turnsBelow: number;
  llmCalls: number;
  readonly tally: UsageTally;
  spentUsd: number;
  spentTokens: number;
  /** What the router said for its run. */
  route: RunRoute | undefined;
  /** Stretches of time in which a model call or a tool of it was in flight (epoch ms). */
  readonly work: [from: number, to: number][];
  outputFaults: number;
  lastText: string;
  lastMessageId: string;
  loops: LoopWatch | undefined;
  /** What its run was to end with, as its latest turn had gone round in circles. */
  looped: RunEnd | undefined;
  /** Of a loop: what it knows of its agents from one iteration to the next. */
  loopCarry: LoopCarry | undefined;
  spawned: number;
  hadSideEffects: boolean;
  /** Its executor has had its first turn since. */
  isTakenOver: boolean;
  /** Questions that no call asked for, and that have no answer the executor was given. */
  questions: QuestionPast[];
  /** What was said to it and nobody has taken yet. */
  readonly steers: Words[];
  readonly heard: ReadonlySet<string>;
  /** It was being stopped. */
  stop: RunStop | undefined;
  /** What its run ends with, once its output has been written to the state. */
  ends: RunEnd | undefined;
  /** Its `stream_end`. */
  end: RunEnd | undefined;
  /** Its `agent_completed` was told, at this time (epoch ms). */
  settledAt: number | undefined;
  /** In the order in which they were started. */
  readonly children: ThreadPast[];
  /** In the order in which they were told to have ended; used up as they settle again. */
  readonly settled: ThreadPast[];
  /** Of a composition: writes to its state that are in the log, to be used up by those that are made again. */
  deltas: number;
  /** The same for what it tells. */
  iterations: number;
  readonly untils: Map<number, boolean>;
  /** Calls whose answers a damaged log has lost, and those of a turn that was given up that have none yet. */
  lost: CallPast[];
  readonly transfers: { readonly summary: string | undefined }[];
  /** The next child that was started first at that index (or for that call), and not taken yet. */
  takeChild(index: number, requestId: string | undefined): ThreadPast | undefined;
  /** The child that was started in the place of one that had ended. */
  takeRestart(child: ThreadPast): ThreadPast | undefined;
  /** What `mapInput` said for the next child of that name (or for that call of a leader); used up by being asked. */
  takeMapped(child: string, requestId: string | undefined): { readonly input?: unknown } | undefined;
  /** The nodes that the guards behind a node of a graph said yes to, the next time that they were asked. */
  takeEdges(node: string): readonly string[] | undefined;
}
