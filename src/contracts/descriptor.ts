import type { CompositionConfig } from './composition.js';
import type { Bag, Open } from './open.js';
import type { JsonSchema } from './schema.js';
import type { ToolDescriptor } from './tools.js';

export type ExecutorType = Open<'local' | 'adk' | 'remote' | 'openrouter' | 'browser' | 'acp' | 'composition'>;

export type Capability = Open<
  | 'composition'
  | 'elicitation'
  | 'pause_resume'
  | 'cancellation'
  | 'multi_turn'
  | 'host_tool_execution'
  | 'stream_end_events'
  | 'streaming'
  | 'mid_stream_update'
  | 'usage'
>;

export interface AgentConstraints {
  /** Model calls with the tool calls that they ask for. Root default 100, sub-agent 15. */
  maxTurns?: number;
  /** Counted while a model call or a host-run tool is in flight. Sub-agent default 5. */
  maxTimeMinutes?: number;
  /** Also counts retries. Root default 500. */
  maxLlmCalls?: number;
  /** Bounds the session, not the run. */
  maxBudgetUsd?: number;
  /** Bounds the session, too: input and output tokens together, those of all below it included. */
  maxTokens?: number;
  /** One more model call with tools off when a limit is reached. Default false. */
  graceTurn?: boolean;
}

export interface AgentMetadata extends Bag {
  filePath?: string;
  hash?: string;
  experimental?: boolean;
  version?: string;
  /** Semver of the interface layer that the agent was written against. */
  interfaceVersion?: string;
}

/**
 * What an agent is: static, serializable, no functions. Read by registry, policy and UI without running the agent.
 * `name`: `^[A-Za-z_][A-Za-z0-9_-]*$`, at most 64 characters, unique in its tree.
 */
export interface AgentDescriptor {
  name: string;
  displayName?: string;
  description: string;
  executor: ExecutorType;
  /** Default: an object with one string, `prompt`. */
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  capabilities?: Capability[];
  ownTools?: ToolDescriptor[];
  requiredTools?: string[];
  subAgents?: AgentDescriptor[];
  constraints?: AgentConstraints;
  composition?: CompositionConfig;
  metadata?: AgentMetadata;
}
