import type { ModelRequest } from 'troupe';
import type { ScriptEntry } from 'troupe/testing';
import type { Todo } from '../facts.js';
import { answeredCalls } from './conversation.js';
import { foundLines, stoppedBy } from './tool-text.js';

const MAX_MARKERS = 50;

/** A marker that a comment, a list item or a line begins with; one that a sentence or a string holds is none. */
const marker =
  /(?:^|(?<!["'`])(?:\/\/|#|\/\*+|<!--|--|;|%))\s*(?:[-*+]\s+)?(?:\*+\s*)?(TODO|FIXME|HACK|XXX)\b(?:\([^)]*\))?[:\s]*(.*)$/;
const box = /^\s*[-*+]\s+\[ \]\s+(.*)$/;
const skipped = /^\s*(?:test|it|describe)\.(skip|todo)\((.*)$/;

const first = [{ pattern: 'TODO' }, { pattern: 'FIXME' }];
const more = [
  { pattern: 'HACK' },
  { pattern: 'XXX' },
  { pattern: '[ ] ', glob: '*.{md,mdx,markdown}' },
  { pattern: '.skip(', glob: '*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}' },
  { pattern: '.todo(', glob: '*.{ts,tsx,mts,cts,js,jsx,mjs,cjs}' },
];

/** Searches for the usual words, then for the rest unless there is more than enough; keeps what really is a marker. */
export function todo(request: ModelRequest): ScriptEntry {
  const done = answeredCalls(request);
  if (done.length === 0) return { text: 'I look for open markers first.', toolCalls: first.map(search) };
  const isEnough = done.some((call) => stoppedBy(call.text) !== undefined);
  if (done.length === first.length && !isEnough) {
    return { text: 'Then for unchecked boxes and skipped tests.', toolCalls: more.map(search) };
  }
  const found = new Map<string, Todo['markers'][number]>();
  for (const { path, line, text } of done.flatMap((call) => foundLines(call.text))) {
    const said = readMarker(text);
    if (said !== undefined) found.set(`${path}:${line}`, { path, line, ...said });
  }
  const markers = [...found.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
  const facts: Todo = { total: markers.length, atLeast: isEnough, markers: markers.slice(0, MAX_MARKERS) };
  return { toolCalls: [{ name: 'complete_task', args: facts }] };
}

const search = (args: object) => ({ name: 'search_text', args });

function readMarker(text: string): { kind: string; text: string } | undefined {
  const word = marker.exec(text);
  if (word?.[1] !== undefined) return { kind: word[1], text: plain(word[2]?.replace(/\s*(?:\*\/|-->)\s*$/, '')) };
  const open = box.exec(text);
  if (open !== null) return { kind: 'box', text: plain(open[1]) };
  const test = skipped.exec(text);
  return test === null ? undefined : { kind: `${test[1]} test`, text: plain(test[2]?.replace(/[,{(=>\s]*$/, '')) };
}

const plain = (text = '') => (text.length > 100 ? `${text.slice(0, 99)}…` : text).trim();
