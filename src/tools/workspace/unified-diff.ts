import { type LineEdit, lineEdits } from './line-edits.js';
import { count } from './shown-text.js';

export interface DiffOptions {
  /** Relative to the root of the workspace. */
  readonly path: string;
  /** Absent: there was no such file. */
  readonly before: string | undefined;
  readonly after: string;
  /** Characters after which the rest is counted only. */
  readonly maxLength: number;
}

export interface UnifiedDiff {
  /** As `patch` and `git apply` take it; empty when nothing differs. Where it is cut, its last line says so. */
  readonly text: string;
  readonly addedLines: number;
  readonly removedLines: number;
}

const CONTEXT_LINES = 3;

/** What makes `after` of `before`, in unified format with three lines of context. Lines end with LF; CR is part of a line. */
export function unifiedDiff({ path, before, after, maxLength }: DiffOptions): UnifiedDiff {
  const oldLines = linesOf(before ?? '');
  const newLines = linesOf(after);
  const edits = lineEdits(oldLines, newLines);
  const removedLines = edits.reduce((sum, edit) => sum + edit.beforeTo - edit.beforeFrom, 0);
  const addedLines = edits.reduce((sum, edit) => sum + edit.afterTo - edit.afterFrom, 0);
  if (edits.length === 0) return { text: '', addedLines, removedLines };
  const lines = [
    `--- ${before === undefined ? '/dev/null' : headerPath('a', path)}`,
    `+++ ${headerPath('b', path)}`,
    ...hunksOf(edits, oldLines.length).flatMap((hunk) => hunkLines(hunk, oldLines, newLines)),
  ];
  return { text: cut(lines, maxLength), addedLines, removedLines };
}

/** Each with its line end, which the last one may lack. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** A name that would break the line, or pass for another, is quoted. */
const headerPath = (side: string, path: string): string => {
  const shown = `${side}/${path}`;
  return /["\\\p{Cc}]/u.test(shown) ? JSON.stringify(shown) : shown.includes(' ') ? `${shown}\t` : shown;
};

/** Edits that are so near that their context meets make one hunk. */
function hunksOf(edits: readonly LineEdit[], oldLength: number): LineEdit[][] {
  const hunks: LineEdit[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const edit of edits) {
    if (edit.beforeFrom - CONTEXT_LINES <= end) hunks.at(-1)?.push(edit);
    else hunks.push([edit]);
    end = Math.min(oldLength, edit.beforeTo + CONTEXT_LINES);
  }
  return hunks;
}

function hunkLines(edits: readonly LineEdit[], oldLines: readonly string[], newLines: readonly string[]): string[] {
  const first = edits[0] as LineEdit;
  const last = edits.at(-1) as LineEdit;
  const before = Math.min(CONTEXT_LINES, first.beforeFrom);
  const behind = Math.min(CONTEXT_LINES, oldLines.length - last.beforeTo);
  const oldFrom = first.beforeFrom - before;
  const newFrom = first.afterFrom - before;
  const oldRange = range(oldFrom, last.beforeTo + behind - oldFrom);
  const newRange = range(newFrom, last.afterTo + behind - newFrom);
  const parts: string[][] = [[`@@ -${oldRange} +${newRange} @@`]];
  let next = oldFrom;
  for (const edit of edits) {
    parts.push(marked(' ', oldLines.slice(next, edit.beforeFrom)));
    parts.push(marked('-', oldLines.slice(edit.beforeFrom, edit.beforeTo)));
    parts.push(marked('+', newLines.slice(edit.afterFrom, edit.afterTo)));
    next = edit.beforeTo;
  }
  parts.push(marked(' ', oldLines.slice(next, next + behind)));
  return parts.flat();
}

/** An empty range stands behind the line before it. */
const range = (from: number, length: number): string => `${length === 0 ? from : from + 1},${length}`;

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.flatMap((line) =>
    line.endsWith('\n') ? [`${mark}${line.slice(0, -1)}`] : [`${mark}${line}`, '\\ No newline at end of file'],
  );

function cut(lines: readonly string[], maxLength: number): string {
  let length = 0;
  let shown = 0;
  for (const line of lines) {
    if (length + line.length + 1 > maxLength) break;
    length += line.length + 1;
    shown++;
  }
  const text = lines
    .slice(0, shown)
    .map((line) => `${line}\n`)
    .join('');
  return shown === lines.length
    ? text
    : `${text}[${count(lines.length - shown, 'more line')} of the change not shown]\n`;
}
