import { resolve } from 'node:path';
import type { AnyHookDefinition, ToolDefinition } from '../../contracts/index.js';
import type { Problem } from '../../kernel/errors.js';
import type { PolicyRuleSet } from '../../kernel/policy-rules.js';
import { manifestIn } from '../extension/manifest.js';
import type { LoadedAgent } from '../files/load.js';
import { keyOf, type ProjectItem } from './items.js';
import { readProject } from './read-project.js';
import { type TrustStore, trustFile } from './trust-store.js';
import { whatCounts } from './what-counts.js';

export interface ProjectOptions {
  /** Default: the current one. */
  folder?: string;
  /** Folders of extensions, beside those that the user has installed. Each counts when it is trusted, as it was then. */
  extensions?: readonly string[];
  /** Where the agents, hooks and extensions of the user are. Default `~/.troupe`. */
  userFolder?: string;
  /** Default: `trust.json` in the folder of the user. */
  trust?: TrustStore;
  /** True: all of the folder is taken as trusted, this time. */
  trusted?: boolean;
  /** Names of the tools that the host has. */
  hostTools?: readonly string[];
}

/** What a folder, and the user, bring to a run. Only what is trusted is there to be used; the rest is listed. */
export interface Project {
  /** Absolute. */
  readonly folder: string;
  readonly trusted: boolean;
  /** All that there is. */
  readonly items: readonly ProjectItem[];
  /** What of it does not count: the folder is not trusted, or it has changed since it was acknowledged. */
  readonly untrusted: readonly ProjectItem[];
  readonly hooks: readonly AnyHookDefinition[];
  readonly policy: readonly PolicyRuleSet[];
  /** What is wrong with files of a folder that is not trusted. */
  readonly problems: readonly Problem[];
  /** For `mcpTools`. */
  readonly mcpServers: Readonly<Record<string, unknown>>;
  /** Folders of skills, by name: for `agent({ skills })`. */
  readonly skills: Readonly<Record<string, string>>;
  /** Tools that extensions bring, named `ext:<extension>.<tool>`. Their code runs here, and not before. */
  tools(): Promise<readonly ToolDefinition[]>;
  /** An agent by its name. Code runs here, and not before. Rejects with `UNKNOWN_AGENT`, `NOT_TRUSTED` or what is wrong with it. */
  agent(name: string): Promise<LoadedAgent>;
}

/**
 * Reads what a folder and its user bring: agents in `.troupe/agents` and `~/.troupe/agents`, hooks and MCP servers in
 * `hooks.yaml` and `settings.yaml` there, `policy.toml` of both, and what extensions of the user bring. Nothing of it
 * runs. What a folder brings counts only when the folder is trusted and the thing is as it was acknowledged. Rejects
 * with every fault of what is trusted, with a clash of names, and with `NOT_TRUSTED` for a policy that has changed in a
 * trusted folder, or is gone: to leave it out would lift its denials.
 */
export async function openProject(options: ProjectOptions = {}): Promise<Project> {
  const { trust = trustFile(), trusted: forNow = false } = options;
  return whatCounts(await readProject(options), { folder: resolve(options.folder ?? '.'), trust, forNow });
}

/** Agrees to a folder, or to an extension, and to all that it brings as it stands. */
export async function trustProject(options: ProjectOptions & { now: () => number }): Promise<readonly ProjectItem[]> {
  const folder = resolve(options.folder ?? '.');
  const { items } = await readProject(await withOwnExtension({ ...options, extensions: [] }));
  const own = items.filter(({ root }) => root === folder);
  await (options.trust ?? trustFile()).write(folder, {
    trustedAt: new Date(options.now()).toISOString(),
    acknowledged: Object.fromEntries(own.map((item) => [keyOf(item), item.hash])),
  });
  return own;
}

/** A folder that is an extension itself is looked at as one. */
export async function withOwnExtension<Options extends ProjectOptions>(options: Options): Promise<Options> {
  const folder = resolve(options.folder ?? '.');
  const { extensions = [] } = options;
  if (extensions.some((one) => resolve(one) === folder) || (await manifestIn(folder)) === undefined) return options;
  return { ...options, extensions: [...extensions, folder] };
}
