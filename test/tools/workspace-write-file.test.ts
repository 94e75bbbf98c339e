import { chmod, link, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectNoLeaks } from '../../src/testing/index.js';
import { writeRefusalFor } from '../../src/tools/workspace/refusal.js';
import { namedPipe } from './processes.js';
import {
  asOrdinaryUser,
  callerOf,
  dataOf,
  type Folder,
  previewerOf,
  textOf,
  workspaceFolders,
} from './workspace-folder.js';
import '../support/process-limit.js';

const made = workspaceFolders();

const read = (folder: Folder, path: string) => readFile(join(folder.root, path), 'utf8');

test('a new file is made with the folders that it needs, exactly as given', async () => {
  const folder = await made();
  const content = 'first\r\nsecond $& é 😀\n\nno end';
  const result = await expectNoLeaks(() => callerOf(folder.root)('write_file', { path: 'a/b/c.txt', content }));
  expect(await read(folder, 'a/b/c.txt')).toBe(content);
  expect(result.isError).toBeUndefined();
  expect(textOf(result)).toBe('Created "a/b/c.txt": 4 lines.');
  expect(dataOf(result)).toEqual({
    path: 'a/b/c.txt',
    created: true,
    bytes: Buffer.byteLength(content),
    addedLines: 4,
    removedLines: 0,
  });
});

test('a file that is there is replaced whole; its mode stays, and nothing else is left in the folder', async () => {
  const folder = await made({ 'run.sh': 'old and longer than the new one\n' });
  await chmod(join(folder.root, 'run.sh'), 0o751);
  const result = await callerOf(folder.root)('write_file', { path: 'run.sh', content: 'new\n' });
  expect(await read(folder, 'run.sh')).toBe('new\n');
  expect((await stat(join(folder.root, 'run.sh'))).mode & 0o7777).toBe(0o751);
  expect(await readdir(folder.root)).toEqual(['run.sh']);
  expect(textOf(result)).toBe('Wrote "run.sh": 1 line.');
  expect(result.displayContent).toEqual([
    {
      type: 'text',
      text: '--- a/run.sh\n+++ b/run.sh\n@@ -1,1 +1,1 @@\n-old and longer than the new one\n+new\n',
    },
  ]);
});

test('a new file gets the rights that any program would give it', async () => {
  const folder = await made();
  const before = process.umask(0o027);
  try {
    await callerOf(folder.root)('write_file', { path: 'a', content: 'x' });
  } finally {
    process.umask(before);
  }
  expect((await stat(join(folder.root, 'a'))).mode & 0o777).toBe(0o640);
});

test('the same content again writes nothing', async () => {
  const folder = await made({ a: 'same\n' });
  const before = await stat(join(folder.root, 'a'), { bigint: true });
  const result = await callerOf(folder.root)('write_file', { path: 'a', content: 'same\n' });
  const after = await stat(join(folder.root, 'a'), { bigint: true });
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  expect(textOf(result)).toBe('Left as it was, with the same content, "a": 1 line.');
});

test('who reads while a file is written sees the old content or the new, never a part', async () => {
  const contents = ['a'.repeat(400_000), 'b'.repeat(300_000)];
  const folder = await made({ f: contents[0] as string });
  const call = callerOf(folder.root);
  let writing = true;
  const seen = new Set<string>();
  const watch = (async () => {
    while (writing) {
      const text = await read(folder, 'f');
      seen.add(`${text[0]}${text.length}${text.at(-1)}`);
    }
  })();
  for (let round = 0; round < 40; round++) {
    await call('write_file', { path: 'f', content: contents[(round + 1) % 2] });
  }
  writing = false;
  await watch;
  expect([...seen].filter((one) => !['a400000a', 'b300000b'].includes(one))).toEqual([]);
  expect(seen.size).toBeGreaterThan(0);
});

test('other names of a file keep its content: a hard link from outside is not written through', async () => {
  const folder = await made();
  await folder.write('outside', 'theirs');
  await link(join(folder.outer, 'outside'), join(folder.root, 'mine'));
  await callerOf(folder.root)('write_file', { path: 'mine', content: 'ours' });
  expect(await readFile(join(folder.outer, 'outside'), 'utf8')).toBe('theirs');
  expect(await read(folder, 'mine')).toBe('ours');
});

test('a link inside the workspace stays a link, and what it leads to is written', async () => {
  const folder = await made({ 'src/a': 'old' });
  await symlink('src/a', join(folder.root, 'link'));
  await symlink('src/new', join(folder.root, 'dangling'));
  const call = callerOf(folder.root);
  expect(dataOf<{ path: string }>(await call('write_file', { path: 'link', content: 'one' })).path).toBe('src/a');
  expect(dataOf<{ path: string }>(await call('write_file', { path: 'dangling', content: 'two' })).path).toBe('src/new');
  expect((await lstat(join(folder.root, 'link'))).isSymbolicLink()).toBe(true);
  expect([await read(folder, 'src/a'), await read(folder, 'src/new')]).toEqual(['one', 'two']);
});

