import { join, relative } from 'node:path';
import type { AgentDefinition } from '../../contracts/index.js';
import type { Problem } from '../../kernel/errors.js';
import { narrowPermissionMode } from '../../kernel/narrow.js';
import { readTextInside } from '../../tools/skills/skill-files.js';
import { isCodePath } from '../files/code.js';
import type { ContextItem, ExtensionItem, PolicyItem, ProjectItem, ServerItem, ToolItem } from '../project/items.js';
import { digestOf, namesIn, type Origin, type Place, type ServerReading } from '../project/places.js';
import { problemsOf, readAgents } from '../project/read-agents.js';
import { readPolicies } from '../project/read-policies.js';
import { readServers, readSettings } from '../project/read-settings.js';
import { readSkillItems } from '../project/read-skills.js';
import { digestOfFolder } from './folder-digest.js';
import { type Manifest, manifestIn, readManifest } from './manifest.js';
import { attributed, ownName, renamerOf, withOwnServers } from './own-names.js';

export interface ReadExtension {
  readonly items: readonly ProjectItem[];
  /** Of files that are not understood: nothing of them counts. */
  readonly problems: readonly Problem[];
}

/** How the folder of an extension is called. */
interface Where {
  /** The folder whose trust it needs; absent: a user installed it. */
  readonly root: string | undefined;
  /** The name that it was installed under. */
  readonly installedAs?: string;
  readonly hostTools: readonly string[] | undefined;
}

/**
 * What the folder of an extension brings, under names of its own (`ext:<name>`). Nothing of it runs. Each thing is known by
 * a hash of the whole folder: whatever file of it changes, all of it is asked about again.
 */
export async function readExtension(folder: string, where: Where): Promise<ReadExtension> {
  const { root, installedAs, hostTools } = where;
  const shown = (path: string) => (installedAs === undefined ? relative(folder, path) : path);
  const problems: Problem[] = [];
  /** Problems stand where they are, whatever folder is the current one. */
  const inFull = (list: readonly Problem[]) =>
    installedAs === undefined
      ? list.map((one) => ({ ...one, ...(one.path && { path: join(folder, one.path) }) }))
      : list;
  const file = await manifestIn(folder);
  if (file === undefined && installedAs === undefined) {
    const message = 'is no extension: it has no troupe-extension.json';
    return { items: [], problems: [{ code: 'EXTENSION_INVALID', path: folder, message }] };
  }
  const manifest =
    file === undefined ? undefined : await readManifest(folder, { file, shown: shown(join(folder, file)), problems });
  if (file !== undefined && manifest === undefined) return { items: [], problems: inFull(problems) };
  if (manifest !== undefined && installedAs !== undefined && manifest.name !== installedAs) {
    const message = `is named "${manifest.name}" and installed as "${installedAs}"; give both one name`;
    return { items: [], problems: [{ code: 'EXTENSION_INVALID', path: manifest.file, message }] };
  }
  const origin: Origin = `ext:${manifest?.name ?? installedAs ?? ''}`;
  const variables = folderVariables(folder);
  const place: Place = { origin, folder, variables, server: (written) => plainServer(written, variables) };
  const settings = await readSettings(place, shown);
  const servers = [
    ...settings.servers,
    ...(manifest?.servers === undefined ? [] : await readServers(place, manifest.file, manifest.servers)),
  ];
  const names = servers.map(({ name }) => name);
  const rename = renamerOf(origin, names);
  const own = { origin, servers: names, rename };
  const agents = (await readAgents(place, { shown, hostTools })).map((item) => {
    const outside = (item.loaded?.files ?? []).filter((path) => isOutside(folder, path));
    const said = outside.map((path) => `names a file outside of the extension: ${path}`);
    if (item.loaded !== undefined) said.push(...bold(item.loaded.definition));
    const loaded = item.loaded && { ...item.loaded, definition: attributed(item.loaded.definition, origin, rename) };
    return { ...item, problems: [...item.problems, ...said], ...(loaded && { loaded }) };
  });
  const policies = (await readPolicies(place, shown)).map((item): PolicyItem => {
    if (item.rules === undefined) return item;
    const rules = { ...withOwnServers(item.rules, own), file: `${origin} ${item.path}` };
    return { ...item, rules };
  });
  const items: ProjectItem[] = [
    ...(manifest === undefined ? [] : [extensionItem(manifest, place)]),
    ...agents,
    ...settings.hooks.map((item) => ({
      ...item,
      ...(item.options && { options: { ...item.options, name: `${origin} ${item.name}` } }),
    })),
    ...policies,
    ...(manifest === undefined || manifest.excludeTools.length === 0 ? [] : [exclusion(manifest, place, rename)]),
    ...servers.map((item): ServerItem => ({ ...item, name: ownName(origin, item.name) })),
    ...(await readSkillItems(place, shown)).map((item) => ({ ...item, name: ownName(origin, item.name) })),
    ...(await toolItems(place, shown)),
    ...(await contextItems(manifest, place)),
  ];
  problems.push(...settings.problems);
  const digest = await digestOfFolder(folder);
  const fault = 'fault' in digest ? [`the folder ${digest.fault}`] : [];
  const whole = 'hash' in digest ? digest.hash : '';
  return {
    problems: inFull(problems),
    items: items.map((item) => ({
      ...item,
      hash: digestOf([item.hash, whole]),
      problems: [...item.problems, ...fault],
      ...(root !== undefined && { root }),
    })),
  };
}

