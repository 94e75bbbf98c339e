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
  /** The folder whose trust it needs, absolute. Absent: it is the user's own, or of an extension that they installed. */
  readonly root?: string;
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

/** A folder with a `SKILL.md`. Agents name it; by itself it is not used. */
export interface SkillItem extends Item<'skill'> {
  readonly description?: string;
  /** Absolute. */
  readonly folder: string;
}

/** Code of an extension that makes tools. It was not run. */
export interface ToolItem extends Item<'tool'> {
  /** Absolute. */
  readonly file: string;
}

/** A text that an extension wants agents to be told when a session begins. */
export interface ContextItem extends Item<'context'> {
  readonly text?: string;
}

/** An extension as its manifest tells of it. */
export interface ExtensionItem extends Item<'extension'> {
  readonly version?: string;
  readonly description?: string;
  /** Absolute. */
  readonly folder: string;
}

export type ProjectItem =
  | AgentItem
  | HookItem
  | PolicyItem
  | ServerItem
  | SkillItem
  | ToolItem
  | ContextItem
  | ExtensionItem;

/** What it is acknowledged by. */
export const keyOf = ({ kind, origin, path, name }: ProjectItem): string => `${kind}:${origin}:${path}:${name}`;
