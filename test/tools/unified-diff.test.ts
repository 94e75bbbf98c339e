import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lineEdits } from '../../src/tools/workspace/line-edits.js';
import { unifiedDiff } from '../../src/tools/workspace/unified-diff.js';
import { fc } from '../support/fast-check.js';
import { applyDiff } from './apply-diff.js';
import '../support/process-limit.js';

const diff = (before: string | undefined, after: string, maxLength = 1_000_000) =>
  unifiedDiff({ path: 'f', before, after, maxLength });

test('what differs is shown with three lines around it, near changes together', () => {
  const before = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`);
  const after = before.with(4, 'five\n').with(11, 'twelve\n').toSpliced(25, 1);
  expect(diff(before.join(''), after.join(''))).toEqual({
    text: [
      '--- a/f',
      '+++ b/f',
      '@@ -2,14 +2,14 @@',
      ...[' 2', ' 3', ' 4', '-5', '+five', ' 6', ' 7', ' 8', ' 9', ' 10', ' 11', '-12', '+twelve', ' 13', ' 14', ' 15'],
      '@@ -23,7 +23,6 @@',
      ...[' 23', ' 24', ' 25', '-26', ' 27', ' 28', ' 29', ''],
    ].join('\n'),
    addedLines: 2,
    removedLines: 3,
  });
});

test.each([
  ['a new file', undefined, 'a\n', '--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n'],
  ['a file that becomes empty', 'a\n', '', '--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n'],
  [
    'a last line without an end',
    'a',
    'a\n',
    '--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n',
  ],
  ['line ends that change', 'a\r\n', 'a\n', '--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\r\n+a\n'],
  ['nothing', 'a\n', 'a\n', ''],
  ['a new empty file', undefined, '', ''],
])('%s', (_, before, after, text) => {
  expect(diff(before, after).text).toBe(text);
});

test('a path cannot forge a line', () => {
  const { text } = unifiedDiff({ path: 'a\n+++ b/other', before: 'x\n', after: 'y\n', maxLength: 1_000 });
  expect(text.split('\n').slice(0, 3)).toEqual([
    '--- "a/a\\n+++ b/other"',
    '+++ "b/a\\n+++ b/other"',
    '@@ -1,1 +1,1 @@',
  ]);
});

test('a diff that is cut says how many lines are missing', () => {
  const { text, addedLines } = diff('', 'line\n'.repeat(1_000), 200);
  expect(addedLines).toBe(1_000);
  expect(text.length).toBeLessThan(260);
  const shown = text.split('\n').filter((line) => line === '+line').length;
  expect(text.endsWith(`+line\n[${1_000 - shown} more lines of the change not shown]\n`)).toBe(true);
});

test('texts that have hardly a line in common, and very long ones, are told apart in reasonable time', () => {
  const many = (word: string, length: number) => Array.from({ length }, (_, index) => `${word} ${index}\n`).join('');
  for (const [before, after] of [
    [many('a', 3_000), many('b', 3_000)],
    [`${many('a', 60_000)}x\n`, `${many('b', 60_000)}x\n`],
    [many('a', 200_000), many('a', 200_000).replace('a 100000\n', 'changed\n')],
  ] as const) {
    const { text } = diff(before, after, 100_000_000);
    expect(applyDiff(before, text)).toBe(after);
  }
});

const line = fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'a\r\n', '--- a\n', '+++ b\n', '@@ -1 +1 @@\n', '\\ No\n');
const text = fc
  .tuple(fc.array(line, { maxLength: 25 }), fc.constantFrom('', 'end', 'a'))
  .map(([lines, end]) => lines.join('') + end);

test('applied to the one text the diff gives the other', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { text: made, addedLines, removedLines } = diff(before, after);
      expect(applyDiff(before, made)).toBe(after);
      const count = (text: string) => text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0);
      expect(count(after) - count(before)).toBe(addedLines - removedLines);
    }),
    { numRuns: 500 },
  );
});

test('no diff of fewer lines gives the same', () => {
  // The longest common subsequence by the book.
  const common = (a: readonly string[], b: readonly string[]): number => {
    let row = new Array<number>(b.length + 1).fill(0);
    for (const one of a) {
      const next = [0];
      b.forEach((other, index) => {
        next.push(one === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
      });
      row = next;
    }
    return row.at(-1) ?? 0;
  };
  const lines = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 20 });
  fc.assert(
    fc.property(lines, lines, (a, b) => {
      const changed = lineEdits(a, b).reduce(
        (sum, edit) => sum + edit.beforeTo - edit.beforeFrom + edit.afterTo - edit.afterFrom,
        0,
      );
      expect(changed).toBe(a.length + b.length - 2 * common(a, b));
    }),
    { numRuns: 500 },
  );
});

test('git takes the diff', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-diff-'));
  try {
    const cases = fc.sample(fc.tuple(text, text), { numRuns: 25, seed: 7 });
    for (const [before, after] of cases.filter(([one, other]) => one !== other && one !== '' && other !== '')) {
      writeFileSync(join(folder, 'f'), before);
      writeFileSync(join(folder, 'd.patch'), diff(before, after).text);
      execFileSync('git', ['-c', 'core.autocrlf=false', 'apply', '--whitespace=nowarn', 'd.patch'], { cwd: folder });
      expect(readFileSync(join(folder, 'f'), 'utf8')).toBe(after);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
