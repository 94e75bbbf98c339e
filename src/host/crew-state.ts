import type { ModelMessage } from '../contracts/index.js';
import type { StateUpdate } from '../kernel/state.js';
import type { RunEnd, Thread } from './thread.js';

/** What became of one child. */
export interface ChildOutcome {
  readonly name: string;
  readonly index: number;
  readonly end: RunEnd;
  readonly ok: boolean;
  readonly updates: readonly StateUpdate[];
  /** `graph`: commits of the state that it had seen when it began. */
  readonly since: number;
  /** Absent for a child that never came to be. */
  readonly thread: Thread | undefined;
}

/** What a graph knows of its run beside the outcomes. */
export interface GraphState {
  /** By node: what the run under way was given. */
  readonly given: unknown[];
  /** By node: how often it has completed. */
  readonly visits: number[];
  commits: number;
  /** State key → who wrote it last, and in which commit. */
  readonly written: Map<string, { at: number; name: string; value: unknown }>;
}

/** The children of one composition's thread, across its runs. */
export interface CrewState {
  /** Latest outcome of each child of the run under way, by index. */
  outcomes: (ChildOutcome | undefined)[];
  last: ChildOutcome | undefined;
  /** Of the run under way: the latest that completed with a result. */
  best: ChildOutcome | undefined;
  /** Of the run under way: the first that was no consequence of another. */
  firstFailure: ChildOutcome | undefined;
  iteration: number;
  transfers: number;
  /** `transfer`: the member last active, and the whole conversation so far. */
  activeMember: number;
  readonly conversation: ModelMessage[];
  /** `transfer`: what the active member has of the conversation; undefined: all of it. */
  view: ModelMessage[] | undefined;
  /** `transfer`: of the conversation, for the member that takes over. */
  summary: string | undefined;
  /** All children of the run under way are being stopped, a part at a time. */
  isStopping: boolean;
  /** `transfer`: the handover under way has been told. */
  isAnnounced: boolean;
  /** `transfer`: what will drive the member that takes over. */
  prepared: { readonly index: number; give(child: Thread): void; close(): void } | undefined;
  /** `graph`: what only nodes and edges need. */
  graph: GraphState | undefined;
  readonly delegations: Map<string, (outcome: ChildOutcome) => void>;
  /** When each child, by index, was restarted (epoch ms). */
  restarts: Map<number, number[]> | undefined;
  /** Children that wait for outside input: they take no place. */
  blocked: Set<Thread> | undefined;
  /** Children that live, or are about to. */
  places: () => number;
  pump: () => void;
  live: () => Thread[];
}

export const newCrewState = (): CrewState => ({
  outcomes: [],
  last: undefined,
  best: undefined,
  firstFailure: undefined,
  iteration: 0,
  transfers: 0,
  activeMember: -1,
  conversation: [],
  view: undefined,
  summary: undefined,
  isStopping: false,
  isAnnounced: false,
  prepared: undefined,
  graph: undefined,
  delegations: new Map(),
  restarts: undefined,
  blocked: undefined,
  places: () => 0,
  pump: () => {},
  live: () => [],
});
