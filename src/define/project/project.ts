import { stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { AnyHookDefinition } from '../../contracts/index.js';
import { type Problem, TroupeError, throwProblems } from '../../kernel/errors.js';
import type { PolicyRuleSet } from '../../kernel/policy-rules.js';
import { commandHook } from '../command-hook.js';
import { type LoadedAgent, loadAgentFile } from '../files/load.js';
import { type AgentItem, keyOf, type ProjectItem } from './items.js';
import { extensionsIn, type Place } from './places.js';
import { readAgents } from './read-agents.js';
import { readPolicies } from './read-policies.js';
import { readSettings } from './read-settings.js';
import { type TrustStore, trustFile, userFolder } from './trust-store.js';

export interface ProjectOptions {
  /** Default: the current one. */
  folder?: string;
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
  /** An agent by its name. Code runs here, and not before. Rejects with `UNKNOWN_AGENT`, `NOT_TRUSTED` or what is wrong with it. */
  agent(name: string): Promise<LoadedAgent>;
}

/**
 * Reads what a folder and its user bring: agents in `.troupe/agents` and `~/.troupe/agents`, hooks and MCP servers in
 * `hooks.yaml` and `settings.yaml` there, `policy.toml` of both, and what extensions of the user bring. Nothing of it
 * runs. What a folder brings counts only when the folder is trusted and the thing is as it was acknowledged. Rejects
 * with every fault of what is trusted, with a clash of names, and with `NOT_TRUSTED` for a policy that has changed in a
 * trusted folder: to leave it out would lift its denials.
 */
export async function openProject(options: ProjectOptions = {}): Promise<Project> {
  const folder = resolve(options.folder ?? '.');
  const { trust = trustFile(), trusted: forNow = false } = options;
  const { items, problems } = await readProject(options);
  const given = forNow ? undefined : await trust.read(folder);
  const counts = (item: ProjectItem) =>
    item.origin !== 'project' || forNow || given?.acknowledged[keyOf(item)] === item.hash;
  const untrusted = items.filter((item) => !counts(item));
  const isTrusted = forNow || given !== undefined;
  const changed = isTrusted ? untrusted.find(({ kind }) => kind === 'policy') : undefined;
  if (changed !== undefined) {
    throw new TroupeError({
      code: 'NOT_TRUSTED',
      message: `${changed.path} is not as it was acknowledged: look at it with "troupe trust ${folder}"`,
    });
  }
  const usable = items.filter(counts);
  const faults = usable.flatMap((item) =>
    item.kind === 'agent' ? [] : item.problems.map((message): Problem => ({ code: 'SETTINGS_INVALID', message })),
  );
  throwProblems([...problems.filter(({ origin }) => origin !== 'project' || isTrusted), ...faults], 'SETTINGS_INVALID');
  return {
    folder,
    trusted: isTrusted,
    items,
    untrusted,
    problems,
    hooks: usable.flatMap((item) => (item.kind === 'hook' && item.options ? [commandHook(item.options)] : [])),
    policy: usable.flatMap((item) => (item.kind === 'policy' && item.rules ? [item.rules] : [])),
    mcpServers: Object.fromEntries(
      usable.flatMap((item) => (item.kind === 'mcp_server' ? [[item.name, item.config] as const] : [])),
    ),
    agent: (name) => agentOf(name, items, counts),
  };
}

/** Agrees to a folder and to all that it brings as it stands. */
export async function trustProject(options: ProjectOptions & { now: () => number }): Promise<readonly ProjectItem[]> {
  const { items } = await readProject(options);
  const own = items.filter(({ origin }) => origin === 'project');
  await (options.trust ?? trustFile()).write(resolve(options.folder ?? '.'), {
    trustedAt: new Date(options.now()).toISOString(),
    acknowledged: Object.fromEntries(own.map((item) => [keyOf(item), item.hash])),
  });
  return own;
}

async function readProject(
  options: ProjectOptions,
): Promise<{ items: ProjectItem[]; problems: (Problem & { origin: Place['origin'] })[] }> {
  const folder = resolve(options.folder ?? '.');
  if (
    !(await stat(folder)
      .then((found) => found.isDirectory())
      .catch(() => false))
  ) {
    throw new TroupeError({ code: 'BAD_USE', message: `${options.folder ?? '.'}: there is no such folder` });
  }
  const user = resolve(options.userFolder ?? userFolder());
  const own = join(folder, '.troupe');
  const places: Place[] = [...(await extensionsIn(user)), { origin: 'user', folder: user }];
  // At home the two are one.
  if (own !== user) places.push({ origin: 'project', folder: own });
  const items: ProjectItem[] = [];
  const problems: (Problem & { origin: Place['origin'] })[] = [];
  for (const place of places) {
    const base = place.origin === 'project' ? folder : user;
    const shown = (path: string) => (place.origin === 'project' ? relative(base, path) : path);
    const settings = await readSettings(place, shown);
    items.push(
      ...(await readAgents(place, { shown, hostTools: options.hostTools })),
      ...settings.hooks,
      ...(await readPolicies(place, shown)),
      ...settings.servers,
    );
    problems.push(...settings.problems.map((problem) => ({ ...problem, origin: place.origin })));
  }
  return { items: items.map((item) => withClash(item, items)), problems };
}

/** Two of one name: neither is taken, whoever they come from. */
function withClash(item: ProjectItem, items: readonly ProjectItem[]): ProjectItem {
  const others = items.filter(({ kind, name }) => kind === item.kind && kind !== 'hook' && name === item.name);
  if (others.length < 2) return item;
  const where = others.map(({ path, origin }) => `${path} (${origin})`).join(' and ');
  return { ...item, problems: [...item.problems, `two are named "${item.name}": ${where}; rename one`] };
}

async function agentOf(
  name: string,
  items: readonly ProjectItem[],
  counts: (item: ProjectItem) => boolean,
): Promise<LoadedAgent> {
  const agents = items.filter((item): item is AgentItem => item.kind === 'agent');
  const one = agents.find((item) => item.name === name);
  if (one === undefined) {
    const names = [...new Set(agents.map((item) => item.name))].join(', ') || 'none';
    throw new TroupeError({ code: 'UNKNOWN_AGENT', message: `no agent "${name}"; found: ${names}` });
  }
  const isDoubtful = agents.some((item) => item.name === name && !counts(item));
  if (isDoubtful) {
    const message = `"${name}" comes from ${one.path}, which is not trusted, or has changed since: look at it with "troupe trust"`;
    throw new TroupeError({ code: 'NOT_TRUSTED', message });
  }
  throwProblems(one.problems.map((message): Problem => ({ code: 'INVALID_DEFINITION', message })));
  return one.loaded ?? loadAgentFile(one.file, { allowCode: true });
}
