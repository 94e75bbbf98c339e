/**
 * Words between a composition and its crew. A composition decides which child runs when; the crew (the host's pool of
 * the composition's children) prepares inputs, starts and supervises sessions and keeps their results.
 */

import type { GraphPlan } from './graph-plan.js';

/** A composition's options, as numbers and words; all of it JSON and shared by every run. */
export interface CrewPlan {
  /** Children. */
  readonly count: number;
  readonly concurrency: number;
  readonly failFast: boolean;
  readonly goesOnAfterFailure: boolean;
  /** Successes that end a parallel; `count` when all are waited for. */
  readonly quorum: number;
  readonly maxIterations: number;
  readonly asksUntil: boolean;
  readonly maxTransfers: number;
  /** It stands in a loop, or is one: a child that escalates ends what it is in, up to that loop. */
  readonly inLoop: boolean;
  /** Of a graph. */
  readonly graph: GraphPlan | null;
}

export interface CrewInput {
  readonly address: string;
  readonly plan: CrewPlan;
}

/** Why a composition ended; the crew makes the result and the `stream_end` of it. */
export type Conclusion =
  | 'completed'
  | 'failed'
  | 'aborted'
  | 'escalated'
  | 'until'
  | 'max_iterations'
  | 'joined'
  | 'max_steps'
  | 'stuck';

export type CrewOrder =
  /** Starts one child. `index` -1: the member last active. `iteration`: of a loop, 1-based; said when its first child starts. `from`: of a graph, the nodes that lead to it, -1 the graph's own input. */
  | { type: 'crew.start'; index: number; iteration?: number; from?: readonly number[] }
  /** Starts all children, in order, `plan.concurrency` at a time. */
  | { type: 'crew.startAll' }
  /** Starts one child as a tool call; its outcome is the call's result. */
  | { type: 'crew.delegate'; index: number; requestId: string; input: unknown }
  /** Aborts the child of one tool call. */
  | { type: 'crew.cancel'; requestId: string }
  /** Asks `until`; answered by `crew.decided`. */
  | { type: 'crew.decide'; iteration: number }
  /** Asks the guards of one node's edges; answered by `crew.decidedEdges`. */
  | { type: 'crew.decideEdges'; index: number }
  /** Aborts these children; each settles. */
  | { type: 'crew.leave'; indexes: readonly number[] }
  /** Aborts what lives and starts nothing more; answered by `crew.stopped` once all have settled. */
  | { type: 'crew.stop' }
  /** Makes the result and publishes the end; answered by `crew.concluded`. `end`: of a graph, the node that it ended with. */
  | { type: 'crew.conclude'; conclusion: Conclusion; end?: number };

export type CrewSignal =
  | ChildSettled
  | { type: 'crew.decided'; stop: boolean }
  | EdgesDecided
  | { type: 'crew.stopped' }
  | { type: 'crew.concluded'; reason: string; endsSession: boolean };

/** A child has ended for good: restarts are over. */
export interface ChildSettled {
  readonly type: 'child.settled';
  readonly index: number;
  readonly ok: boolean;
  readonly escalated: boolean;
  /** Member that takes over; -1: none. */
  readonly handoff: number;
}

/** The edges that one node of a graph leads on by; a guard that threw fails the run. */
export interface EdgesDecided {
  readonly type: 'crew.decidedEdges';
  readonly index: number;
  readonly taken: readonly number[];
  readonly failed: boolean;
}

/** From the session above. */
export type CompositionOrder = { type: 'run.stop' };

export type CompositionEvent = CrewSignal | CompositionOrder;
