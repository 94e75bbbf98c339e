import { count } from './shown-text.js';

/** A hint at what is wrong with a text that a file does not hold, as a sentence for the model. */
export function whyNotFound(
  file: string,
  { old_string, new_string }: { old_string: string; new_string: string },
): string {
  const lines = file.split(/\r?\n/);
  const wanted = old_string.split(/\r?\n/);
  const spaced = findLines(lines, wanted, withoutSpace);
  if (spaced !== undefined) {
    return `The same text with other white space begins at line ${spaced}: give it as read_file shows it.`;
  }
  const cased = findLines(lines, wanted, (line) => withoutSpace(line).toLowerCase());
  if (cased !== undefined) return `The same text in other capitals begins at line ${cased}.`;
  const done = new_string.trim() === '' ? undefined : findLines(lines, new_string.split(/\r?\n/), withoutSpace);
  if (done !== undefined) return `new_string stands there already, at line ${done}.`;
  return firstLineHint(lines, wanted) ?? 'Read the file again: it may have changed.';
}

function firstLineHint(lines: readonly string[], wanted: readonly string[]): string | undefined {
  const first = wanted.find((line) => line.trim() !== '');
  if (first === undefined || wanted.length === 1) return undefined;
  const at: number[] = [];
  lines.forEach((line, index) => {
    if (withoutSpace(line) === withoutSpace(first)) at.push(index + 1);
  });
  if (at.length === 0) return undefined;
  if (at.length > 1) return `Its first line stands there ${count(at.length, 'time')}, but what follows differs.`;
  return `Its first line stands at line ${at[0]}, but what follows there differs.`;
}

const withoutSpace = (line: string): string => line.replace(/\s+/g, '');

/** The line, from 1, where `wanted` begins when lines are compared by `form`: all of each line but of the outer two. */
function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  form: (line: string) => string,
): number | undefined {
  const needle = wanted.map(form);
  const from = needle.findIndex((line) => line !== '');
  if (from === -1) return undefined;
  const sought = needle.slice(from).filter((line) => line !== '');
  const stack = lines.map((line, index) => ({ text: form(line), line: index + 1 })).filter(({ text }) => text !== '');
  for (let start = 0; start + sought.length <= stack.length; start++) {
    if (sought.every((line, index) => fits(stack[start + index]?.text ?? '', line, index, sought.length))) {
      return stack[start]?.line;
    }
  }
  return undefined;
}

function fits(line: string, sought: string, index: number, length: number): boolean {
  if (length === 1) return line.includes(sought);
  if (index === 0) return line.endsWith(sought);
  return index === length - 1 ? line.startsWith(sought) : line === sought;
}
