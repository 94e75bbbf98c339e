import { lstat } from 'node:fs/promises';
import { basename } from 'node:path';
import { compileGlob } from './glob-pattern.js';
import { BinaryFile, readLines } from './lines.js';
import { openFileInside } from './open-inside.js';
import { locate, type Place, type Workspace } from './place.js';
import { answer, type ReadOnlyTool } from './read-only-tool.js';
import { quoted, WorkspaceRefusal } from './refusal.js';
import { count, cutAround, shownPath } from './shown-text.js';
import { type LeftOut, nothingLeftOut, refuseGitFolder, sayLeftOut, walkFiles } from './walk.js';

const MAX_MATCHES = 200;
const MAX_SHOWN_LINE = 400;
/** Of a longer line only the beginning is searched. */
const MAX_SEARCHED_LINE = 64 * 1024;
const MAX_SEARCHED_BYTES = 512 * 1024 * 1024;

interface SearchTextArgs {
  pattern: string;
  path?: string;
  glob?: string;
  ignoreCase?: boolean;
}

interface Match {
  /** Relative to the root of the workspace. */
  path: string;
  /** Counted from 1. */
  line: number;
  /** The line, at most 400 characters of it around the match. */
  text: string;
}

export const searchText: ReadOnlyTool<SearchTextArgs> = {
  name: 'search_text',
  displayName: 'Search text',
  description:
    'Finds lines that hold a literal text (no regular expression) in the files of the workspace, sorted by path, ' +
    `at most ${MAX_MATCHES}. What .gitignore names is left out and counted; .git and binary files are not searched.`,
  category: 'search',
  properties: {
    pattern: { type: 'string', minLength: 1, description: 'The text to look for, within one line, taken as it is.' },
    path: { type: 'string', description: 'A directory or a file to search. Default: the root of the workspace.' },
    glob: {
      type: 'string',
      description:
        'Only files whose path below `path` matches, such as "src/**/*.ts"; without "/" at any depth: "*.ts".',
    },
    ignoreCase: { type: 'boolean', description: 'Default false.' },
  },
  required: ['pattern'],
  describe: ({ pattern, path }) => ({ title: `Search ${quoted(pattern)}`, ...(path === undefined ? {} : { path }) }),
  async run(workspace, args, signal) {
    if (/[\n\r]/.test(args.pattern)) {
      throw new WorkspaceRefusal(
        'execution_failed',
        'The pattern is matched within one line; it may hold no line end.',
      );
    }
    const search = searchOf(workspace, args, signal);
    const start = await locate(workspace, args.path ?? '.');
    refuseGitFolder(start);
    for await (const file of filesOf(workspace, start, args.glob, { signal, leftOut: search.leftOut })) {
      await search.file(file);
      if (search.leftOut.stopped !== undefined) break;
    }
    return search.result();
  },
};

/** One file, or those below a directory, that the glob lets through. */
async function* filesOf(
  workspace: Workspace,
  start: Place,
  glob: string | undefined,
  options: { signal: AbortSignal; leftOut: LeftOut },
): AsyncGenerator<Place> {
  const pattern = glob === undefined ? undefined : compileGlob(glob.includes('/') ? glob : `**/${glob}`);
  if (!(await lstat(start.absolute)).isDirectory()) {
    if (pattern?.matches(basename(start.absolute)) ?? true) yield start;
    return;
  }
  const below = (path: string) => (start.path === '.' ? path : path.slice(start.path.length + 1));
  const enters = (folder: string) => pattern?.mayMatchBelow(below(folder)) ?? true;
  for await (const entry of walkFiles(workspace, start, { ...options, enters })) {
    if (pattern?.matches(below(entry.path)) ?? true) yield entry;
  }
}

function searchOf(workspace: Workspace, { pattern, ignoreCase = false }: SearchTextArgs, signal: AbortSignal) {
  const leftOut = nothingLeftOut();
  const wanted = ignoreCase ? pattern.toLowerCase() : pattern;
  const matches: Match[] = [];
  const seen = { files: 0, binary: 0, bytes: 0, longLines: 0 };

  async function searchLines(file: Place): Promise<void> {
    const { handle, size } = await openFileInside(workspace, file.absolute, file.path);
    try {
      if (seen.bytes + size > MAX_SEARCHED_BYTES) {
        leftOut.stopped ??= `${count(MAX_SEARCHED_BYTES / 1024 / 1024, 'MB', 'MB')} were searched`;
        return;
      }
      seen.bytes += size;
      let line = 0;
      for await (const batch of readLines(handle, {
        signal,
        maxLineLength: MAX_SEARCHED_LINE,
        maxBytes: MAX_SEARCHED_BYTES,
      })) {
        for (const { text, omitted } of batch) {
          line++;
          if (omitted > 0) seen.longLines++;
          const at = (ignoreCase ? text.toLowerCase() : text).indexOf(wanted);
          if (at === -1) continue;
          if (matches.length === MAX_MATCHES) {
            leftOut.stopped ??= `more than ${count(MAX_MATCHES, 'line')} match`;
            return;
          }
          matches.push({ path: file.path, line, text: cutAround(text, at, pattern.length, MAX_SHOWN_LINE) });
        }
      }
      seen.files++;
    } finally {
      await handle.close();
    }
  }

  return {
    leftOut,
    async file(file: Place): Promise<void> {
      try {
        await searchLines(file);
      } catch (thrown) {
        if (thrown instanceof BinaryFile) seen.binary++;
        else if (thrown instanceof WorkspaceRefusal) leftOut.unreadable++;
        else throw thrown;
      }
    },
    result() {
      const notes = sayLeftOut(leftOut);
      if (seen.binary > 0) notes.push(`Not searched: ${count(seen.binary, 'binary file')}.`);
      if (seen.longLines > 0) {
        notes.push(`Searched only at the beginning: ${count(seen.longLines, 'very long line')}.`);
      }
      if (matches.length === 0) notes.unshift(`Nothing found in ${count(seen.files, 'file')}.`);
      const text = matches.map((match) => `${shownPath(match.path)}:${match.line}: ${match.text}`).join('\n');
      const data = { matches, truncated: leftOut.stopped !== undefined, filesSearched: seen.files, leftOut };
      return answer(text, notes, data);
    },
  };
}
