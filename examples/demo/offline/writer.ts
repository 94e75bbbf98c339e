import type { ModelRequest } from 'troupe';
import type { ScriptEntry } from 'troupe/testing';
import type { Drafting, Facts, LeftOut, Structure } from '../facts.js';
import { firstWords } from './conversation.js';
import { around, code, counted, n, table } from './markdown.js';

const MAX_KINDS = 8;
const MAX_FOLDERS = 6;
const MAX_MARKERS = 20;

/** Writes from the facts; the first draft rounds, and says nothing of what was not seen, unless it is told to. */
export function writer(request: ModelRequest): ScriptEntry {
  const { task, facts, objections = '' } = JSON.parse(firstWords(request)) as Drafting;
  const count = objections.includes('exact') ? counted : around;
  const lines = [
    `# ${task.replace(/\s+/g, ' ').replace(/\.$/, '')}`,
    ...['', '## In short', '', ...inShort(facts, count)],
    ...['', '## What is in it', '', ...contents(facts)],
    ...['', '## Largest and most tangled', '', ...tangles(facts.structure)],
    ...['', '## What is left to do', '', ...leftToDo(facts.todo)],
    ...(objections.includes('Not looked at') ? ['', '## Not looked at', '', ...notLookedAt(facts)] : []),
  ];
  return { text: lines.map((line) => `${line}\n`) };
}

type Count = (count: number, noun: string) => string;

function inShort({ inventory, structure, todo }: Facts, count: Count): string[] {
  const said: string[] = [];
  if (inventory === undefined) said.push('Nobody took stock of the folder.');
  else if (inventory.files === 0) said.push('The folder holds no files.');
  else {
    const [most] = inventory.kinds;
    const files = `${atLeast(inventory.leftOut)}${count(inventory.files, 'file')}`;
    said.push(`${sentence(files)} with ${count(inventory.lines, 'line')} of text.`);
    if (most !== undefined) said.push(`Most are ${most.kind} (${n(most.files)}).`);
  }
  const [largest] = structure?.largest ?? [];
  if (largest !== undefined) said.push(`The largest source file is ${code(largest.path)} (${n(largest.lines)} lines).`);
  if (todo !== undefined)
    said.push(todo.total === 0 ? 'Nothing is marked as left to do.' : `${marked(todo)} marked as left to do.`);
  return [said.join(' ')];
}

/** What was left out of a listing is not in its counts. */
const atLeast = ({ stopped }: LeftOut) => (stopped.length > 0 ? 'at least ' : '');

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const marked = ({ total, atLeast }: NonNullable<Facts['todo']>) =>
  `${atLeast ? 'At least ' : ''}${counted(total, 'place')} ${total === 1 ? 'is' : 'are'}`;

function contents({ inventory }: Facts): string[] {
  if (inventory === undefined || inventory.files === 0) return ['Nothing to list.'];
  const { kinds, folders } = inventory;
  const more = kinds.slice(MAX_KINDS);
  const sum = (key: 'files' | 'lines') => n(more.reduce((total, kind) => total + kind[key], 0));
  const rows = kinds.slice(0, MAX_KINDS).map(({ kind, files, lines }) => [kind, n(files), n(lines)]);
  if (more.length > 0) rows.push([`${counted(more.length, 'other kind')}`, sum('files'), sum('lines')]);
  const largest = folders.slice(0, MAX_FOLDERS).map(({ path, files, lines }) => {
    return `- ${code(`${path}/`)}: ${counted(files, 'file')}, ${counted(lines, 'line')}`;
  });
  const rest = folders.length - largest.length;
  return [
    ...(inventory.leftOut.stopped.length > 0 ? ['Of what was listed:', ''] : []),
    ...table(['kind', 'files', 'lines'], rows),
    ...(largest.length > 0 ? ['', 'Folders at the top, largest first:', '', ...largest] : []),
    ...(rest > 0 ? [`- ${counted(rest, 'more folder')}`] : []),
  ];
}

function tangles(structure: Structure | undefined): string[] {
  if (structure === undefined) return ['Nobody looked at the structure.'];
  const { sourceFiles, largest, importsCountedIn, mostImports, importersCountedFor, mostImported, notes } = structure;
  if (sourceFiles === 0) return ['There are no source files.'];
  return [
    `The largest of ${notes.length > 0 ? 'at least ' : ''}${counted(sourceFiles, 'source file')}:`,
    '',
    ...largest.map(({ path, lines }, at) => `${at + 1}. ${code(path)}: ${counted(lines, 'line')}`),
    ...(mostImports.length > 0 ? ['', `Most imports, of the ${counted(importsCountedIn, 'largest file')}:`, ''] : []),
    ...mostImports.map(({ path, imports }, at) => `${at + 1}. ${code(path)}: ${counted(imports, 'import')}`),
    ...(mostImported.length > 0
      ? ['', `Imported most, of the ${counted(importersCountedFor, 'file')} that these import most often:`, '']
      : []),
    ...mostImported.map(({ path, importedBy, atLeast }, at) => {
      return `${at + 1}. ${code(path)}: by ${atLeast ? 'at least ' : ''}${counted(importedBy, 'file')}`;
    }),
  ];
}

function leftToDo(todo: Facts['todo']): string[] {
  if (todo === undefined) return ['Nobody looked for it.'];
  if (todo.total === 0) return ['No TODO, FIXME, HACK or XXX, no unchecked box, no skipped test.'];
  const shown = todo.markers.slice(0, MAX_MARKERS);
  const rest = todo.total - shown.length;
  return [
    `${marked(todo)} marked:`,
    '',
    ...shown.map(({ path, line, kind, text }) => `- ${code(`${path}:${line}`)} ${kind}${text && ` ${code(text)}`}`),
    ...(rest > 0 ? [`- ${n(rest)} more`] : []),
  ];
}

function notLookedAt({ inventory, structure, todo }: Facts): string[] {
  const said = [...(inventory === undefined ? [] : unseen(inventory.leftOut, inventory.uncounted))];
  const { sourceFiles = 0, importsCountedIn = 0, notes = [] } = structure ?? {};
  const unread = sourceFiles - importsCountedIn;
  if (unread > 0) said.push(`The imports of ${counted(unread, 'smaller source file')}.`);
  said.push(...notes);
  if (todo?.atLeast === true) said.push('Markers beyond the first 200 of a kind, and whatever else may be marked.');
  for (const [name, found] of Object.entries({ inventory, structure, todo }))
    if (found === undefined) said.push(`What the specialist for ${name} was to find: it failed.`);
  return said.length === 0 ? ['Everything was looked at.'] : said.map((line) => `- ${line}`);
}

function unseen({ ignored, links, unreadable, tooDeep, stopped }: LeftOut, uncounted: number): string[] {
  return [
    ...(ignored > 0 ? [`What .gitignore names (${counted(ignored, 'entry').replace('entrys', 'entries')}).`] : []),
    ...(links > 0 ? [`Where symbolic links lead (${n(links)}).`] : []),
    ...(unreadable > 0 ? [`What could not be read (${counted(unreadable, 'place')}).`] : []),
    ...(tooDeep > 0 ? [`Folders nested very deep (${n(tooDeep)}).`] : []),
    ...(uncounted > 0 ? [`The lines of ${counted(uncounted, 'file')} that are binary, very large or unreadable.`] : []),
    ...stopped.map((reason) => `The rest of a long listing: ${code(reason)}.`),
  ];
}
