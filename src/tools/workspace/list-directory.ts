import { lstat } from 'node:fs/promises';
import { locate } from './place.js';
import { answer, type ReadOnlyTool } from './read-only-tool.js';
import { count, shownPath } from './shown-text.js';
import { type Entry, listFolder, nothingLeftOut, refuseGitFolder, rulesAt, sayLeftOut } from './walk.js';

const MAX_ENTRIES = 1_000;

interface ListDirectoryArgs {
  path?: string;
}

export const listDirectory: ReadOnlyTool<ListDirectoryArgs> = {
  name: 'list_directory',
  displayName: 'List directory',
  description:
    `Lists one directory of the workspace: names, kinds and sizes in bytes, sorted by name, at most ${MAX_ENTRIES}. ` +
    'What .gitignore names is left out and counted; .git is never shown. A directory ends with "/", a symbolic link with "@".',
  category: 'read',
  properties: {
    path: { type: 'string', description: 'The directory, relative to the root of the workspace. Default: the root.' },
  },
  required: [],
  describe: ({ path = '.' }) => ({ title: `List ${path}`, path }),
  async run(workspace, { path = '.' }, signal) {
    const place = await locate(workspace, path);
    refuseGitFolder(place);
    const leftOut = nothingLeftOut();
    const { rules, ignored } = await rulesAt(workspace, place, leftOut);
    const found = await listFolder(workspace, place, ignored ? { ignores: () => true } : rules, leftOut);
    const shown = found.slice(0, MAX_ENTRIES);
    const entries: ListedEntry[] = [];
    for (const entry of shown) {
      signal.throwIfAborted();
      entries.push(await measured(entry));
    }
    const notes = sayLeftOut(leftOut);
    if (found.length > shown.length)
      notes.push(`Not shown: ${count(found.length - shown.length, 'more entry', 'more entries')}.`);
    if (found.length === 0) notes.unshift('Nothing to show.');
    const truncated = found.length > shown.length || leftOut.stopped !== undefined;
    return answer(entries.map(lineOf).join('\n'), notes, { path: place.path, entries, truncated, leftOut });
  },
};

interface ListedEntry {
  name: string;
  kind: Entry['kind'];
  /** Bytes; files only, absent when it could not be had. */
  size?: number;
}

async function measured({ name, kind, absolute }: Entry): Promise<ListedEntry> {
  if (kind !== 'file') return { name, kind };
  const stats = await lstat(absolute).catch(() => undefined);
  return stats?.isFile() ? { name, kind, size: stats.size } : { name, kind };
}

function lineOf({ name, kind, size }: ListedEntry): string {
  const mark = { file: '', directory: '/', link: '@', other: ' (special)' }[kind];
  return size === undefined ? `${shownPath(name)}${mark}` : `${shownPath(name)}  ${count(size, 'byte')}`;
}
