import type { CommandHookOptions } from '../../hooks/command.js';
import type { PolicyRuleSet } from '../../kernel/policy-rules.js';
import type { LoadedAgent } from '../files/load.js';
import type { Origin } from './places.js';

/** One thing that a folder brings, as it was read: nothing of it has run. */
interface Item<Kind extends string> {
  readonly kind: Kind;
  readonly name: string;
  readonly origin: Origin;
  /** The file that it stands in, as it is shown. */
  readonly path: string;
  /** SHA-256 of all that it is: with another content it is another thing, and is asked about again. */
  readonly hash: string;
  /** What a person should know before they agree to it. */
  readonly warnings: readonly string[];
  /** Why it cannot be used. */
  readonly problems: readonly string[];
}

export interface AgentItem extends Item<'agent'> {
  readonly description?: string;
  /** It is code, and was not run. */
  readonly isCode: boolean;
  /** Absolute. */
  readonly file: string;
  /** Absent for code, and for what has problems. */
  readonly loaded?: LoadedAgent;
}

export interface HookItem extends Item<'hook'> {
  readonly options?: CommandHookOptions;
}

export interface PolicyItem extends Item<'policy'> {
  readonly rules?: PolicyRuleSet;
}

export interface ServerItem extends Item<'mcp_server'> {
  readonly config?: Readonly<Record<string, unknown>>;
}

export type ProjectItem = AgentItem | HookItem | PolicyItem | ServerItem;

/** What it is acknowledged by. */
export const keyOf = ({ kind, origin, path, name }: ProjectItem): string => `${kind}:${origin}:${path}:${name}`;
