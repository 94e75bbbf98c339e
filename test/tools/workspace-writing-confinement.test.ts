import { mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFolderByPath, openFolderInside } from '../../src/tools/workspace/open-folder.js';
import { locateAny, openWorkspace } from '../../src/tools/workspace/place.js';
import { readWhole, writeInside } from '../../src/tools/workspace/write-inside.js';
import { fc } from '../support/fast-check.js';
import { callerOf, type Folder, textOf, workspaceFolders } from './workspace-folder.js';

const made = workspaceFolders();

const OUTSIDE = /is outside the workspace/;
const never = new AbortController().signal;

/** Every file and folder beside the workspace, with the content of files: what no call may change. */
async function outsideOf(folder: Folder): Promise<string[]> {
  const entries = await readdir(folder.outer, { recursive: true, withFileTypes: true });
  const lines = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const shown = path.slice(folder.outer.length + 1);
    return `${shown} ${entry.isFile() && !/^ws(\/|$)/.test(shown) ? await readFile(path, 'utf8') : entry.isFile()}`;
  });
  return (await Promise.all(lines)).filter((line) => !/^ws[ /]/.test(line)).sort();
}

describe('paths (B126)', () => {
  test('nothing is written through a link that leads outside, into new folders below it, or by climbing', async () => {
    const folder = await made({ 'src/a': 'inside' });
    await folder.write('outside/f', 'theirs');
    await folder.write('ws-evil/f', 'theirs');
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'link'));
    await symlink('../outside/f', join(folder.root, 'file-link'));
    await symlink('../outside/missing', join(folder.root, 'dangling'));
    await symlink('link', join(folder.root, 'again'));
    const before = await outsideOf(folder);
    const call = callerOf(folder.root);
    for (const path of [
      'link/f',
      'link/new.txt',
      'link/a/b/new.txt',
      'again/new.txt',
      'file-link',
      'dangling',
      'dangling/new.txt',
      '../new.txt',
      '../ws-evil/f',
      '../ws-evil/new.txt',
      'src/../../new.txt',
      'missing/../../new.txt',
      join(folder.outer, 'outside/f'),
      join(folder.outer, 'ws-evil/new.txt'),
      `${folder.root}-new`,
      '/etc/troupe-test',
    ]) {
      for (const [tool, args] of [
        ['write_file', { path, content: 'ours' }],
        ['replace', { path, old_string: 'theirs', new_string: 'ours' }],
      ] as const) {
        const result = await call(tool, args);
        expect([path, result.isError, textOf(result)]).toEqual([path, true, expect.stringMatching(OUTSIDE)]);
      }
    }
    expect(await outsideOf(folder)).toEqual(before);
    expect((await readdir(folder.root)).sort()).toEqual(['again', 'dangling', 'file-link', 'link', 'src']);
  });

  test('an ordinary new file is written, also by an absolute path', async () => {
    const folder = await made();
    const call = callerOf(folder.root);
    expect((await call('write_file', { path: 'new.txt', content: 'x' })).isError).toBeUndefined();
    expect((await call('write_file', { path: join(folder.root, 'b/new.txt'), content: 'x' })).isError).toBeUndefined();
    expect((await readdir(folder.root)).sort()).toEqual(['b', 'new.txt']);
  });

  test('the root in other capitals is another folder, or the same where the file system says so', async () => {
    const folder = await made();
    const other = join(folder.outer, 'WS');
    const isSame = await readdir(other).then(
      () => true,
      () => false,
    );
    await callerOf(folder.root)('write_file', { path: join(other, 'new.txt'), content: 'x' });
    expect(await readdir(folder.outer)).toEqual(['ws']);
    expect((await readdir(folder.root)).every((name) => isSame && name === 'new.txt')).toBe(true);
  });

  test('the answer does not tell whether something outside exists', async () => {
    const folder = await made();
    await folder.write('outside/there', 'secret');
    await symlink('../outside', join(folder.root, 'link'));
    const call = callerOf(folder.root);
    const say = async (path: string) =>
      textOf(await call('write_file', { path, content: 'x' })).replace(JSON.stringify(path), 'it');
    expect(await say('link/there')).toBe(await say('link/missing'));
    expect(await say('link/there')).toBe(await say('link/missing/deeper'));
  });

  test('whatever a path is made of, nothing beside the workspace changes', async () => {
    const folder = await made({ 'src/a': 'inside', 'src/deep/b': 'inside' });
    await folder.write('outside/deep/f', 'theirs');
    await folder.write('ws-evil/f', 'theirs');
    await symlink('../outside', join(folder.root, 'out'));
    await symlink('../../outside/deep', join(folder.root, 'src/deep/out'));
    await symlink('../ws', join(folder.root, 'self'));
    await symlink('src', join(folder.root, 'in'));
    await symlink('gone', join(folder.root, 'nowhere'));
    await symlink('loop', join(folder.root, 'loop'));
    const before = await outsideOf(folder);
    const call = callerOf(folder.root);
    const part = fc.constantFrom('..', '.', '', 'out', 'in', 'self', 'src', 'deep', 'a', 'f', 'new', 'nowhere', 'loop');
    const start = fc.constantFrom('', '/', './', '../', `${folder.root}/`, `${folder.outer}/`, `${folder.root}-evil/`);
    const paths = fc.tuple(start, fc.array(part, { minLength: 1, maxLength: 7 }));
    let written = 0;
    await fc.assert(
      fc.asyncProperty(paths, async ([from, parts]) => {
        const result = await call('write_file', { path: `${from}${parts.join('/')}`, content: 'ours' });
        if (result.isError !== true) written++;
        expect(await outsideOf(folder)).toEqual(before);
      }),
      { numRuns: 400 },
    );
    expect(written).toBeGreaterThan(10);
  });
});

