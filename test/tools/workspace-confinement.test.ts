import { link, mkdir, open, rename, rm, symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  isSameInside,
  openFileInside,
  readFolderByPath,
  readFolderInside,
} from '../../src/tools/workspace/open-inside.js';
import { isInside, locate, openWorkspace } from '../../src/tools/workspace/place.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { callerOf, dataOf, textOf, workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

const OUTSIDE = /is outside the workspace/;

describe('paths', () => {
  test('a link that leads outside is refused, for a file and for a folder (B126)', async () => {
    const folder = await made();
    await folder.write('outside/f', 'secret');
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'link'));
    await symlink(join(folder.outer, 'outside/f'), join(folder.root, 'file-link'));
    const call = callerOf(folder.root);
    for (const [tool, args] of [
      ['read_file', { path: 'link/f' }],
      ['read_file', { path: 'file-link' }],
      ['list_directory', { path: 'link' }],
      ['glob', { pattern: '**', path: 'link' }],
      ['search_text', { pattern: 'secret', path: 'link' }],
      ['search_text', { pattern: 'secret', path: 'file-link' }],
    ] as const) {
      const result = await call(tool, args);
      expect([tool, result.isError, result.errorType]).toEqual([tool, true, 'execution_failed']);
      expect(textOf(result)).toMatch(OUTSIDE);
      expect(JSON.stringify(result)).not.toContain('"secret');
    }
  });

  test('a path that climbs, an absolute one and a sibling whose name only begins alike are refused (B126)', async () => {
    const folder = await made({ 'a.txt': 'a' });
    await folder.write('ws-evil/f', 'secret');
    const call = callerOf(folder.root);
    for (const path of [
      '../ws-evil/f',
      '..',
      'a/../../ws-evil/f',
      join(folder.outer, 'ws-evil/f'),
      '/etc/passwd',
      '/',
    ]) {
      const result = await call('read_file', { path });
      expect([path, result.isError]).toEqual([path, true]);
      expect(textOf(result)).toMatch(OUTSIDE);
    }
  });

  test('the answer does not tell whether something outside exists', async () => {
    const folder = await made();
    await folder.write('outside/there', 'secret');
    await symlink('../outside', join(folder.root, 'link'));
    await symlink('../outside/missing', join(folder.root, 'dangling'));
    const call = callerOf(folder.root);
    const say = async (path: string) => textOf(await call('read_file', { path })).replace(JSON.stringify(path), 'it');
    const there = await say('link/there');
    expect(there).toMatch(OUTSIDE);
    expect(await say('link/missing')).toBe(there);
    expect(await say('link/missing/deeper')).toBe(there);
    expect(await say('dangling')).toBe(there);
  });

  test('a link that stays inside is followed', async () => {
    const folder = await made({ 'src/a.txt': 'hello' });
    await symlink('src', join(folder.root, 'link'));
    await symlink(join(folder.root, 'src/a.txt'), join(folder.root, 'direct'));
    const call = callerOf(folder.root);
    expect(textOf(await call('read_file', { path: 'link/a.txt' }))).toBe('hello');
    expect(textOf(await call('read_file', { path: 'direct' }))).toBe('hello');
    expect(dataOf<{ path: string }>(await call('read_file', { path: 'link/a.txt' })).path).toBe('src/a.txt');
  });

  test('a workspace reached through a link works, by relative and by absolute paths in both spellings (B126)', async () => {
    const folder = await made({ 'a.txt': 'hello' });
    const alias = join(folder.outer, 'alias');
    await symlink(folder.root, alias);
    const call = callerOf(alias);
    for (const path of ['a.txt', './a.txt', join(alias, 'a.txt'), join(folder.root, 'a.txt')]) {
      expect([path, textOf(await call('read_file', { path }))]).toEqual([path, 'hello']);
    }
    expect(textOf(await call('list_directory'))).toContain('a.txt');
  });

  test('a link inside that leads to the workspace through its other name is followed', async () => {
    const folder = await made({ 'a.txt': 'hello' });
    await symlink(folder.root, join(folder.outer, 'alias'));
    await symlink(join(folder.outer, 'alias/a.txt'), join(folder.root, 'again'));
    expect(textOf(await callerOf(folder.root)('read_file', { path: 'again' }))).toBe('hello');
  });

  test('links that lead to one another are an error, not a hang', async () => {
    const folder = await made({ 'a.txt': 'a' });
    await symlink('two', join(folder.root, 'one'));
    await symlink('one', join(folder.root, 'two'));
    await symlink('.', join(folder.root, 'self'));
    const call = callerOf(folder.root);
    expect((await call('read_file', { path: 'one' })).isError).toBe(true);
    expect(textOf(await call('read_file', { path: 'self/self/self/a.txt' }))).toBe('a');
    expect(dataOf<{ files: { path: string }[] }>(await call('glob', { pattern: '**' })).files).toEqual([
      { path: 'a.txt' },
    ]);
  });

  test('what does not exist is file_not_found, and the sentence shows the path as it was asked for', async () => {
    const folder = await made({ 'a.txt': 'a' });
    const call = callerOf(folder.root);
    for (const path of ['b.txt', 'x/y/z', 'a.txt/b', 'a\0b', 'n'.repeat(300)]) {
      const result = await call('read_file', { path });
      expect([path, result.errorType]).toEqual([path, 'file_not_found']);
      expect(textOf(result)).not.toContain(folder.outer);
    }
    expect(textOf(await call('read_file', { path: 'b.txt' }))).toBe('"b.txt" does not exist.');
  });

  test('a file is no directory and a directory no file', async () => {
    const folder = await made({ 'src/a.txt': 'a' });
    const call = callerOf(folder.root);
    expect(textOf(await call('read_file', { path: 'src' }))).toBe('"src" is a folder.');
    expect((await call('list_directory', { path: 'src/a.txt' })).isError).toBe(true);
  });

  test('a root that is missing makes error results that do not show its path', async () => {
    const folder = await made();
    await rm(folder.root, { recursive: true });
    const result = await callerOf(folder.root)('list_directory');
    expect(result.isError).toBe(true);
    expect(textOf(result)).not.toContain(folder.outer);
  });

  test('a root that is no path is refused when the tools are made', () => {
    expect(() => workspaceTools({ root: '' })).toThrow(/root is ""/);
    expect(() => workspaceTools({} as { root: string })).toThrow(/root is absent/);
  });

  test('the file system root as workspace holds everything', () => {
    expect(isInside('/', '/etc')).toBe(true);
    expect(isInside('/ws', '/ws')).toBe(true);
    expect(isInside('/ws', '/ws-evil')).toBe(false);
  });
});

