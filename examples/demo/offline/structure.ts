import type { ModelRequest } from 'troupe';
import type { ScriptEntry } from 'troupe/testing';
import type { Structure } from '../facts.js';
import { type Answered, answeredCalls, answerTo } from './conversation.js';
import { importedBy, targetOf } from './import-lines.js';
import { importWordOf, sourceNames } from './kinds.js';
import { sweep, type ToolCall } from './sweep.js';
import { foundLines, type ListedFile, stoppedBy } from './tool-text.js';

/** Imports are counted in the largest files: that is where tangles are. */
const EXAMINED = 60;
const FILES_PER_SEARCH = 12;
const LARGEST = 8;
const TOP = 5;
/** Of what the examined files import, so many are counted in the whole folder. */
const HUBS = 8;
/** Where a search of everything ends early, so many folders are searched one by one. */
const MAX_FOLDERS = 10;

/** Lists source files, searches the largest for imports, then asks who else imports what they import most. */
export function structure(request: ModelRequest): ScriptEntry {
  const done = answeredCalls(request);
  const { next, files, leftOut } = sweep(done, sourceNames);
  if (next.length > 0) return { toolCalls: [...next] };

  const bySize = [...files].sort((a, b) => (b.lines ?? 0) - (a.lines ?? 0) || (a.path < b.path ? -1 : 1));
  const examined = bySize.slice(0, EXAMINED).filter((file) => importWordOf(file.path) !== '');
  const { open, imports } = searchImports(done, examined);
  if (open.length > 0)
    return { text: `Who imports what? I read the ${examined.length} largest files.`, toolCalls: open };

  const all = new Set(files.map((file) => file.path));
  // A folder too large to list is too large to search five times.
  const isComplete = leftOut.stopped.length === 0;
  const hubs = isComplete ? hubsOf(imports, all) : [];
  const asked = hubs.map((hub) => countImporters(done, hub, all));
  const more = new Map(asked.flatMap(({ open }) => open.map((call) => [JSON.stringify(call.args), call])));
  if (more.size > 0) return { text: 'And what is imported most?', toolCalls: [...more.values()] };

  const facts: Structure = {
    sourceFiles: files.length,
    largest: bySize.slice(0, LARGEST).flatMap(({ path, lines = 0 }) => (lines > 0 ? [{ path, lines }] : [])),
    importsCountedIn: examined.length,
    mostImports: [...imports]
      .map(([path, lines]) => ({ path, imports: lines.size }))
      .filter((file) => file.imports > 0)
      .sort((a, b) => b.imports - a.imports || (a.path < b.path ? -1 : 1))
      .slice(0, TOP),
    importersCountedFor: hubs.length,
    mostImported: asked
      .map(({ path, importedBy: count, atLeast }) => ({ path, importedBy: count, atLeast }))
      .sort((a, b) => b.importedBy - a.importedBy || (a.path < b.path ? -1 : 1))
      .slice(0, TOP),
    notes: isComplete ? [] : ['Source files in folders that were not listed, and which files are imported most.'],
  };
  return { toolCalls: [{ name: 'complete_task', args: facts }] };
}

/** Path → lines that import something, with what they import. */
type Imports = Map<string, Map<number, string>>;

/** Searches a few files at a time; where a search ended early, half as many. */
function searchImports(done: readonly Answered[], examined: readonly ListedFile[]) {
  const imports: Imports = new Map(examined.map(({ path }) => [path, new Map()]));
  const open: { name: string; args: object }[] = [];
  const search = (word: string, paths: readonly string[]): void => {
    const args = { pattern: word, glob: anyOf(paths) };
    const answer = answerTo(done, 'search_text', args);
    if (answer === undefined) {
      open.push({ name: 'search_text', args });
      return;
    }
    for (const found of foundLines(answer.text)) {
      const target = importedBy(word, found);
      if (target !== undefined) imports.get(found.path)?.set(found.line, target);
    }
    if (stoppedBy(answer.text) === undefined || paths.length < 2) return;
    const half = Math.ceil(paths.length / 2);
    search(word, paths.slice(0, half));
    search(word, paths.slice(half));
  };
  const words = new Set(examined.map(({ path }) => importWordOf(path)));
  for (const word of words) {
    const paths = examined.map(({ path }) => path).filter((path) => importWordOf(path) === word);
    for (const some of chunks(paths)) search(word, some);
    // The older way to import is found in plain scripts only.
    const plain = word === ' from ' ? paths.filter((path) => /\.c?js$/.test(path)) : [];
    for (const some of chunks(plain)) search('require(', some);
  }
  return { open, imports };
}

/** The files that the examined ones import most, and the name that they are imported by. */
function hubsOf(imports: Imports, all: ReadonlySet<string>): { path: string; name: string }[] {
  const found = new Map<string, { path: string; name: string; count: number }>();
  for (const [from, lines] of imports) {
    for (const specifier of new Set(lines.values())) {
      const path = targetOf(from, specifier, all);
      if (path === undefined) continue;
      const name = specifier.slice(specifier.lastIndexOf('/'));
      const hub = found.get(path) ?? { path, name, count: 0 };
      found.set(path, { ...hub, count: hub.count + 1 });
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1)).slice(0, HUBS);
}

/** How many files import `path`: those among all lines that hold its name which lead to it. */
function countImporters(
  done: readonly Answered[],
  { path, name }: { path: string; name: string },
  all: ReadonlySet<string>,
): { open: ToolCall[]; path: string; importedBy: number; atLeast: boolean } {
  const open: ToolCall[] = [];
  const from = new Set<string>();
  let atLeast = false;
  const search = (args: object, goDeeper: () => boolean): void => {
    const answer = answerTo(done, 'search_text', args);
    if (answer === undefined) {
      open.push({ name: 'search_text', args });
      return;
    }
    for (const found of foundLines(answer.text)) {
      const specifier = importedBy(' from ', found) ?? importedBy('require(', found);
      if (specifier !== undefined && targetOf(found.path, specifier, all) === path) from.add(found.path);
    }
    if (stoppedBy(answer.text) !== undefined && !goDeeper()) atLeast = true;
  };
  search({ pattern: name, glob: sourceNames }, () => {
    const folders = new Set([...all].flatMap((file) => (file.includes('/') ? [file.slice(0, file.indexOf('/'))] : [])));
    if (folders.size > MAX_FOLDERS) return false;
    for (const folder of folders) search({ pattern: name, path: folder, glob: sourceNames }, () => false);
    search({ pattern: name, glob: `./${sourceNames}` }, () => false);
    return true;
  });
  return { open, path, importedBy: from.size, atLeast };
}

/** A glob that matches exactly these paths: what would mean something in a glob is escaped. */
function anyOf(paths: readonly string[]): string {
  const escaped = paths.map((path) => path.replace(/[\\*?[\]{},!]/g, '\\$&'));
  return escaped.length === 1 ? `./${escaped[0]}` : `./{${escaped.join(',')}}`;
}

function chunks(paths: readonly string[]): string[][] {
  const made: string[][] = [];
  for (const path of paths) {
    const last = made.at(-1);
    const fits = last !== undefined && last.length < FILES_PER_SEARCH && [...last, path].join(',').length < 800;
    if (fits) last.push(path);
    else made.push([path]);
  }
  return made;
}