describe('between looking and writing', () => {
  async function located(folder: Folder, path: string) {
    const workspace = await openWorkspace(folder.root);
    const place = await locateAny(workspace, path);
    const before = place.exists ? await readWhole(workspace, place.absolute, path) : undefined;
    const writing = { absolute: place.absolute, asked: path, bytes: Buffer.from('ours'), before };
    return { workspace, place, write: () => writeInside(workspace, writing, never) };
  }

  test.each(['src/f', 'src/new', 'src/x/y/new'])(
    'a folder replaced by a link after the path was checked is not written through: %s',
    async (path) => {
      const folder = await made({ 'src/f': 'inside' });
      await folder.write('outside/f', 'theirs');
      const before = await outsideOf(folder);
      const { write } = await located(folder, path);
      await rm(join(folder.root, 'src'), { recursive: true });
      await symlink(join(folder.outer, 'outside'), join(folder.root, 'src'));
      await expect(write()).rejects.toThrow(/a part of the path is not a folder|was replaced by a symbolic link/);
      expect(await outsideOf(folder)).toEqual(before);
    },
  );

  test('a root replaced by a link is not written through', async () => {
    const folder = await made({ f: 'inside' });
    await folder.write('outside/f', 'theirs');
    const { write } = await located(folder, 'f');
    await rm(folder.root, { recursive: true });
    await symlink(join(folder.outer, 'outside'), folder.root);
    await expect(write()).rejects.toThrow();
    expect(await readFile(join(folder.outer, 'outside/f'), 'utf8')).toBe('theirs');
  });

  test('a folder moved out of the workspace while it is open is not written to', async () => {
    const folder = await made({ 'src/f': 'inside' });
    const workspace = await openWorkspace(folder.root);
    const open = await openFolderInside(workspace, join(folder.root, 'src'), 'src/f');
    expect(await open.isInside()).toBe(true);
    await rename(join(folder.root, 'src'), join(folder.outer, 'moved'));
    expect(await open.isInside()).toBe(false);
    await open.close();
  });

  test.each<[string, (path: string, folder: Folder) => Promise<unknown>]>([
    ['was changed, and is as long as before', (path) => writeFile(path, 'others')],
    ['is gone', (path) => unlink(path)],
    [
      'is a link by now',
      async (path, folder) => {
        await unlink(path);
        await symlink(join(folder.outer, 'outside'), path);
      },
    ],
    [
      'is a folder by now',
      async (path) => {
        await unlink(path);
        await mkdir(path);
      },
    ],
  ])('a file that %s meanwhile is left as it is', async (_, change) => {
    const folder = await made({ f: 'inside' });
    await folder.write('outside', 'theirs');
    const { write, place } = await located(folder, 'f');
    await change(place.absolute, folder);
    await expect(write()).rejects.toThrow('"f" was changed by others meanwhile; nothing was written.');
    expect(await readFile(join(folder.outer, 'outside'), 'utf8')).toBe('theirs');
    expect((await readdir(folder.root)).filter((name) => name !== 'f')).toEqual([]);
  });

  test('a file that has come into being meanwhile is left as it is', async () => {
    const folder = await made();
    const { write } = await located(folder, 'f');
    await folder.write('ws/f', 'theirs');
    await expect(write()).rejects.toThrow('"f" was changed by others meanwhile');
    expect(await readFile(join(folder.root, 'f'), 'utf8')).toBe('theirs');
  });

  test('where folders have no descriptor paths, a replaced folder is found by its identity', async () => {
    const folder = await made({ 'src/f': 'inside' });
    await mkdir(join(folder.outer, 'outside'));
    const workspace = await openWorkspace(folder.root);
    const open = await openFolderByPath(workspace, ['src', 'new'], 'src/new/f');
    expect(await readdir(join(folder.root, 'src'))).toEqual(['f', 'new']);
    expect(await open.isInside()).toBe(true);
    await rename(join(folder.root, 'src'), join(folder.root, 'old'));
    expect(await open.isInside()).toBe(false);
    await symlink(join(folder.root, 'old'), join(folder.root, 'src'));
    expect(await open.isInside()).toBe(false);
    await symlink(join(folder.outer, 'outside'), join(folder.root, 'link'));
    await expect(openFolderByPath(workspace, ['link'], 'link/f')).rejects.toThrow();
    await expect(openFolderByPath(workspace, ['link', 'new'], 'link/new/f')).rejects.toThrow();
    expect(await readdir(join(folder.outer, 'outside'))).toEqual([]);
  });

  test('while a folder is swapped for a link again and again, nothing is written outside', async () => {
    const folder = await made({ 'src/f': 'inside' });
    await folder.write('outside/f', 'theirs');
    await symlink(join(folder.outer, 'outside'), join(folder.outer, 'trap'));
    const call = callerOf(folder.root);
    const source = join(folder.root, 'src');
    // While there is neither, a call may make the folder, and fill it again while it is being removed.
    const put = (from: string): Promise<void> =>
      rename(from, source).catch(async () => {
        await rm(source, { recursive: true, force: true }).catch(() => {});
        await put(from);
      });
    let swapping = true;
    const swap = (async () => {
      while (swapping) {
        await rename(source, join(folder.outer, 'kept'));
        await put(join(folder.outer, 'trap'));
        await rename(source, join(folder.outer, 'trap'));
        await put(join(folder.outer, 'kept'));
      }
    })();
    let written = 0;
    for (let round = 0; round < 150; round++) {
      const results = await Promise.all([
        call('write_file', { path: 'src/f', content: `round ${round}` }),
        call('write_file', { path: `src/new/${round}`, content: 'new' }),
      ]);
      written += results.filter(({ isError }) => isError !== true).length;
    }
    swapping = false;
    await swap;
    expect(await readdir(join(folder.outer, 'outside'))).toEqual(['f']);
    expect(await readFile(join(folder.outer, 'outside/f'), 'utf8')).toBe('theirs');
    expect(written).toBeGreaterThan(0);
    expect((await readdir(source)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });
});
