import type { AnyHookDefinition, ToolDefinition } from '../../contracts/index.js';
import { type Problem, TroupeError, throwProblems } from '../../kernel/errors.js';
import { commandHook } from '../command-hook.js';
import { attributed, ownTool } from '../extension/own-names.js';
import { loadToolCode } from '../files/code.js';
import { type LoadedAgent, loadAgentFile } from '../files/load.js';
import { defineHook } from '../hook.js';
import { gonePolicies } from './gone-policies.js';
import { type AgentItem, type ContextItem, keyOf, type ProjectItem, type ToolItem } from './items.js';
import type { Project } from './project.js';
import type { PlacedProblem } from './read-project.js';
import type { FolderTrust, TrustStore } from './trust-store.js';

/**
 * What of all that was read counts: what is the user's own, and what needs the trust of a folder and is as it was
 * acknowledged. Rejects with every fault of what counts, and with `NOT_TRUSTED` for a policy that has changed in a
 * trusted folder, or is gone.
 */
export async function whatCounts(
  { items, problems }: { items: readonly ProjectItem[]; problems: readonly PlacedProblem[] },
  { folder, trust, forNow }: { folder: string; trust: TrustStore; forNow: boolean },
): Promise<Project> {
  const given = new Map<string, FolderTrust | undefined>();
  const roots = items.flatMap(({ root }) => (root === undefined ? [] : [root]));
  if (!forNow) for (const root of new Set([folder, ...roots])) given.set(root, await trust.read(root));
  const isTrusted = (root: string) => forNow || given.get(root) !== undefined;
  const counts = (item: ProjectItem) =>
    item.root === undefined || forNow || given.get(item.root)?.acknowledged[keyOf(item)] === item.hash;
  const untrusted = items.filter((item) => !counts(item));
  const changed = untrusted.find(({ kind, root = folder }) => kind === 'policy' && isTrusted(root));
  if (changed !== undefined) {
    throw new TroupeError({
      code: 'NOT_TRUSTED',
      message: `${changed.path} is not as it was acknowledged: look at it with "troupe trust ${changed.root}"`,
    });
  }
  for (const [root, kept] of given) {
    const [gone] = gonePolicies(kept, { root, folder, items });
    if (gone === undefined) continue;
    throw new TroupeError({
      code: 'NOT_TRUSTED',
      message: `${gone} was acknowledged and is gone: look at what is left with "troupe trust ${root}"`,
    });
  }
  const usable = items.filter(counts);
  const faults = usable.flatMap((item) =>
    item.kind === 'agent' ? [] : item.problems.map((message): Problem => ({ code: 'SETTINGS_INVALID', message })),
  );
  throwProblems(
    [...problems.filter(({ root }) => root === undefined || isTrusted(root)), ...faults],
    'SETTINGS_INVALID',
  );
  return {
    folder,
    trusted: isTrusted(folder),
    items,
    untrusted,
    problems,
    hooks: usable.flatMap((item) => {
      if (item.kind === 'context') return contextHook(item);
      return item.kind === 'hook' && item.options ? [commandHook(item.options)] : [];
    }),
    policy: usable.flatMap((item) => (item.kind === 'policy' && item.rules ? [item.rules] : [])),
    mcpServers: Object.fromEntries(
      usable.flatMap((item) => (item.kind === 'mcp_server' ? [[item.name, item.config] as const] : [])),
    ),
    skills: Object.fromEntries(
      usable.flatMap((item) => (item.kind === 'skill' ? [[item.name, item.folder] as const] : [])),
    ),
    agent: (name) => agentOf(name, items, counts),
    tools: () => toolsOf(usable.filter((item) => item.kind === 'tool')),
  };
}

/** Said to every agent of a session as it begins. */
function contextHook({ origin, name, text = '' }: ContextItem): AnyHookDefinition[] {
  if (text.trim() === '') return [];
  const told = { action: 'proceed' as const, modifications: { additionalContext: text } };
  return [{ ...defineHook('session_start', async () => told), name: `${origin} ${name}` }];
}

async function toolsOf(items: readonly ToolItem[]): Promise<readonly ToolDefinition[]> {
  const tools: ToolDefinition[] = [];
  for (const { file, path, origin } of items) {
    const loaded = await loadToolCode(file);
    if ('fault' in loaded) {
      throw new TroupeError({ code: 'EXTENSION_INVALID', message: `${origin}: ${path} ${loaded.fault}` });
    }
    for (const tool of loaded.tools) tools.push(ownTool(tool, origin));
  }
  return tools;
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
  if (one.loaded !== undefined) return one.loaded;
  const loaded = await loadAgentFile(one.file, { allowCode: true });
  if (!one.origin.startsWith('ext:')) return loaded;
  return { ...loaded, definition: attributed(loaded.definition, one.origin, (tool) => tool) };
}
