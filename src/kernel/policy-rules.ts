import type { PermissionMode, PolicyRequest, ToolAnnotations } from '../contracts/index.js';

export type PolicyTier = 'default' | 'extension' | 'workspace' | 'user' | 'admin';

/** Low to high: a rule of a higher tier wins, whatever its priority. */
export const TIERS: readonly PolicyTier[] = ['default', 'extension', 'workspace', 'user', 'admin'];

/** What may be written in plan mode, relative to the root of the workspace. */
export const PLAN_FILE = 'PLAN.md';

/** From the mildest to the strictest. */
export const DECISIONS: readonly PolicyRule['decision'][] = ['allow', 'ask_user', 'deny'];

/** Where a rule that is made while the host runs stands among the tiers: tier + priority / 1000. */
export const STANDINGS = {
  excluded_server: 4.9,
  excluded_tool: 4.4,
  allowed_tool: 4.3,
  trusted_server: 4.2,
  allowed_server: 4.1,
  always: 3.95,
} as const;

export type PolicyStanding = keyof typeof STANDINGS;

/** One rule. All keys that are present must match. */
export interface PolicyRule {
  /** Exact registered name, `*`, or a prefix with a trailing `*`; an array is any of them. */
  toolName: string | readonly string[];
  decision: 'allow' | 'deny' | 'ask_user';
  /** 0..999 inside the tier; default 0. */
  priority?: number;
  /** The first words of a command of the shell, whole words. Not together with `commandRegex`. */
  commandPrefix?: string;
  /** Searched in each command of the shell on its own (RE2 syntax); an allow must match from its beginning. */
  commandRegex?: string;
  /** Searched in the arguments as canonical JSON: keys sorted, no spaces (RE2 syntax). */
  argsPattern?: string;
  /** The MCP server that the tool belongs to, as it was configured. */
  mcpName?: string;
  /** Default: all. In `plan`, what may change things is allowed (or asked about) only by rules that name the mode. */
  modes?: readonly PermissionMode[];
  /** Values by name, or a list of names that must be true: `["read-only"]` is `{ readOnly: true }`. */
  annotations?: Partial<ToolAnnotations> | readonly string[];
  /** An agent name, a path prefix such as `lead/reviewer`, or the extension that brought the agent: `ext:<name>`. */
  principal?: string;
  context?: { executor?: string; opaque?: boolean };
  /** An allow covers commands that write by a redirection. Default false: those are asked about. */
  allowRedirection?: boolean;
  /** Variables that a command may set for itself (`CI=1 npm test`) without being asked about. */
  allowEnv?: readonly string[];
  /** What it allows runs inside a sandbox; where there is none it is denied. */
  sandbox?: boolean;
  /** An allow for this `principal` that the bounds of the leaders above it do not take back. Not for extensions. */
  grant?: boolean;
  /** Chosen by a person at a question, and saved: stands at 3.95 whatever its tier. An allow of the user tier only. */
  always?: boolean;
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
  /** Line of each rule in its file, from 1. */
  lines?: readonly number[];
  /** Set by the host's own flags, in place of tier and priority. */
  standing?: PolicyStanding;
}

/** What a person chose at a question, kept as rules in a file of theirs. */
export interface SavedRules {
  /** The rules that would say "always" to this very action and little else. Undefined: none can. Never rejects. */
  offer(request: PolicyRequest): Promise<readonly PolicyRule[] | undefined>;
  /** Writes those that the file lacks; they count at once. Rejects when they cannot be written: nothing has changed then. */
  save(rules: readonly PolicyRule[]): Promise<void>;
}
