import { measureFile } from './file-stats.js';
import { compileGlob } from './glob-pattern.js';
import { locate } from './place.js';
import { answer, type ReadOnlyTool } from './read-only-tool.js';
import { count, shownPath } from './shown-text.js';
import { nothingLeftOut, refuseGitFolder, sayLeftOut, walkFiles } from './walk.js';

const MAX_FILES = 1_000;

interface GlobArgs {
  pattern: string;
  path?: string;
  stats?: boolean;
}

interface FoundFile {
  /** Relative to the root of the workspace. */
  path: string;
  /** Only with `stats`. */
  bytes?: number;
  /** Only with `stats`; absent for a binary, very large or unreadable file. */
  lines?: number;
}

export const glob: ReadOnlyTool<GlobArgs> = {
  name: 'glob',
  displayName: 'Find files',
  description:
    `Finds files of the workspace by a pattern over their paths, at most ${MAX_FILES}, sorted by path. ` +
    '"*" is any characters but "/", "?" one, "[a-z]" a class, "{a,b}" alternatives, "**" any number of directories: ' +
    '"**/*.ts" finds at any depth. What .gitignore names is left out and counted; .git is never searched.',
  category: 'search',
  properties: {
    pattern: { type: 'string', minLength: 1, description: 'The pattern, relative to `path`.' },
    path: { type: 'string', description: 'The directory to look in. Default: the root of the workspace.' },
    stats: { type: 'boolean', description: 'Also count the lines and bytes of each file. Default false.' },
  },
  required: ['pattern'],
  describe: ({ pattern, path }) => ({ title: `Find ${pattern}`, ...(path === undefined ? {} : { path }) }),
  async run(workspace, { pattern, path = '.', stats = false }, signal) {
    const compiled = compileGlob(pattern);
    const start = await locate(workspace, path);
    refuseGitFolder(start);
    const below = (whole: string) => (start.path === '.' ? whole : whole.slice(start.path.length + 1));
    const leftOut = nothingLeftOut();
    const files: FoundFile[] = [];
    const enters = (folder: string) => compiled.mayMatchBelow(below(folder));
    for await (const entry of walkFiles(workspace, start, { signal, leftOut, enters })) {
      if (!compiled.matches(below(entry.path))) continue;
      if (files.length === MAX_FILES) {
        leftOut.stopped ??= `more than ${count(MAX_FILES, 'file')} match`;
        break;
      }
      files.push({ path: entry.path, ...(stats ? await measureFile(workspace, entry, signal) : {}) });
    }
    const notes = sayLeftOut(leftOut);
    if (files.length === 0) notes.unshift('No file matches.');
    if (stats) notes.unshift(...totals(files));
    const text = files.map(lineOf).join('\n');
    return answer(text, notes, { files, truncated: leftOut.stopped !== undefined, leftOut });
  },
};

function lineOf({ path, lines, bytes }: FoundFile): string {
  const shown = shownPath(path);
  const measures = [
    lines === undefined ? [] : [count(lines, 'line')],
    bytes === undefined ? [] : [count(bytes, 'byte')],
  ].flat();
  return measures.length > 0 ? `${shown}  ${measures.join(', ')}` : shown;
}

function totals(files: readonly FoundFile[]): string[] {
  if (files.length === 0) return [];
  const sum = (key: 'lines' | 'bytes') => files.reduce((total, file) => total + (file[key] ?? 0), 0);
  const uncounted = files.filter((file) => file.lines === undefined).length;
  const said = `Together ${count(files.length, 'file')}, ${count(sum('lines'), 'line')}, ${count(sum('bytes'), 'byte')}.`;
  if (uncounted === 0) return [said];
  return [said, `Lines not counted of ${count(uncounted, 'file')} (binary, too large or unreadable).`];
}