function extensionItem(
  { file, name, version, description, notices }: Manifest,
  { origin, folder }: Place,
): ExtensionItem {
  return {
    kind: 'extension',
    name,
    origin,
    path: file,
    folder,
    hash: digestOf([name, version ?? '']),
    warnings: notices,
    problems: [],
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
  };
}

/** Tools that nobody calls while it is there: the whole of a tool, or for a shell the commands that begin so. */
function exclusion({ file, excludeTools }: Manifest, { origin }: Place, rename: (tool: string) => string): PolicyItem {
  const item = {
    kind: 'policy' as const,
    name: `${file} excludeTools`,
    origin,
    path: file,
    hash: digestOf(excludeTools),
    warnings: [],
  };
  const rules = excludeTools.map((written) => {
    const [, tool = '', command] = /^([^(]+?)\s*(?:\((.*)\))?$/s.exec(written.trim()) ?? [];
    const denyMessage = `excluded by ${origin}`;
    return {
      toolName: rename(tool),
      decision: 'deny' as const,
      denyMessage,
      ...(command !== undefined && { commandPrefix: command }),
    };
  });
  const bad = excludeTools.filter((_, index) => rules[index]?.toolName === '');
  const problems = bad.map((written) => `${file}: excludeTools: ${JSON.stringify(written)} names no tool`);
  return {
    ...item,
    problems,
    ...(problems.length === 0 && { rules: { rules, tier: 'extension', file: `${origin} ${file}` } }),
  };
}

async function toolItems({ origin, folder }: Place, shown: (path: string) => string): Promise<ToolItem[]> {
  const names = (await namesIn(join(folder, 'tools'))).filter(isCodePath);
  return names.map((name): ToolItem => {
    const file = join(folder, 'tools', name);
    const warnings = ['is code, which runs as soon as it is loaded'];
    return { kind: 'tool', name, origin, path: shown(file), file, hash: digestOf([name]), warnings, problems: [] };
  });
}

async function contextItems(manifest: Manifest | undefined, { origin, folder }: Place): Promise<ContextItem[]> {
  return Promise.all(
    (manifest?.contextFiles ?? []).map(async (name): Promise<ContextItem> => {
      const item = {
        kind: 'context' as const,
        name,
        origin,
        path: name,
        warnings: ['is told to agents as a session begins'],
      };
      try {
        const { text, hash } = await readTextInside(folder, name);
        return { ...item, hash, problems: [], text };
      } catch (thrown) {
        return { ...item, hash: digestOf([name]), problems: problemsOf(thrown) };
      }
    }),
  );
}

/** The mode that asks nobody is not for an extension to choose. */
function bold({ name, descriptor, leader, children = [] }: AgentDefinition): string[] {
  const wants = descriptor.metadata?.permissionMode;
  const own =
    wants !== undefined && narrowPermissionMode(wants) === 'autonomous'
      ? [`${name} wants the mode autonomous, which an extension cannot set`]
      : [];
  return [...own, ...[leader, ...children].flatMap((one) => (one === undefined ? [] : bold(one)))];
}

function isOutside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '..' || way.startsWith('../') || way.startsWith('..\\');
}

const SERVER_KEYS = ['command', 'args', 'env', 'cwd', 'url', 'headers'];
/** What Gemini's servers have that changes nothing of what may be done. */
const IDLE_KEYS = ['description', 'timeout'];

/** A server as an extension may declare it: it cannot say that it is to be believed. */
function plainServer(written: Record<string, unknown>, put: (value: unknown) => unknown): ReturnType<ServerReading> {
  const warnings: string[] = [];
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(written)) {
    const meant = key === 'httpUrl' ? 'url' : key;
    if (key === 'trust') warnings.push('"trust" is left out: an extension cannot have its servers believed');
    else if (SERVER_KEYS.includes(meant)) config[meant] = put(value);
    else if (!IDLE_KEYS.includes(key))
      problems.push(`unknown key ${JSON.stringify(key)}; keys: ${SERVER_KEYS.join(', ')}`);
  }
  return { config, warnings, problems };
}

/** `${extensionPath}` in texts is the folder of the extension, `${/}` what separates paths. */
function folderVariables(folder: string): (value: unknown) => unknown {
  const put = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/\$\{extensionPath\}/g, () => folder).replace(/\$\{\/\}/g, '/');
    if (Array.isArray(value)) return value.map(put);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, put(one)]));
  };
  return put;
}
