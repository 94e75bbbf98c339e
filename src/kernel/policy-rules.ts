import type { PermissionMode, ToolAnnotations } from '../contracts/index.js';

export type PolicyTier = 'default' | 'extension' | 'workspace' | 'user' | 'admin';

/** Low to high: a rule of a higher tier wins, whatever its priority. */
export const TIERS: readonly PolicyTier[] = ['default', 'extension', 'workspace', 'user', 'admin'];

/** From the mildest to the strictest. */
export const DECISIONS: readonly PolicyRule['decision'][] = ['allow', 'ask_user', 'deny'];

/** One rule. All keys that are present must match. */
export interface PolicyRule {
  /** Exact registered name, `*`, or a prefix with a trailing `*`; an array is any of them. */
  toolName: string | readonly string[];
  decision: 'allow' | 'deny' | 'ask_user';
  /** 0..999 inside the tier; default 0. */
  priority?: number;
  /** Default: all. In `plan`, what may change things is allowed (or asked about) only by rules that name the mode. */
  modes?: readonly PermissionMode[];
  annotations?: Partial<ToolAnnotations>;
  /** An agent name, or a path prefix such as `lead/reviewer`. */
  principal?: string;
  context?: { executor?: string; opaque?: boolean };
  /** An allow for this `principal` that the bounds of the leaders above it do not take back. Not for extensions. */
  grant?: boolean;
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