describe('what is not written', () => {
  test('folders, pipes and sockets are refused at once, and stay as they are', async () => {
    const folder = await made({ 'dir/f': 'x' });
    namedPipe(join(folder.root, 'pipe'));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder.root, 'socket'), resolve));
    const call = callerOf(folder.root);
    try {
      for (const [path, sentence] of [
        ['dir', '"dir" is a folder.'],
        ['dir/', '"dir/" is a folder.'],
        ['new/', '"new/" is a folder.'],
        ['.', '"." is a folder.'],
        ['pipe', '"pipe" is not a regular file.'],
        ['socket', '"socket" is not a regular file.'],
      ] as const) {
        const result = await call('write_file', { path, content: 'x' });
        expect([path, result.isError, textOf(result)]).toEqual([path, true, sentence]);
      }
    } finally {
      server.close();
    }
    expect((await lstat(join(folder.root, 'pipe'))).isFIFO()).toBe(true);
    expect((await readdir(folder.root)).sort()).toEqual(['dir', 'pipe']);
  });

  test('a file below a file is refused', async () => {
    const folder = await made({ a: 'x' });
    const result = await callerOf(folder.root)('write_file', { path: 'a/b', content: 'x' });
    expect(textOf(result)).toBe('"a/b" cannot be written: a part of the path is not a folder.');
  });

  test('a file that its owner made read-only is not replaced behind its back', async () => {
    const folder = await made({ a: 'old' });
    await chmod(join(folder.root, 'a'), 0o444);
    await chmod(folder.root, 0o777);
    const call = callerOf(folder.root);
    const result = await asOrdinaryUser(() => call('write_file', { path: 'a', content: 'new' }));
    expect(textOf(result)).toBe('"a" cannot be written: permission denied.');
    expect(await read(folder, 'a')).toBe('old');
    expect(await readdir(folder.root)).toEqual(['a']);
  });

  test('a folder that may not be written to is a sentence without its whole path', async () => {
    const folder = await made({ 'locked/a': 'old' });
    await chmod(join(folder.root, 'locked'), 0o555);
    const call = callerOf(folder.root);
    const result = await asOrdinaryUser(() => call('write_file', { path: 'locked/b', content: 'new' }));
    expect(textOf(result)).toBe('"locked/b" cannot be written: permission denied.');
  });

  test('content that is no text, or too much, is refused', async () => {
    const folder = await made();
    const call = callerOf(folder.root);
    const half = await call('write_file', { path: 'a', content: 'x\ud800y' });
    expect([half.errorType, textOf(half)]).toEqual([
      'invalid_tool_params',
      'content holds half a surrogate pair, which is no character.',
    ]);
    const large = await call('write_file', { path: 'a', content: 'x'.repeat(8 * 1024 * 1024 + 1) });
    expect(textOf(large)).toBe('"a" is too large to be edited: 8,388,609 bytes, of at most 8,388,608 bytes.');
    expect(await readdir(folder.root)).toEqual([]);
  });

  test('a name that is too long leaves nothing behind', async () => {
    const folder = await made();
    const result = await callerOf(folder.root)('write_file', { path: 'n'.repeat(256), content: 'x' });
    expect(result.isError).toBe(true);
    expect(await readdir(folder.root)).toEqual([]);
  });

  test('a call that is cancelled writes nothing', async () => {
    const folder = await made({ a: 'old' });
    const result = await callerOf(folder.root, AbortSignal.abort())('write_file', { path: 'a', content: 'new' });
    expect(result.errorType).toBe('cancelled');
    expect(await read(folder, 'a')).toBe('old');
  });

  test.each(['ENOSPC', 'EDQUOT'])('a full disk (%s) is told apart, as it ends a run', (code) => {
    const refusal = writeRefusalFor(Object.assign(new Error('/secret/path'), { code }), 'a');
    expect(refusal).toMatchObject({ errorType: 'no_space_left', message: expect.stringContaining('"a" cannot be') });
  });
});

describe('protected names', () => {
  test.each([
    ['.git/config'],
    ['.git/hooks/new/pre-commit'],
    ['.GIT/config'],
    ['.Git'],
    ['sub/.git/hooks/x'],
    ['.git./config'],
    ['.git /config'],
    ['.gi\u200ct/config'],
    ['.git::$INDEX_ALLOCATION/config'],
    ['GIT~1/config'],
    ['.troupe/policy.toml'],
    ['link/config'],
    ['src/../.git/config'],
  ])('%s is not written', async (path) => {
    const folder = await made({ '.git/config': 'theirs', 'src/a': 'a' });
    await symlink('.git', join(folder.root, 'link'));
    const call = callerOf(folder.root);
    for (const [tool, args] of [
      ['write_file', { path, content: 'ours' }],
      ['replace', { path, old_string: 'theirs', new_string: 'ours' }],
    ] as const) {
      const result = await call(tool, args);
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/lies in \.(git|troupe), which is not to be changed\.$/);
    }
    expect(await read(folder, '.git/config')).toBe('theirs');
  });

  test.each(['.github/workflows/x.yml', '.gitignore', 'git/a', 'a.git/b', 'x~1', '.troupe.md'])(
    '%s is written',
    async (path) => {
      const folder = await made();
      await callerOf(folder.root)('write_file', { path, content: 'x' });
      expect(await read(folder, path)).toBe('x');
    },
  );

  test('who asks for it has them written', async () => {
    const folder = await made({ '.git/config': 'old' });
    const call = callerOf(folder.root, undefined, { protect: ['secrets'] });
    await call('write_file', { path: '.git/config', content: 'new' });
    expect(await read(folder, '.git/config')).toBe('new');
    expect((await call('write_file', { path: 'a/secrets/b', content: 'x' })).isError).toBe(true);
  });
});

