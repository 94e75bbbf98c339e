import { chmod, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asOrdinaryUser, callerOf, dataOf, noteOf, textOf, workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

interface Found {
  matches: { path: string; line: number; text: string }[];
  truncated: boolean;
  filesSearched: number;
}
const found = (result: Parameters<typeof dataOf>[0]) => dataOf<Found>(result).matches;

test('lines that hold the text come with path and number, sorted by path', async () => {
  const { root } = await made({ 'b.ts': 'needle here\n', 'a/x.ts': 'no\nthe needle\nno\nneedle', 'c.ts': 'nothing' });
  const result = await callerOf(root)('search_text', { pattern: 'needle' });
  expect(found(result)).toEqual([
    { path: 'a/x.ts', line: 2, text: 'the needle' },
    { path: 'a/x.ts', line: 4, text: 'needle' },
    { path: 'b.ts', line: 1, text: 'needle here' },
  ]);
  expect(textOf(result)).toBe('a/x.ts:2: the needle\na/x.ts:4: needle\nb.ts:1: needle here');
  expect(dataOf<Found>(result)).toMatchObject({ truncated: false, filesSearched: 3 });
});

test('the text is taken as it is, not as a regular expression', async () => {
  const { root } = await made({ a: '(a+)+$\naaaa\n[x]\n' });
  const call = callerOf(root);
  expect(found(await call('search_text', { pattern: '(a+)+$' })).map(({ line }) => line)).toEqual([1]);
  expect(found(await call('search_text', { pattern: '.*' }))).toEqual([]);
});

test('case counts unless it is told not to', async () => {
  const { root } = await made({ a: 'Needle\nNEEDLE\nÉTÉ\n' });
  const call = callerOf(root);
  expect(found(await call('search_text', { pattern: 'needle' }))).toEqual([]);
  expect(found(await call('search_text', { pattern: 'needle', ignoreCase: true })).length).toBe(2);
  expect(found(await call('search_text', { pattern: 'été', ignoreCase: true })).length).toBe(1);
});

test('a glob and a path narrow the search', async () => {
  const { root } = await made({ 'src/a.ts': 'x', 'src/deep/a.ts': 'x', 'src/a.md': 'x', 'lib/a.ts': 'x' });
  const call = callerOf(root);
  const where = async (args: object) =>
    found(await call('search_text', { pattern: 'x', ...args })).map(({ path }) => path);
  expect(await where({ glob: '*.ts' })).toEqual(['lib/a.ts', 'src/a.ts', 'src/deep/a.ts']);
  expect(await where({ glob: 'src/*.ts' })).toEqual(['src/a.ts']);
  expect(await where({ path: 'src', glob: 'deep/*' })).toEqual(['src/deep/a.ts']);
  expect(await where({ path: 'src/a.md' })).toEqual(['src/a.md']);
  expect(await where({ path: 'src/a.md', glob: '*.ts' })).toEqual([]);
});

test('what .gitignore names, .git, links and binary files are not searched; what was left out is said', async () => {
  const { root } = await made({
    '.gitignore': 'out/\n',
    '.git/x': 'needle',
    'out/x': 'needle',
    'sub/.gitignore': '*.gen.ts\n',
    'sub/a.gen.ts': 'needle',
    'bin.dat': Buffer.from('needle\0'),
    'a.ts': 'hay',
  });
  await symlink('a.ts', join(root, 'link.ts'));
  const result = await callerOf(root)('search_text', { pattern: 'needle' });
  expect(found(result)).toEqual([]);
  expect(noteOf(result)).toBe(
    '[Nothing found in 3 files. Left out: 2 entries ignored by .gitignore; 1 symbolic link not followed. Not searched: 1 binary file.]',
  );
});

test('a file that is named is searched although it is ignored', async () => {
  const { root } = await made({ '.gitignore': '*.log\n', 'a.log': 'needle' });
  expect(found(await callerOf(root)('search_text', { pattern: 'needle', path: 'a.log' })).length).toBe(1);
});

test('too many matches end the search, which is said', async () => {
  const { root } = await made({ a: 'x\n'.repeat(201), b: 'x\n' });
  const result = await callerOf(root)('search_text', { pattern: 'x' });
  expect(found(result).length).toBe(200);
  expect(dataOf<Found>(result).truncated).toBe(true);
  expect(noteOf(result)).toBe('[Stopped early: more than 200 lines match.]');
});

test('exactly as many matches as are shown is not called too many', async () => {
  const { root } = await made({ a: 'x\n'.repeat(200), b: 'y\n' });
  const result = await callerOf(root)('search_text', { pattern: 'x' });
  expect([found(result).length, dataOf<Found>(result).truncated, noteOf(result)]).toEqual([200, false, '']);
});

test('a long line is shown around the match, whole characters only', async () => {
  const { root } = await made({ a: `${'😀'.repeat(1_000)}needle${'😀'.repeat(1_000)}` });
  const [match] = found(await callerOf(root)('search_text', { pattern: 'needle' }));
  expect(match?.text).toMatch(/^…😀+needle😀+…$/u);
  expect(match?.text).not.toMatch(/\p{Cs}/u);
  expect(match?.text.length).toBeLessThanOrEqual(402);
});

test('of an enormous line only the beginning is searched, which is said', async () => {
  const { root } = await made({ a: `${'x'.repeat(3_000_000)}needle\nneedle\n` });
  const result = await callerOf(root)('search_text', { pattern: 'needle' });
  expect(found(result)).toEqual([{ path: 'a', line: 2, text: 'needle' }]);
  expect(noteOf(result)).toBe('[Searched only at the beginning: 1 very long line.]');
});

test('a match across the boundary of two chunks is found, in a file larger than any buffer', async () => {
  const filler = `${'x'.repeat(63)}\n`.repeat(1_023);
  const { root } = await made({ a: `${filler}${'y'.repeat(61)}needle\n${filler}needle` });
  expect(found(await callerOf(root)('search_text', { pattern: 'needle' })).map(({ line }) => line)).toEqual([
    1_024, 2_048,
  ]);
});

test('lines that end with CR LF match to their end', async () => {
  const { root } = await made({ a: 'one needle\r\ntwo\r\n' });
  expect(found(await callerOf(root)('search_text', { pattern: 'needle' }))).toEqual([
    { path: 'a', line: 1, text: 'one needle' },
  ]);
});

test('a pattern with a line end is refused', async () => {
  const { root } = await made({ a: 'x\ny' });
  expect((await callerOf(root)('search_text', { pattern: 'x\ny' })).isError).toBe(true);
});

test('a file that cannot be read is counted and the others are searched', async () => {
  const { root } = await made({ a: 'needle', locked: 'needle', z: 'needle' });
  await chmod(join(root, 'locked'), 0);
  const result = await asOrdinaryUser(() => callerOf(root)('search_text', { pattern: 'needle' }));
  expect(found(result).map(({ path }) => path)).toEqual(['a', 'z']);
  expect(noteOf(result)).toBe('[Left out: 1 file or folder that could not be read.]');
});

test('a signal that fires in the middle cancels the search', async () => {
  const { root } = await made(Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`f${index}`, 'x'])));
  const controller = new AbortController();
  const call = callerOf(root, controller.signal)('search_text', { pattern: 'y' });
  setImmediate(() => controller.abort());
  expect((await call).errorType).toBe('cancelled');
});
