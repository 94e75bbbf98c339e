import { gonePolicies } from '../define/project/gone-policies.js';
import { keyOf, type ProjectItem } from '../define/project/items.js';
import { type Project, type ProjectOptions, withOwnExtension } from '../define/project/project.js';
import { type TrustStore, trustFile } from '../define/project/trust-store.js';
import type { CommandIo } from './command-io.js';
import { exitCodes } from './exit-codes.js';
import { visibleLine } from './plain-text.js';
import { FormStopped, type Prompter } from './question-form.js';
import { badUse } from './report-error.js';
import { plural } from './tree-figures.js';

export interface TrustCommand {
  /** Default: the current one. */
  folder?: string | undefined;
  yes?: boolean | undefined;
  remove?: boolean | undefined;
  json?: boolean | undefined;
}

export interface TrustParts {
  openProject(options: ProjectOptions): Promise<Project>;
  trustProject(options: ProjectOptions & { now: () => number }): Promise<readonly ProjectItem[]>;
  trust?: TrustStore;
  userFolder?: string;
  prompter(signal: AbortSignal): Promise<Prompter>;
}

/**
 * Shows what a folder would bring to a run, and trusts it where a person, or `--yes`, says so; `--remove` trusts it no
 * more. Without a terminal and without `--yes` nothing is changed. 0; 2 when it cannot be read.
 */
export async function trustCommand(command: TrustCommand, io: CommandIo, parts: TrustParts): Promise<number> {
  const { folder = io.cwd, yes, remove, json } = command;
  if (yes === true && remove === true) throw badUse('--yes and --remove exclude each other: give one of them');
  const store = parts.trust ?? trustFile();
  const options: ProjectOptions = {
    folder,
    trust: store,
    ...(parts.userFolder !== undefined && { userFolder: parts.userFolder }),
  };
  if (remove === true) await store.write(folder, undefined);
  const before = await look(options, parts);
  const isSettled = before.trusted && before.changed.length === 0 && before.gone.length === 0;
  const isWanted =
    remove !== true && !isSettled && (yes === true || (await isAgreed(before, io, parts, json === true)));
  if (isWanted) await parts.trustProject({ ...options, now: () => io.now() });
  const after = isWanted ? await look(options, parts) : before;
  if (json === true) await io.stdout.write(`${JSON.stringify(reportOf(after), undefined, 2)}\n`);
  else if (yes === true || remove === true || isWanted || !canAsk(io)) await io.stdout.write(textOf(after));
  return exitCodes.completed;
}

interface Found {
  readonly folder: string;
  readonly trusted: boolean;
  readonly items: readonly ProjectItem[];
  readonly changed: readonly ProjectItem[];
  /** Paths of policies that were acknowledged and are there no more. */
  readonly gone: readonly string[];
  /** What is wrong with its files. */
  readonly problems: readonly string[];
}

/** What the folder itself brings. A policy that has changed is no reason not to show it. */
async function look(options: ProjectOptions, parts: TrustParts): Promise<Found> {
  const kept = await (options.trust as TrustStore).read(options.folder as string);
  const looking = await withOwnExtension({ ...options, trust: { read: async () => undefined, write: async () => {} } });
  const all = await parts.openProject(looking);
  const items = all.items.filter(({ root }) => root === all.folder);
  const changed = items.filter((item) => kept?.acknowledged[keyOf(item)] !== item.hash);
  const problems = all.problems.map(({ path, message }) => (path === undefined ? message : `${path}: ${message}`));
  const gone = gonePolicies(kept, { root: all.folder, folder: all.folder, items });
  return { folder: all.folder, trusted: kept !== undefined, items, changed, gone, problems };
}

const canAsk = (io: CommandIo): boolean => io.stdin.isTTY === true && io.stderr.isTTY;

async function isAgreed(found: Found, io: CommandIo, parts: TrustParts, isQuiet: boolean): Promise<boolean> {
  if (!canAsk(io) || isQuiet) return false;
  await io.stderr.write(textOf(found));
  if (found.items.length === 0 && found.gone.length === 0) return false;
  const prompter = await parts.prompter(new AbortController().signal);
  try {
    return await prompter.confirm({ message: 'Trust this folder, with all of this?', initial: false });
  } catch (thrown) {
    if (thrown instanceof FormStopped) return false;
    throw thrown;
  }
}

export interface TrustReport {
  folder: string;
  trusted: boolean;
  items: {
    kind: ProjectItem['kind'];
    name: string;
    path: string;
    hash: string;
    /** It is as it was when the folder was trusted. */
    acknowledged: boolean;
    warnings: readonly string[];
    problems: readonly string[];
  }[];
  /** Paths of policies that were trusted and are there no more. */
  gone: readonly string[];
  problems: readonly string[];
}

function reportOf({ folder, trusted, items, changed, gone, problems }: Found): TrustReport {
  return {
    folder,
    trusted,
    items: items.map((item) => {
      const { kind, name, path, hash, warnings } = item;
      const acknowledged = trusted && !changed.includes(item);
      return { kind, name, path, hash, acknowledged, warnings, problems: item.problems };
    }),
    gone,
    problems,
  };
}

const KINDS: Readonly<Record<ProjectItem['kind'], string>> = {
  agent: 'agent',
  hook: 'hook',
  policy: 'policy',
  mcp_server: 'MCP server',
  skill: 'skill',
  tool: 'tools in',
  context: 'context',
  extension: 'extension',
};

function textOf(found: Found): string {
  const { folder, trusted, items, changed, gone } = found;
  const isAsItWas = changed.length === 0 && gone.length === 0;
  const state = !trusted ? 'not trusted' : isAsItWas ? 'trusted' : 'trusted, but not all of it is as it was';
  const lines = [`${folder}: ${state}; it brings ${items.length === 0 ? 'nothing' : plural(items.length, 'thing')}`];
  for (const item of items) {
    const mark = trusted && changed.includes(item) ? ' (new, or changed)' : '';
    lines.push(`  ${KINDS[item.kind]} ${item.name}, in ${item.path}${mark}`);
    for (const warning of item.warnings) lines.push(`    ${warning}`);
    for (const problem of item.problems) lines.push(`    cannot be used: ${problem}`);
  }
  for (const path of gone) lines.push(`  policy ${path} was trusted and is gone`);
  for (const problem of found.problems) lines.push(`  cannot be used: ${problem}`);
  return `${lines.map(visibleLine).join('\n')}\n`;
}
