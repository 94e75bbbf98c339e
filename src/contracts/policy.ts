import type { Bag, Open } from './open.js';
import type { ToolAnnotations } from './tools.js';

/** `autoEdit`, `acceptEdits`, `yolo`, `bypassPermissions`, `dontAsk` are read as their names here. */
export type PermissionMode = Open<'default' | 'auto_edit' | 'autonomous' | 'plan' | 'dont_ask'>;

export interface PolicyRequest {
  /** The registered name of a tool or agent, or `transfer_to_agent`. */
  action: string;
  args?: unknown;
  /** The agent that acts. */
  principal?: string;
  /** Agent names from the root down, joined by `/`. */
  principalPath?: string;
  /** The extension that brought the agent, `ext:<name>`. */
  origin?: string;
  /** The leaders above it that act through it, nearest first: what it may do is bounded by what each of them may. */
  actingFor?: readonly PolicyActor[];
  context?: PolicyContext;
}

export interface PolicyActor {
  principal: string;
  principalPath: string;
  origin?: string;
}

/** Facts that the host vouches for; never taken from what an agent said. */
export interface PolicyContext extends Bag {
  mode?: PermissionMode;
  annotations?: ToolAnnotations;
  executor?: string;
  opaque?: boolean;
  /** The MCP server that the tool belongs to, as it was configured. */
  mcpName?: string;
  /** The server's own name for the tool: the registered one may be cut or marked. */
  mcpTool?: string;
  /** The team's own structure permits it: a declared child, a declared target, the host's tools for ending a task. */
  structural?: boolean;
}

/** An outcome that is not known is a deny. `commands`: what a command line would run, each as it is written. */
export type PolicyDecision =
  | { outcome: 'allow'; message?: string; rule?: string; commands?: readonly string[] }
  | { outcome: 'deny'; reason: string; rule?: string }
  | { outcome: 'ask_user'; hint?: string; rule?: string; commands?: readonly string[] };

export interface PolicyScope {
  mode?: PermissionMode;
  principal?: string;
  principalPath?: string;
  origin?: string;
  actingFor?: readonly PolicyActor[];
  executor?: string;
  /** The tools to judge, a list that does not change. Absent: only the names that rules spell out. */
  tools?: readonly PolicyScopeTool[];
}

/** A tool by its registered name, as the host vouches for it. */
export interface PolicyScopeTool {
  name: string;
  annotations?: ToolAnnotations;
  structural?: boolean;
  mcpName?: string;
  mcpTool?: string;
}

/** The agent has no say in it. An evaluator that throws denies. */
export interface PolicyEvaluator {
  evaluate(request: PolicyRequest): PolicyDecision | Promise<PolicyDecision>;
  /** Names that can never run in this scope and are hidden from the model. */
  getExcluded?(scope?: PolicyScope): readonly string[];
}
