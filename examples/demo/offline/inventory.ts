import type { ModelRequest } from 'troupe';
import type { ScriptEntry } from 'troupe/testing';
import type { Inventory } from '../facts.js';
import { answeredCalls } from './conversation.js';
import { kindOf } from './kinds.js';
import { sweep } from './sweep.js';
import type { ListedFile } from './tool-text.js';

/** Lists everything, then adds up. */
export function inventory(request: ModelRequest): ScriptEntry {
  const done = answeredCalls(request);
  const { next, files, leftOut } = sweep(done, '*');
  if (next.length > 0) {
    const text =
      done.length === 0 ? 'I list every file first.' : 'There is more than one listing shows: folder by folder.';
    return { text, toolCalls: [...next] };
  }
  const facts: Inventory = {
    files: files.length,
    lines: sum(files, 'lines'),
    bytes: sum(files, 'bytes'),
    uncounted: files.filter((file) => file.lines === undefined).length,
    kinds: groups(files, (file) => kindOf(file.path))
      .map(({ name, ...group }) => ({ kind: name, ...group }))
      .sort((a, b) => b.files - a.files || b.lines - a.lines),
    folders: groups(
      files.filter((file) => file.path.includes('/')),
      (file) => file.path.slice(0, file.path.indexOf('/')),
    )
      .map(({ name, ...group }) => ({ path: name, ...group }))
      .sort((a, b) => b.lines - a.lines || b.files - a.files),
    leftOut,
  };
  return { toolCalls: [{ name: 'complete_task', args: facts }] };
}

const sum = (files: readonly ListedFile[], key: 'lines' | 'bytes') =>
  files.reduce((total, file) => total + (file[key] ?? 0), 0);

function groups(files: readonly ListedFile[], nameOf: (file: ListedFile) => string) {
  const byName = new Map<string, { name: string; files: number; lines: number }>();
  for (const file of files) {
    const name = nameOf(file);
    const group = byName.get(name) ?? { name, files: 0, lines: 0 };
    byName.set(name, { name, files: group.files + 1, lines: group.lines + (file.lines ?? 0) });
  }
  return [...byName.values()];
}
