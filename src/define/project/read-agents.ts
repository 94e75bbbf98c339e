import { basename, join } from 'node:path';
import type { AgentDefinition, AgentDescriptor } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { isCodePath } from '../files/code.js';
import { listAgentFiles } from '../files/find.js';
import { loadAgentFile } from '../files/load.js';
import { readTextFile } from '../files/read-text.js';
import type { AgentItem } from './items.js';
import { digestOf, namesIn, type Place } from './places.js';
import { digestsOf } from './read-skills.js';

/** The agents of a place. Definitions in Markdown, YAML and JSON are read; code is listed, and not run. */
export async function readAgents(
  { origin, folder }: Place,
  { shown, hostTools }: { shown: (path: string) => string; hostTools: readonly string[] | undefined },
): Promise<AgentItem[]> {
  const agents = join(folder, 'agents');
  const items: AgentItem[] = [];
  for (const found of await listAgentFiles(agents)) {
    const { path } = found;
    const place = { kind: 'agent', origin, path: shown(path), file: path, isCode: false } as const;
    try {
      const loaded = await loadAgentFile(path, { allowCode: false, ...(hostTools && { hostTools }) });
      const { definition, notices } = loaded;
      const { name, description } = definition.descriptor;
      const skills = await digestsOf([...new Set(skillsOf(definition))]);
      items.push({
        ...place,
        name,
        description,
        hash: digestOf([...hashesOf(definition.descriptor), ...skills.hashes]),
        warnings: [...new Set([...warningsOf(definition.descriptor), ...backendWarnings(definition), ...notices])],
        problems: skills.problems,
        loaded,
      });
    } catch (thrown) {
      const problems = problemsOf(thrown);
      items.push({ ...place, name: found.name ?? nameOf(path), hash: await hashOf(path), warnings: [], problems });
    }
  }
  for (const file of await namesIn(agents)) {
    const path = join(agents, file);
    if (!isCodePath(path)) continue;
    items.push({
      kind: 'agent',
      origin,
      name: nameOf(path),
      path: shown(path),
      file: path,
      isCode: true,
      hash: await hashOf(path),
      warnings: ['is code, which runs as soon as it is loaded'],
      problems: [],
    });
  }
  return items;
}

export function problemsOf(thrown: unknown): string[] {
  if (!(thrown instanceof TroupeError)) return [thrown instanceof Error ? thrown.message : String(thrown)];
  if (thrown.problems.length === 0) return [thrown.message];
  return thrown.problems.map(({ path, message }) => (path === undefined ? message : `${path}: ${message}`));
}

const nameOf = (path: string): string => basename(path).replace(/\..*$/, '');

async function hashOf(path: string): Promise<string> {
  const file = await readTextFile(path);
  return 'fault' in file ? digestOf([path, file.fault]) : digestOf([file.hash]);
}

/** Of its own file and of every file that it names. */
function hashesOf({ name, metadata, subAgents = [] }: AgentDescriptor): string[] {
  return [name, String(metadata?.hash ?? ''), ...subAgents.flatMap(hashesOf)];
}

/** Of the agent and all below it. */
function skillsOf({ skills = [], leader, children = [] }: AgentDefinition): string[] {
  return [...skills, ...[leader, ...children].flatMap((one) => (one === undefined ? [] : skillsOf(one)))];
}

function warningsOf({ name, metadata, subAgents = [] }: AgentDescriptor): string[] {
  const mode = metadata?.permissionMode;
  const own =
    typeof mode === 'string' && mode !== 'default' && mode !== 'plan' ? [`${name} wants the mode ${mode}`] : [];
  return [...own, ...subAgents.flatMap(warningsOf)];
}

function backendWarnings(definition: { backend?: unknown; descriptor: AgentDescriptor }): string[] {
  const { command, cardUrl } = Object(definition.backend) as { command?: unknown; cardUrl?: unknown };
  const { name } = definition.descriptor;
  return [
    ...(typeof command === 'string' ? [`${name} starts a program: ${command}`] : []),
    ...(typeof cardUrl === 'string' ? [`${name} connects to ${cardUrl}`] : []),
  ];
}