describe('between looking and opening', () => {
  test('a folder replaced by a link after the path was checked gives nothing away', async () => {
    const folder = await made({ 'src/f': 'inside' });
    await folder.write('outside/f', 'secret');
    const workspace = await openWorkspace(folder.root);
    const place = await locate(workspace, 'src/f');
    await rm(join(folder.root, 'src'), { recursive: true });
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'src'));
    await expect(openFileInside(workspace, place.absolute, 'src/f')).rejects.toThrow(/replaced while it was opened/);
  });

  test('a folder below one that was replaced by a link is not listed', async () => {
    const folder = await made({ 'src/deep/f': 'inside' });
    await folder.write('outside/deep/secret', '');
    const workspace = await openWorkspace(folder.root);
    const place = await locate(workspace, 'src/deep');
    await rm(join(folder.root, 'src'), { recursive: true });
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'src'));
    await expect(readFolderInside(workspace, place.absolute, 'src/deep', 10)).rejects.toThrow(/replaced while/);
  });

  test('a file replaced by a link after the path was checked is not followed', async () => {
    const folder = await made({ f: 'inside' });
    await folder.write('outside/f', 'secret');
    const workspace = await openWorkspace(folder.root);
    const place = await locate(workspace, 'f');
    await unlink(place.absolute);
    await symlink(join(folder.outer, 'outside/f'), place.absolute);
    await expect(openFileInside(workspace, place.absolute, 'f')).rejects.toThrow(/symbolic link/);
  });

  test('the check for systems without descriptor paths finds a replaced folder by the identity of the file', async () => {
    const folder = await made({ 'src/f': 'inside' });
    await folder.write('outside/f', 'secret');
    const workspace = await openWorkspace(folder.root);
    const absolute = join(folder.root, 'src/f');
    const handle = await open(join(folder.outer, 'outside/f'), 'r');
    const opened = await handle.stat({ bigint: true });
    expect(await isSameInside(workspace, absolute, opened)).toBe(false);
    await handle.close();
    const own = await open(absolute, 'r');
    expect(await isSameInside(workspace, absolute, await own.stat({ bigint: true }))).toBe(true);
    await own.close();
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'link'));
    await expect(readFolderByPath(join(folder.root, 'link'), 'link', 10)).rejects.toThrow(/replaced/);
    expect((await readFolderByPath(join(folder.root, 'src'), 'src', 10)).entries.map(({ name }) => name)).toEqual([
      'f',
    ]);
  });

  test('while a folder is swapped for a link again and again, no call returns what is outside', async () => {
    const folder = await made({ 'src/f': 'inside' });
    await folder.write('outside/f', 'secret');
    await symlink(join(folder.outer, 'outside'), join(folder.outer, 'trap'));
    const call = callerOf(folder.root);
    const source = join(folder.root, 'src');
    let swapping = true;
    const swap = (async () => {
      while (swapping) {
        await rename(source, join(folder.outer, 'kept'));
        await rename(join(folder.outer, 'trap'), source);
        await rename(source, join(folder.outer, 'trap'));
        await rename(join(folder.outer, 'kept'), source);
      }
    })();
    const answers = new Set<string>();
    for (let round = 0; round < 150; round++) {
      const results = await Promise.all([
        call('read_file', { path: 'src/f' }),
        call('search_text', { pattern: 'secret' }),
        call('glob', { pattern: 'src/*', stats: true }),
      ]);
      for (const result of results) answers.add(JSON.stringify(result.llmContent));
      expect(dataOf<{ matches?: unknown[] }>(results[1]).matches ?? []).toEqual([]);
    }
    swapping = false;
    await swap;
    expect([...answers].filter((text) => text.includes('"secret"'))).toEqual([]);
    expect([...answers].some((text) => text.includes('inside'))).toBe(true);
  });
});

test('a hard link is a file of the workspace like any other', async () => {
  const folder = await made();
  await folder.write('elsewhere', 'shared');
  await mkdir(join(folder.root, 'sub'));
  await link(join(folder.outer, 'elsewhere'), join(folder.root, 'sub/hard'));
  expect(textOf(await callerOf(folder.root)('read_file', { path: 'sub/hard' }))).toBe('shared');
});
