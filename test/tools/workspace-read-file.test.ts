import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { asOrdinaryUser, callerOf, dataOf, noteOf, textOf, workspaceFolders } from './workspace-folder.js';
import '../support/process-limit.js';

const made = workspaceFolders();

const numbered = (lines: number) => Array.from({ length: lines }, (_, index) => `line ${index + 1}`).join('\n');

test('a whole file comes back as it is, with no note', async () => {
  const { root } = await made({ 'a.txt': 'one\n\n  two\n' });
  const result = await callerOf(root)('read_file', { path: 'a.txt' });
  expect(result.llmContent).toEqual([{ type: 'text', text: 'one\n\n  two' }]);
  expect(result.isError).toBeUndefined();
  expect(result.data).toEqual({
    path: 'a.txt',
    bytes: 11,
    firstLine: 1,
    lastLine: 3,
    totalLines: 3,
    lineEnds: 'lf',
    truncated: false,
  });
});

test('a window of a file says which lines it holds and where to read on', async () => {
  const { root } = await made({ 'a.txt': numbered(10) });
  const result = await callerOf(root)('read_file', { path: 'a.txt', offset: 3, limit: 2 });
  expect(textOf(result)).toBe('line 3\nline 4');
  expect(noteOf(result)).toBe('[Lines 3 to 4; the file has 10 lines. Read on with offset 5.]');
  expect(dataOf<{ truncated: boolean }>(result).truncated).toBe(true);
});

test('windows read one after the other make up the file', async () => {
  const text = numbered(4_321);
  const { root } = await made({ 'a.txt': text });
  const call = callerOf(root);
  const parts: string[] = [];
  for (let offset = 1; ; ) {
    const result = await call('read_file', { path: 'a.txt', offset });
    const data = dataOf<{ lastLine: number; truncated: boolean }>(result);
    parts.push(textOf(result));
    if (!data.truncated) break;
    offset = data.lastLine + 1;
  }
  expect(parts.length).toBe(3);
  expect(parts.join('\n')).toBe(text);
});

test('an offset beyond the end is said, not an error', async () => {
  const { root } = await made({ 'a.txt': 'one\n', empty: '' });
  const call = callerOf(root);
  const result = await call('read_file', { path: 'a.txt', offset: 5 });
  expect([result.isError, textOf(result), noteOf(result)]).toEqual([
    undefined,
    '',
    '[The file has 1 line; there is nothing from line 5 on.]',
  ]);
  expect(noteOf(await call('read_file', { path: 'empty' }))).toBe('[The file is empty.]');
});

test('a long line is cut between characters and the cut is said', async () => {
  const { root } = await made({ 'a.txt': `${'x'.repeat(1_999)}😀tail\nnext\n` });
  const result = await callerOf(root)('read_file', { path: 'a.txt' });
  const [long, next] = textOf(result).split('\n');
  expect(long).toBe(`${'x'.repeat(1_999)}…`);
  expect(long).not.toMatch(/\p{Cs}/u);
  expect(next).toBe('next');
  expect(noteOf(result)).toBe('[1 line was cut at 2000 characters.]');
});

test('the text of one call is bounded in bytes', async () => {
  const { root } = await made({ 'a.txt': `${'é'.repeat(1_000)}\n`.repeat(1_500) });
  const result = await callerOf(root)('read_file', { path: 'a.txt' });
  expect(Buffer.byteLength(textOf(result))).toBeLessThanOrEqual(128 * 1024);
  expect(dataOf<{ lastLine: number }>(result).lastLine).toBe(65);
  expect(noteOf(result)).toContain('the file has 1,500 lines. Read on with offset 66.');
});

test('characters of several bytes survive at every boundary of the chunks read', async () => {
  const line = `${'😀'.repeat(333)}é`;
  const text = Array.from({ length: 100 }, () => line).join('\n');
  const { root } = await made({ 'a.txt': text });
  const result = await callerOf(root)('read_file', { path: 'a.txt', limit: 90 });
  expect(textOf(result).split('\n')).toEqual(Array.from({ length: 90 }, () => line));
});

