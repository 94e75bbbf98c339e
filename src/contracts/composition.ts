import type { Bag, Open } from './open.js';
import type { JsonSchema } from './schema.js';

export type CompositionPattern = Open<'hierarchical' | 'sequential' | 'parallel' | 'loop' | 'transfer' | 'graph'>;

export interface SuperviseConfig {
  /** Default `one_for_one`. */
  strategy?: Open<'one_for_one' | 'one_for_all' | 'rest_for_one'>;
  children?: Record<string, ChildSupervision>;
}

export interface ChildSupervision {
  /** Default `never`. `on_failure` restarts only while no tool without `readOnly` or `idempotent` has run in the child. */
  restart?: Open<'never' | 'on_failure'>;
  /** Default 1. */
  maxRestarts?: number;
  /** Default: the whole life of the parent. */
  withinMs?: number;
  /** Default 0. */
  backoffMs?: number;
}

/** `append` concatenates arrays, `sum` adds numbers, `last` takes the later branch in spawn order; `custom` is a function of the definition. */
export type ReducerName = Open<'append' | 'sum' | 'last' | 'custom'>;

export interface StateKeyDescriptor {
  initial?: unknown;
  reducer?: ReducerName;
}

export type TransferContext = Open<'full' | 'summary' | 'none' | 'custom'> | { last: number };

/** A way from one node of a graph to another. */
export interface GraphEdgeDescriptor {
  from: string;
  to: string;
  /** `custom` is a function of the definition; `otherwise` holds when no function of the same node does. Absent: always taken. */
  guard?: Open<'custom' | 'otherwise'>;
  /** What the guard asks, for people. */
  label?: string;
}

/** The serializable half of a composition. Functions (`until`, `mapInput`, guards, reducers) live in the definition. */
export interface CompositionConfig {
  pattern: CompositionPattern;
  /** Names of the children, in order. */
  children: string[];
  maxIterations?: number;
  transferTargets?: Record<string, string[]>;
  maxDepth?: number;
  concurrency?: number;
  failure?: Open<'settle' | 'fail_fast'>;
  onFailure?: Open<'stop' | 'continue'>;
  join?: Open<'all' | 'any'> | { quorum: number };
  /** `transfer`, `graph`: who begins. */
  start?: string;
  /** `graph`: ways between the children, in the order in which their guards are asked. */
  edges?: GraphEdgeDescriptor[];
  /** `graph`: the node, or nodes, whose output is the output. */
  end?: string | string[];
  /** `graph`: of the nodes that several ways lead to. */
  joins?: Record<string, Open<'all' | 'any'>>;
  /** `graph`: runs of nodes, all together. */
  maxSteps?: number;
  maxTransfers?: number;
  context?: TransferContext;
  supervise?: SuperviseConfig;
  state?: Record<string, StateKeyDescriptor>;
  /** `hierarchical`: the name of the agent that leads. */
  leader?: string;
  config?: Bag;
}

declare module './events.js' {
  interface AgentEvents {
    /** A host event: `threadId` is the child's. Before the child's `initialize`. */
    agent_started: { agentName: string; threadId: string; parentThreadId?: string };
    /** A host event: `threadId` is the child's. After the child's `stream_end`. */
    agent_completed: {
      agentName: string;
      threadId: string;
      reason: string;
      result?: unknown;
      error?: { code: string; message: string };
      stateDelta?: Bag;
    };
    agent_transfer: { from: string; to: string; reason?: string };
    /** Before each iteration; 1-based. */
    loop_iteration: { iteration: number; maxIterations: number };
  }
}

/** JSON Schema of an agent's input when it declares none. */
export interface DefaultAgentInput {
  prompt: string;
}

export type AgentInputSchema = JsonSchema;
