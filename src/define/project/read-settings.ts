import { dirname, join } from 'node:path';
import type { HookPoint } from '../../contracts/index.js';
import type { CommandHookOptions } from '../../hooks/command.js';
import type { Problem } from '../../kernel/errors.js';
import { didYouMean } from '../../kernel/text.js';
import { commandHook } from '../command-hook.js';
import { readDocument } from '../files/document.js';
import { type RawMap, type RawNode, snakeCase, toPlain } from '../files/raw.js';
import type { HookItem, ServerItem } from './items.js';
import { digestOf, filesNamedIn, namesIn, type Place, type ServerReading } from './places.js';
import { problemsOf } from './read-agents.js';

const FILES = /^(hooks|settings)\.(ya?ml|json)$/;
const HOOK_KEYS = ['point', 'command', 'args', 'timeoutMs', 'name', 'env'];

export interface Settings {
  readonly hooks: HookItem[];
  readonly servers: ServerItem[];
  /** Of files that are not understood: nothing of them counts. */
  readonly problems: Problem[];
}

/** The hooks and MCP servers that `hooks.*` and `settings.*` of a place declare. */
export async function readSettings(place: Place, shown: (path: string) => string): Promise<Settings> {
  const settings: Settings = { hooks: [], servers: [], problems: [] };
  for (const file of await namesIn(place.folder)) {
    const kind = FILES.exec(file)?.[1];
    if (kind !== undefined) await readOne(place, join(place.folder, file), kind, shown, settings);
  }
  return settings;
}

async function readOne(
  place: Place,
  path: string,
  kind: string,
  shown: (path: string) => string,
  settings: Settings,
): Promise<void> {
  const file = shown(path);
  const say = (line: number | undefined, message: string) =>
    settings.problems.push({ code: 'SETTINGS_INVALID', path: line === undefined ? file : `${file}:${line}`, message });
  const problems: Problem[] = [];
  const document = await readDocument(path, { problems, notices: [] });
  if ('fault' in document) return void say(undefined, document.fault);
  if (problems.length > 0) return void settings.problems.push(...problems);
  const keys = kind === 'hooks' ? ['hooks'] : ['hooks', 'mcpServers'];
  for (const [key, { line, value }] of document.root?.entries ?? []) {
    const meant = keys.find((one) => key === one || key === snakeCase(one));
    if (meant === undefined) say(line, `unknown key "${key}"${didYouMean(key, keys)}; keys: ${keys.join(', ')}`);
    else if (meant === 'hooks' && value.kind === 'list') {
      for (const [index, item] of value.items.entries()) settings.hooks.push(await readHook(place, file, index, item));
    } else if (meant === 'mcpServers' && value.kind === 'map') {
      settings.servers.push(...(await readServers(place, file, value)));
    } else say(line, `${key} must be ${meant === 'hooks' ? 'a list of hooks' : 'servers by their names'}`);
  }
}

/** The folder that the hooks of a place are about. */
const projectOf = ({ origin, folder }: Place): string => (origin === 'project' ? dirname(folder) : process.cwd());

async function readHook(place: Place, file: string, index: number, node: RawNode): Promise<HookItem> {
  const written: unknown = node.kind === 'map' ? camelKeys(node) : {};
  const given = Object(place.variables?.(written) ?? written) as Record<string, unknown>;
  const where = `${file}:${node.line}`;
  const { point, command, args } = given;
  const line = [command, ...(Array.isArray(args) ? args : [])].map(String);
  const problems = Object.keys(given)
    .filter((key) => !HOOK_KEYS.includes(key))
    .map((key) => `${where}: unknown key "${key}"${didYouMean(key, HOOK_KEYS)}; keys: ${HOOK_KEYS.join(', ')}`);
  const options = { ...given, projectDir: projectOf(place) } as CommandHookOptions<HookPoint>;
  if (problems.length === 0) {
    try {
      commandHook(options);
    } catch (thrown) {
      problems.push(...problemsOf(thrown).map((problem) => `${where}: ${problem.replace(/^commandHook\./, '')}`));
    }
  }
  return {
    kind: 'hook',
    name: typeof given.name === 'string' ? given.name : `${String(point)} ${index + 1}`,
    origin: place.origin,
    path: file,
    hash: digestOf([JSON.stringify(given), ...(await filesNamedIn(line, projectOf(place)))]),
    warnings: [`runs at ${String(point)}: ${line.join(' ')}`],
    problems,
    ...(problems.length === 0 && { options }),
  };
}

const asWritten: ServerReading = (config) => ({ config, warnings: [], problems: [] });

/** The servers that a map in a file declares. */
export async function readServers(place: Place, file: string, servers: RawMap): Promise<ServerItem[]> {
  const items: ServerItem[] = [];
  for (const [name, { value, line }] of servers.entries) {
    const written = toPlain(value);
    const { config, warnings, problems } = (place.server ?? asWritten)(Object(written) as Record<string, unknown>);
    const { command, args, url, trust } = Object(config) as Record<'command' | 'args' | 'url' | 'trust', unknown>;
    const started = [command, ...(Array.isArray(args) ? args : [])].map(String);
    const isOne = (typeof command === 'string') !== (typeof url === 'string');
    items.push({
      kind: 'mcp_server',
      name,
      origin: place.origin,
      path: file,
      hash: digestOf([JSON.stringify(config), ...(await filesNamedIn(started, projectOf(place)))]),
      warnings: [
        typeof url === 'string' ? `connects to ${url}` : `starts a program: ${started.join(' ')}`,
        ...(trust === true ? ['is taken at its word: what it says only reads runs without asking'] : []),
        ...warnings,
      ],
      problems: [
        ...(isOne ? [] : [`${file}:${line}: a server has a command or a url`]),
        ...problems.map((problem) => `${file}:${line}: ${problem}`),
      ],
      ...(isOne && problems.length === 0 && { config }),
    });
  }
  return items;
}

function camelKeys(map: RawMap): Record<string, unknown> {
  return Object.fromEntries(
    [...map.entries].map(([key, { value }]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      toPlain(value),
    ]),
  );
}
