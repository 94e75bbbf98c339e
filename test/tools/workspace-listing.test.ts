import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareBytes } from '../../src/tools/workspace/shown-text.js';
import { asOrdinaryUser, callerOf, dataOf, noteOf, textOf, workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

type Found = { files: { path: string; lines?: number; bytes?: number }[]; truncated: boolean };
const paths = (result: Parameters<typeof dataOf>[0]) => dataOf<Found>(result).files.map(({ path }) => path);

describe('list_directory', () => {
  test('names, kinds and sizes stand in byte order', async () => {
    const folder = await made({ 'b.txt': 'four', 'a/x': 'x', 'a-b': '', 'Z.md': 'z', é: 'é' });
    await symlink('b.txt', join(folder.root, 'link'));
    const result = await callerOf(folder.root)('list_directory');
    expect(dataOf<{ entries: unknown[] }>(result).entries).toEqual([
      { name: 'Z.md', kind: 'file', size: 1 },
      { name: 'a-b', kind: 'file', size: 0 },
      { name: 'a', kind: 'directory' },
      { name: 'b.txt', kind: 'file', size: 4 },
      { name: 'link', kind: 'link' },
      { name: 'é', kind: 'file', size: 2 },
    ]);
    expect(textOf(result)).toBe('Z.md  1 byte\na-b  0 bytes\na/\nb.txt  4 bytes\nlink@\né  2 bytes');
  });

  test('what .gitignore names is counted, .git is not there at all', async () => {
    const folder = await made({
      '.gitignore': '*.log\nout/\n',
      'a.log': '',
      'out/x': '',
      'keep.ts': '',
      '.git/HEAD': '',
    });
    const result = await callerOf(folder.root)('list_directory');
    expect(dataOf<{ entries: { name: string }[] }>(result).entries.map(({ name }) => name)).toEqual([
      '.gitignore',
      'keep.ts',
    ]);
    expect(noteOf(result)).toBe('[Left out: 2 entries ignored by .gitignore.]');
  });

  test('.git is refused in every spelling, and so is what is in it', async () => {
    const folder = await made({ '.git/refs/x': '', 'sub/.GIT/config': '' });
    const call = callerOf(folder.root);
    for (const path of ['.git', '.git/refs', 'sub/.GIT']) {
      expect(textOf(await call('list_directory', { path }))).toMatch(/lies in \.git, which is not listed/);
      expect((await call('glob', { pattern: '**', path })).isError).toBe(true);
      expect((await call('search_text', { pattern: 'x', path })).isError).toBe(true);
    }
  });

  test('a very large directory is cut and the rest is counted', async () => {
    const folder = await made();
    const names = Array.from({ length: 1_005 }, (_, index) => `f${String(index).padStart(4, '0')}`);
    await Promise.all(names.map((name) => writeFile(join(folder.root, name), '')));
    const result = await callerOf(folder.root)('list_directory');
    const { entries, truncated } = dataOf<{ entries: { name: string }[]; truncated: boolean }>(result);
    expect([entries.length, entries.at(-1)?.name, truncated]).toEqual([1_000, 'f0999', true]);
    expect(noteOf(result)).toBe('[Not shown: 5 more entries.]');
  });

  test('an empty directory says so', async () => {
    const folder = await made();
    expect(noteOf(await callerOf(folder.root)('list_directory'))).toBe('[Nothing to show.]');
  });

  test.skipIf(process.platform === 'win32')('a name with a line end cannot pass for two entries', async () => {
    const folder = await made({ 'a\nb.txt': '' });
    expect(textOf(await callerOf(folder.root)('list_directory'))).toBe('"a\\nb.txt"  0 bytes');
  });

  test('an unreadable directory is an error', async () => {
    const folder = await made({ 'locked/x': '' });
    await chmod(join(folder.root, 'locked'), 0);
    const result = await asOrdinaryUser(() => callerOf(folder.root)('list_directory', { path: 'locked' }));
    await chmod(join(folder.root, 'locked'), 0o755);
    expect(textOf(result)).toBe('"locked" cannot be read: permission denied.');
  });
});

describe('.gitignore', () => {
  test('a nested file adds rules for its own folder and may take back an outer one', async () => {
    const folder = await made({
      '.gitignore': '*.log\n/top.txt\n',
      'top.txt': '',
      'a/.gitignore': '!keep.log\n/top.txt\nsecret*\n',
      'a/keep.log': '',
      'a/drop.log': '',
      'a/secret.md': '',
      'a/b/keep.log': '',
      'a/b/top.txt': '',
      'c/secret.md': '',
      'c/keep.log': '',
    });
    expect(paths(await callerOf(folder.root)('glob', { pattern: '**/*' }))).toEqual([
      '.gitignore',
      'a/.gitignore',
      'a/b/keep.log',
      'a/b/top.txt',
      'a/keep.log',
      'c/secret.md',
    ]);
  });

  test('the rules above a start folder hold, and an ignored start shows nothing but says so', async () => {
    const folder = await made({
      '.gitignore': 'vendor/\n*.tmp\n',
      'vendor/x/a.js': '',
      'src/a.tmp': '',
      'src/a.ts': '',
    });
    const call = callerOf(folder.root);
    expect(paths(await call('glob', { pattern: '*', path: 'src' }))).toEqual(['src/a.ts']);
    const ignored = await call('glob', { pattern: '**', path: 'vendor/x' });
    expect([paths(ignored), noteOf(ignored)]).toEqual([
      [],
      '[No file matches. Left out: 1 entry ignored by .gitignore.]',
    ]);
  });

  test('an ignored folder cannot be opened again from inside', async () => {
    const folder = await made({ '.gitignore': 'out/\n', 'out/.gitignore': '!a.ts\n', 'out/a.ts': '' });
    expect(paths(await callerOf(folder.root)('glob', { pattern: '**/*.ts' }))).toEqual([]);
  });

  test('case counts as it does for git on this platform, CR LF and a byte order mark do not', async () => {
    const folder = await made({ '.gitignore': '\ufeff*.tmp\r\nb.txt\r\n', 'a.tmp': '', 'b.txt': '', 'B.TXT': '' });
    const found = paths(await callerOf(folder.root)('glob', { pattern: '*' }));
    expect(found).toEqual(process.platform === 'linux' ? ['.gitignore', 'B.TXT'] : ['.gitignore']);
  });

  test('a .gitignore that is a link or costly to match is not applied, which is said', async () => {
    const folder = await made({ 'a.ts': '', 'sub/b.ts': '', 'sub/.gitignore': `${'a/**/'.repeat(10)}b\nb.ts\n` });
    await folder.write('rules', '*.ts\n');
    await symlink(join(folder.outer, 'rules'), join(folder.root, '.gitignore'));
    const result = await callerOf(folder.root)('glob', { pattern: '**/*.ts' });
    expect(paths(result)).toEqual(['a.ts']);
    expect(noteOf(result)).toContain('Not applied: 2 .gitignore rules or files.');
  });
});

describe('glob', () => {
  test('paths come in byte order, whatever the order on disk', async () => {
    const folder = await made({
      'a/b.ts': '',
      'a-b.ts': '',
      'a.ts': '',
      'B.ts': '',
      '\u{1f600}.ts': '',
      '\uff5e.ts': '',
    });
    expect(paths(await callerOf(folder.root)('glob', { pattern: '**/*.ts' }))).toEqual([
      'B.ts',
      'a-b.ts',
      'a.ts',
      'a/b.ts',
      '\uff5e.ts',
      '\u{1f600}.ts',
    ]);
  });

  test('byte order is the order of the UTF-8 forms', () => {
    const texts = [
      '',
      'a',
      'ab',
      'Z',
      'é',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{10ffff}',
      'a\u{1f600}',
      'a\uff5e',
    ];
    for (const one of texts) {
      for (const other of texts) {
        expect(Math.sign(compareBytes(one, other))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(other)));
      }
    }
  });

  test('with stats each file has its lines and bytes, and the sum is said', async () => {
    const folder = await made({
      'a.ts': 'one\ntwo\n',
      'b.ts': 'no end',
      'c.ts': '',
      'd.ts': Buffer.from([1, 0, 2]),
      'big.ts': Buffer.alloc(8 * 1024 * 1024 + 1, '\n'),
    });
    const result = await callerOf(folder.root)('glob', { pattern: '*.ts', stats: true });
    expect(dataOf<Found>(result).files).toEqual([
      { path: 'a.ts', bytes: 8, lines: 2 },
      { path: 'b.ts', bytes: 6, lines: 1 },
      { path: 'big.ts', bytes: 8_388_609 },
      { path: 'c.ts', bytes: 0, lines: 0 },
      { path: 'd.ts', bytes: 3 },
    ]);
    expect(textOf(result).split('\n')[0]).toBe('a.ts  2 lines, 8 bytes');
    expect(noteOf(result)).toBe(
      '[Together 5 files, 3 lines, 8,388,626 bytes. Lines not counted of 2 files (binary, too large or unreadable).]',
    );
  });

  test('a start folder is what the pattern is about; paths stay relative to the root', async () => {
    const folder = await made({ 'src/a.ts': '', 'src/sub/b.ts': '', 'c.ts': '' });
    const call = callerOf(folder.root);
    expect(paths(await call('glob', { pattern: '*.ts', path: 'src' }))).toEqual(['src/a.ts']);
    expect(paths(await call('glob', { pattern: 'sub/*.ts', path: 'src' }))).toEqual(['src/sub/b.ts']);
  });

  test('links are not followed, and are counted', async () => {
    const folder = await made({ 'src/a.ts': '' });
    await folder.write('outside/secret.ts', '');
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'out'));
    await symlink('..', join(folder.root, 'src/up'));
    const result = await callerOf(folder.root)('glob', { pattern: '**/*.ts' });
    expect(paths(result)).toEqual(['src/a.ts']);
    expect(noteOf(result)).toBe('[Left out: 2 symbolic links not followed.]');
  });

  test('more files than are shown is said', async () => {
    const folder = await made();
    await Promise.all(Array.from({ length: 1_001 }, (_, index) => writeFile(join(folder.root, `${index}.x`), '')));
    const result = await callerOf(folder.root)('glob', { pattern: '*.x' });
    expect([dataOf<Found>(result).files.length, dataOf<Found>(result).truncated]).toEqual([1_000, true]);
    expect(noteOf(result)).toBe('[Stopped early: more than 1,000 files match.]');
  });

  test('a folder that cannot be read is left out and counted; the others are found', async () => {
    const folder = await made({ 'a/x.ts': '', 'locked/x.ts': '', 'z/x.ts': '' });
    await chmod(join(folder.root, 'locked'), 0);
    const result = await asOrdinaryUser(() => callerOf(folder.root)('glob', { pattern: '**/*.ts' }));
    await chmod(join(folder.root, 'locked'), 0o755);
    expect(paths(result)).toEqual(['a/x.ts', 'z/x.ts']);
    expect(noteOf(result)).toBe('[Left out: 1 file or folder that could not be read.]');
  });

  test('folders nested without end are entered only so deep', async () => {
    const folder = await made();
    const deep = Array.from({ length: 70 }, () => 'd').join('/');
    await mkdir(join(folder.root, deep), { recursive: true });
    await writeFile(join(folder.root, deep, 'x'), '');
    const result = await callerOf(folder.root)('glob', { pattern: '**' });
    expect(noteOf(result)).toBe('[No file matches. Left out: 1 folder nested deeper than 64 levels.]');
  });

  test('a pattern that cannot be is an error of one sentence', async () => {
    const folder = await made();
    const call = callerOf(folder.root);
    for (const pattern of ['/etc/*', '../*', 'a/../../b', ' ', 'x'.repeat(1_001), '{a,b}'.repeat(7)]) {
      const result = await call('glob', { pattern });
      expect([pattern, result.isError]).toEqual([pattern, true]);
      expect(textOf(result)).toMatch(/^The pattern .*\.$/);
    }
  });
});