describe('previews', () => {
  test('show the diff, change nothing, and make no folder', async () => {
    const folder = await made({ a: 'one\ntwo\n' });
    const preview = previewerOf(folder.root);
    expect(await preview('write_file', { path: 'a', content: 'one\n2\n' })).toEqual({
      diff: '--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
    });
    expect(await preview('write_file', { path: 'x/y', content: 'new' })).toEqual({
      diff: '--- /dev/null\n+++ b/x/y\n@@ -0,0 +1,1 @@\n+new\n\\ No newline at end of file\n',
    });
    expect(await preview('replace', { path: 'a', old_string: 'two', new_string: '2' })).toMatchObject({
      diff: expect.stringContaining('-two\n+2\n'),
    });
    expect(await readdir(folder.root)).toEqual(['a']);
    expect(await read(folder, 'a')).toBe('one\ntwo\n');
  });

  test('say why a call would fail', async () => {
    const folder = await made({ a: 'one\n' });
    const preview = previewerOf(folder.root);
    expect(await preview('write_file', { path: '../a', content: '' })).toEqual({
      problem: expect.stringContaining('is outside the workspace'),
    });
    expect(await preview('replace', { path: 'a', old_string: 'two', new_string: '2' })).toEqual({
      problem: expect.stringContaining('old_string does not stand in "a"'),
    });
  });

  test('are bounded, and say what they leave out', async () => {
    const folder = await made();
    const content = `${'x'.repeat(1_023)}\n`.repeat(1_000);
    const { diff = '' } = await previewerOf(folder.root)('write_file', { path: 'a', content });
    expect(diff.length).toBeLessThan(65 * 1024);
    expect(diff).toMatch(/\[9\d\d more lines of the change not shown\]\n$/);
  });

  test('of a binary file say only that it differs', async () => {
    const folder = await made({ a: new Uint8Array([0, 1, 2]) });
    expect(await previewerOf(folder.root)('write_file', { path: 'a', content: 'text' })).toEqual({
      diff: expect.stringMatching(/^index [0-9a-f]{32}\.\.[0-9a-f]{32}\nBinary files a\/a and b\/a differ\n$/),
    });
  });
});

describe('two writers', () => {
  test('edits of one file at the same time all come to stand', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}.`);
    const folder = await made({ f: lines.join('\n') });
    // Each with tools of its own, as two hosts in one process have them.
    const results = await Promise.all(
      lines.map((line, index) =>
        callerOf(folder.root)('replace', { path: 'f', old_string: line, new_string: `done ${index}.` }),
      ),
    );
    expect(results.filter(({ isError }) => isError)).toEqual([]);
    expect(await read(folder, 'f')).toBe(lines.map((_, index) => `done ${index}.`).join('\n'));
  });

  test('of two who make one file the second replaces what the first made, whole', async () => {
    const folder = await made();
    const call = callerOf(folder.root);
    const contents = ['one', 'two'];
    const results = await Promise.all(contents.map((content) => call('write_file', { path: 'new/f', content })));
    const second = results.findIndex((result) => !dataOf<{ created: boolean }>(result).created);
    expect(results.filter((result) => dataOf<{ created: boolean }>(result).created)).toHaveLength(1);
    expect(await read(folder, 'new/f')).toBe(contents[second]);
    expect(await readdir(join(folder.root, 'new'))).toEqual(['f']);
  });
});

test('a mode with set-user-id loses it, as by any write', async () => {
  const folder = await made({ a: 'old' });
  await chmod(join(folder.root, 'a'), 0o4755);
  await callerOf(folder.root)('write_file', { path: 'a', content: 'new' });
  expect((await stat(join(folder.root, 'a'))).mode & 0o7777).toBe(0o755);
});

test('a workspace that is itself reached through a link is written to', async () => {
  const folder = await made();
  const alias = join(folder.outer, 'alias');
  await symlink(folder.root, alias);
  const call = callerOf(alias);
  await call('write_file', { path: 'a', content: '1' });
  await call('write_file', { path: join(alias, 'b'), content: '2' });
  await call('write_file', { path: join(folder.root, 'c'), content: '3' });
  expect((await readdir(folder.root)).sort()).toEqual(['a', 'b', 'c']);
});

test('a root that is missing is an error that does not show its path', async () => {
  const folder = await made();
  const result = await callerOf(join(folder.root, 'gone'))('write_file', { path: 'a', content: 'x' });
  expect(result.isError).toBe(true);
  expect(textOf(result)).not.toContain(folder.outer);
  await mkdir(join(folder.root, 'gone'));
  await writeFile(join(folder.root, 'gone/a'), '');
});
