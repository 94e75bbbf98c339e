import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { type IgnoreRules, noRules } from './ignore-rules.js';
import { readFolderInside } from './open-inside.js';
import type { Place, Workspace } from './place.js';
import { quoted, WorkspaceRefusal } from './refusal.js';
import { compareBytes, count } from './shown-text.js';

export type EntryKind = 'file' | 'directory' | 'link' | 'other';

export interface Entry extends Place {
  readonly name: string;
  readonly kind: EntryKind;
}

/** What a listing or a search did not show, and why. All are counts save `stopped`. */
export interface LeftOut {
  ignored: number;
  links: number;
  unreadable: number;
  tooDeep: number;
  skippedRules: number;
  /** The walk ended early: what it ran into. */
  stopped?: string;
}

export const nothingLeftOut = (): LeftOut => ({ ignored: 0, links: 0, unreadable: 0, tooDeep: 0, skippedRules: 0 });

const MAX_DEPTH = 64;
const MAX_ENTRIES_OF_FOLDER = 50_000;
const MAX_ENTRIES = 200_000;

/** Case does not matter: on a case-insensitive file system `.GIT` is the same folder. */
export const isGitFolder = (name: string): boolean => name.toLowerCase() === '.git';

/** Refuses a start inside `.git`, which no listing or search enters. */
export function refuseGitFolder(place: Place): void {
  if (place.path.split('/').some(isGitFolder)) {
    throw new WorkspaceRefusal(
      'execution_failed',
      `${quoted(place.path)} lies in .git, which is not listed or searched.`,
    );
  }
}

/** The rules that hold in a folder, and whether they, or those above it, ignore the folder itself. */
export async function rulesAt(workspace: Workspace, place: Place, leftOut: LeftOut) {
  let rules = await noRules(workspace, leftOut).into({ absolute: workspace.root, path: '.' });
  let ignored = false;
  if (place.path === '.') return { rules, ignored };
  const names = place.path.split('/');
  for (let depth = 1; depth <= names.length; depth++) {
    const path = names.slice(0, depth).join('/');
    ignored ||= rules.ignores(path, true);
    rules = await rules.into({ absolute: join(workspace.root, ...names.slice(0, depth)), path });
  }
  return { rules, ignored };
}

/** The entries of one folder, sorted by path in byte order; `.git` and what is ignored is left out and counted. */
export async function listFolder(
  workspace: Workspace,
  place: Place,
  rules: { ignores(path: string, isFolder: boolean): boolean },
  leftOut: LeftOut,
): Promise<Entry[]> {
  const { entries, more } = await readFolderInside(workspace, place.absolute, place.path, MAX_ENTRIES_OF_FOLDER);
  if (more)
    leftOut.stopped ??= `${quoted(place.path)} has more than ${count(MAX_ENTRIES_OF_FOLDER, 'entry', 'entries')}`;
  const kept: Entry[] = [];
  for (const dirent of entries) {
    if (isGitFolder(dirent.name)) continue;
    const path = place.path === '.' ? dirent.name : `${place.path}/${dirent.name}`;
    const kind = kindOf(dirent);
    if (rules.ignores(path, kind === 'directory')) leftOut.ignored++;
    else kept.push({ absolute: join(place.absolute, dirent.name), path, name: dirent.name, kind });
  }
  return kept.sort((one, other) => compareBytes(sortKey(one), sortKey(other)));
}

// With the slash, going through folders in this order gives whole paths in byte order.
const sortKey = (entry: Entry) => (entry.kind === 'directory' ? `${entry.name}/` : entry.name);

function kindOf(dirent: Dirent): EntryKind {
  if (dirent.isSymbolicLink()) return 'link';
  if (dirent.isFile()) return 'file';
  return dirent.isDirectory() ? 'directory' : 'other';
}

export interface WalkOptions {
  readonly signal: AbortSignal;
  readonly leftOut: LeftOut;
  /** False: the folder is not entered. Paths are relative to the root. Default: all are. */
  readonly enters?: (folder: string) => boolean;
}

/**
 * Every file below `start`, in byte order of the paths. Symbolic links are counted and not followed, so there are no
 * loops and no ways out. A folder that cannot be read is counted; only an unreadable `start` throws.
 */
export async function* walkFiles(workspace: Workspace, start: Place, options: WalkOptions): AsyncGenerator<Entry> {
  const { leftOut, signal } = options;
  const { rules, ignored } = await rulesAt(workspace, start, leftOut);
  // Inside an ignored folder everything is ignored; who names the folder wants to know what is in it.
  const startRules: IgnoreRules = ignored ? { ignores: () => true, into: async () => startRules } : rules;
  const levels: { entries: Entry[]; next: number; rules: IgnoreRules }[] = [
    { entries: await listFolder(workspace, start, startRules, leftOut), next: 0, rules: startRules },
  ];
  let seen = 0;
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    const entry = level.entries[level.next++];
    if (entry === undefined) {
      levels.pop();
      continue;
    }
    signal.throwIfAborted();
    if (++seen > MAX_ENTRIES) {
      leftOut.stopped ??= `there are more than ${count(MAX_ENTRIES, 'entry', 'entries')}`;
      return;
    }
    if (entry.kind === 'file') yield entry;
    else if (entry.kind === 'link') leftOut.links++;
    else if (entry.kind === 'directory' && (options.enters?.(entry.path) ?? true)) {
      if (levels.length >= MAX_DEPTH) leftOut.tooDeep++;
      else await enter(entry, level.rules);
    }
  }

  async function enter(folder: Entry, outer: IgnoreRules): Promise<void> {
    const { skippedRules } = leftOut;
    try {
      const inner = await outer.into(folder);
      levels.push({ entries: await listFolder(workspace, folder, inner, leftOut), next: 0, rules: inner });
    } catch (thrown) {
      if (!(thrown instanceof WorkspaceRefusal)) throw thrown;
      // Its .gitignore could not be read either, which goes without saying.
      Object.assign(leftOut, { skippedRules, unreadable: leftOut.unreadable + 1 });
    }
  }
}

/** What was left out, as sentences for the model; none when nothing was. */
export function sayLeftOut(leftOut: LeftOut): string[] {
  const parts: [number, string][] = [
    [leftOut.ignored, `${count(leftOut.ignored, 'entry', 'entries')} ignored by .gitignore`],
    [leftOut.links, `${count(leftOut.links, 'symbolic link')} not followed`],
    [leftOut.unreadable, `${count(leftOut.unreadable, 'file or folder', 'files or folders')} that could not be read`],
    [leftOut.tooDeep, `${count(leftOut.tooDeep, 'folder')} nested deeper than ${MAX_DEPTH} levels`],
  ];
  const said = parts.filter(([number]) => number > 0).map(([, text]) => text);
  const sentences: string[] = [];
  if (said.length > 0) sentences.push(`Left out: ${said.join('; ')}.`);
  if (leftOut.skippedRules > 0)
    sentences.push(
      `Not applied: ${count(leftOut.skippedRules, '.gitignore rule or file', '.gitignore rules or files')}.`,
    );
  if (leftOut.stopped !== undefined) sentences.push(`Stopped early: ${leftOut.stopped}.`);
  return sentences;
}