test('CR LF is a line end like LF and is told in the data', async () => {
  const { root } = await made({ 'crlf.txt': 'a\r\nb\r\n', 'mixed.txt': 'a\r\nb\nc\n', 'last.txt': 'a\r\nb' });
  const call = callerOf(root);
  const ends = async (path: string) => {
    const result = await call('read_file', { path });
    return [textOf(result), dataOf<{ lineEnds: string }>(result).lineEnds];
  };
  expect(await ends('crlf.txt')).toEqual(['a\nb', 'crlf']);
  expect(await ends('mixed.txt')).toEqual(['a\nb\nc', 'mixed']);
  expect(await ends('last.txt')).toEqual(['a\nb', 'crlf']);
});

test('a byte order mark is dropped and bytes that are not UTF-8 are said', async () => {
  const { root } = await made({ bom: '\ufeffhello', latin: Buffer.from([0x63, 0x61, 0x66, 0xe9]) });
  const call = callerOf(root);
  expect(textOf(await call('read_file', { path: 'bom' }))).toBe('hello');
  const latin = await call('read_file', { path: 'latin' });
  expect(textOf(latin)).toBe('caf\ufffd');
  expect(noteOf(latin)).toContain('not valid UTF-8');
});

test('a binary file is an error that says so, with its size', async () => {
  const { root } = await made({ 'a.png': Buffer.from([0x89, 0x50, 0, 0, 1]) });
  const result = await callerOf(root)('read_file', { path: 'a.png' });
  expect([result.isError, textOf(result)]).toEqual([
    true,
    '"a.png" is a binary file (5 bytes); it cannot be read as text.',
  ]);
});

test('a file of one enormous line costs no more than a window of it', async () => {
  const { root } = await made({ 'a.txt': Buffer.alloc(40 * 1024 * 1024, 'x') });
  const result = await callerOf(root)('read_file', { path: 'a.txt' });
  expect(textOf(result).length).toBe(2_001);
  expect(dataOf<{ totalLines: number; bytes: number }>(result)).toMatchObject({ totalLines: 1, bytes: 41_943_040 });
});

test('the lines of a huge file are counted only so far, and that is said', async () => {
  const { root } = await made({ 'a.log': Buffer.alloc(65 * 1024 * 1024, `${'x'.repeat(1_023)}\n`) });
  const result = await callerOf(root)('read_file', { path: 'a.log', limit: 1 });
  expect(noteOf(result)).toContain('the file has more than 65,536 lines.');
  expect(dataOf<{ totalLines?: number }>(result).totalLines).toBeUndefined();
});

test('names in any script are found', async () => {
  const { root } = await made({ 'übung/文件 ☃.txt': 'snow' });
  expect(textOf(await callerOf(root)('read_file', { path: 'übung/文件 ☃.txt' }))).toBe('snow');
});

test('an unreadable file is an error that says why', async () => {
  const { root } = await made({ secret: 'x' });
  await chmod(join(root, 'secret'), 0);
  const result = await asOrdinaryUser(() => callerOf(root)('read_file', { path: 'secret' }));
  expect([result.isError, result.errorType, textOf(result)]).toEqual([
    true,
    'execution_failed',
    '"secret" cannot be read: permission denied.',
  ]);
});

test.skipIf(process.platform === 'win32')('a named pipe does not hold the call', async () => {
  const { root } = await made();
  await promisify(execFile)('mkfifo', [join(root, 'pipe')]);
  const result = await callerOf(root)('read_file', { path: 'pipe' });
  expect([result.isError, textOf(result)]).toEqual([true, '"pipe" is not a regular file.']);
});

test('a call whose signal has fired is cancelled', async () => {
  const { root } = await made({ 'a.txt': 'x' });
  const result = await callerOf(root, AbortSignal.abort())('read_file', { path: 'a.txt' });
  expect([result.isError, result.errorType]).toEqual([true, 'cancelled']);
});

test('a signal that fires while a large file is read ends the call', async () => {
  const { root } = await made({ 'a.log': Buffer.alloc(30 * 1024 * 1024, 'x\n') });
  const controller = new AbortController();
  const call = callerOf(root, controller.signal)('read_file', { path: 'a.log' });
  setImmediate(() => controller.abort());
  expect((await call).errorType).toBe('cancelled');
});
