import type { PermissionMode, ToolAnnotations } from '../contracts/index.js';

export type PolicyTier = 'default' | 'extension' | 'workspace' | 'user' | 'admin';

/** One rule. All keys that are present must match. */
export interface PolicyRule {
  /** Exact registered name, `*`, or a prefix with a trailing `*`; an array is any of them. */
  toolName: string | readonly string[];
  decision: 'allow' | 'deny' | 'ask_user';
  /** 0..999 inside the tier; default 0. */
  priority?: number;
  modes?: readonly PermissionMode[];
  annotations?: Partial<ToolAnnotations>;
  /** An agent name, or a path prefix such as `lead/reviewer`. */
  principal?: string;
  context?: { executor?: string; opaque?: boolean };
  denyMessage?: string;
  allowMessage?: string;
}

/** Rules of one tier and where they come from. */
export interface PolicyRuleSet {
  rules: readonly PolicyRule[];
  /** Default `user`. */
  tier?: PolicyTier;
  /** Shown when a rule decides. */
  file?: string;
}
