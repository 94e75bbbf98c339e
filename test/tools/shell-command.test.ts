import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ToolUpdate } from '../../src/contracts/index.js';
import { expectNoLeaks } from '../../src/testing/index.js';
import { runCommand } from '../../src/tools/workspace/run-command.js';
import { searchPath, shellEnvironment } from '../../src/tools/workspace/shell-environment.js';
import type { WorkspaceOptions } from '../../src/tools/workspace.js';
import { fc } from '../support/fast-check.js';
import { namedPipe } from './processes.js';
import { callerOf, dataOf, type Folder, textOf, workspaceFolders } from './workspace-folder.js';
import '../support/process-limit.js';

const made = workspaceFolders();
afterEach(() => void vi.unstubAllEnvs());

async function run(
  command: string,
  options: Partial<WorkspaceOptions> & { progress?: (update: ToolUpdate) => void; folder?: Folder } = {},
) {
  const { folder = await made(), ...rest } = options;
  return callerOf(folder.root, undefined, rest)('run_shell_command', { command });
}

describe('what is run', () => {
  test('the text goes to bash as it is, in the root, and leaves nothing behind', async () => {
    const folder = await made({ 'a file': 'x' });
    const result = await expectNoLeaks(() => run(`pwd; ls | while read -r f; do echo "[$f]"; done`, { folder }));
    expect(textOf(result)).toBe(`${folder.root}\n[a file]\n`);
    expect(result.isError).toBeUndefined();
    expect(dataOf(result)).toEqual({
      exitCode: 0,
      signal: null,
      stdoutLength: folder.root.length + 10,
      stderrLength: 0,
      truncated: false,
      leftBehind: 0,
    });
  });

  test('any text within quotes comes out as it went in', async () => {
    const folder = await made();
    const char = fc.constantFrom(
      '"',
      '\\',
      '$',
      '`',
      '!',
      '\n',
      '\r',
      '\t',
      ' ',
      '*',
      'é',
      '😀',
      '\u2028',
      '\x1b',
      'a',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(char, { minLength: 1, maxLength: 20 }), async (chars) => {
        const text = chars.join('');
        expect(textOf(await run(`printf %s '${text}'`, { folder }))).toBe(text);
      }),
      { numRuns: 40 },
    );
  });

  test('it has no arguments, no input, and no terminal', async () => {
    expect(textOf(await run('echo "$#"; cat; read -r line || echo none; tty'))).toBe('0\nnone\nnot a tty\n');
  });

  test('no file of the user is read first, and no function of ours is known', async () => {
    const folder = await made();
    for (const name of ['.bashrc', '.bash_profile', '.profile', 'env.sh']) {
      await folder.write(name, 'echo sourced; ls() { echo shadowed; }\n');
    }
    vi.stubEnv('HOME', folder.outer);
    vi.stubEnv('BASH_ENV', join(folder.outer, 'env.sh'));
    vi.stubEnv('ENV', join(folder.outer, 'env.sh'));
    vi.stubEnv('BASH_FUNC_ls%%', '() { echo shadowed; }');
    vi.stubEnv('SHELLOPTS', 'xtrace');
    expect(textOf(await run('ls -A; echo "$HOME"', { folder }))).toBe(`${folder.outer}\n`);
  });
});

describe('the environment', () => {
  test('holds what a program needs and no key or token', async () => {
    vi.stubEnv('GEMINI_API_KEY', 'secret');
    vi.stubEnv('GITHUB_TOKEN', 'secret');
    vi.stubEnv('LD_PRELOAD_X', 'secret');
    vi.stubEnv('NODE_OPTIONS', '');
    vi.stubEnv('LC_MESSAGES', 'C');
    const folder = await made();
    const result = await run('env', { folder, shell: { env: { CI: '1' } } });
    const shown = Object.fromEntries(
      textOf(result)
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(shown).toMatchObject({ TROUPE_PROJECT_DIR: folder.root, CI: '1', LC_MESSAGES: 'C', PWD: folder.root });
    const others = Object.keys(shown).filter(
      (name) =>
        !/^(PATH|HOME|LANG|LC_[A-Z]+|TERM|TMPDIR|USER|SHELL|TROUPE_PROJECT_DIR|CI|PWD|SHLVL|_|TROUPE_CALL)$/.test(name),
    );
    expect(others).toEqual([]);
    expect(textOf(result)).not.toContain('secret');
  });

  test('a program in the workspace is not found by its bare name', async () => {
    const folder = await made({ 'bin/ls': '#!/bin/sh\necho theirs\n', ls: '#!/bin/sh\necho theirs\n' });
    vi.stubEnv('PATH', `.:${folder.root}/bin:bin::${process.env.PATH}`);
    expect(textOf(await run('chmod +x ls bin/ls; ls', { folder }))).toBe('bin\nls\n');
  });

  test.each([
    ['/a:/ws/bin:/b', '/a:/b'],
    ['/ws', '/usr/local/bin:/usr/bin:/bin'],
    ['/ws-other/bin:/ws/../x', '/ws-other/bin:/ws/../x'],
    ['.::bin', '/usr/local/bin:/usr/bin:/bin'],
    [undefined, '/usr/local/bin:/usr/bin:/bin'],
  ])('of the search path %s is kept %s', (path, kept) => {
    expect(searchPath(path, '/ws')).toBe(kept);
  });

  test('locales in which bash would read another text than was judged are not handed on', () => {
    const given = shellEnvironment(
      { LANG: 'zh_CN.GBK', LC_ALL: 'ja_JP.SJIS', LC_CTYPE: 'de_DE.UTF-8', LC_TIME: 'C', LC_NUMERIC: 'ja_JP' },
      { root: '/ws', more: {} },
    );
    expect(given).toEqual({
      LC_CTYPE: 'de_DE.UTF-8',
      LC_TIME: 'C',
      PATH: '/usr/local/bin:/usr/bin:/bin',
      TROUPE_PROJECT_DIR: '/ws',
    });
  });
});

describe('the result', () => {
  test('has what went to stderr beside the output, and the exit code', async () => {
    const result = await run('echo out; echo err >&2; exit 3');
    expect(result.llmContent).toEqual([
      { type: 'text', text: 'out\n' },
      { type: 'text', text: '[stderr]\nerr\n' },
      { type: 'text', text: '[Exit code 3.]' },
    ]);
    expect(result).toMatchObject({ isError: true, errorType: 'execution_failed', data: { exitCode: 3, signal: null } });
  });

  test('names the signal that ended the command', async () => {
    const result = await run('kill -SEGV $$');
    expect(textOf(result)).toBe('[Ended by SIGSEGV.]');
    expect(result).toMatchObject({ isError: true, data: { exitCode: null, signal: 'SIGSEGV' } });
  });

  test('of a command that cannot be parsed is what bash says of it', async () => {
    const result = await run('echo "');
    expect(result).toMatchObject({ isError: true, data: { exitCode: 2 } });
    expect(textOf(result)).toMatch(/^\[stderr\]\n.*unexpected EOF/);
  });

  test('of a silent command says so', async () => {
    const result = await run('true');
    expect([textOf(result), result.isError]).toEqual(['[No output.]', undefined]);
  });

  test('of much output is its beginning and its end, with the length of all', async () => {
    const result = await run('seq 1 200000', { shell: { maxOutputChars: 1_000 } });
    const text = textOf(result);
    expect(text.startsWith('1\n2\n3\n')).toBe(true);
    expect(text.endsWith('199999\n200000\n')).toBe(true);
    expect(text).toMatch(/\n\[1,287,89\d characters left out\]\n/);
    expect(text.length).toBeLessThan(1_050);
    expect(result.contentLength).toBe(1_288_895);
    expect(dataOf(result)).toMatchObject({ truncated: true, stdoutLength: 1_288_895 });
  });

  test('one output may take the room that the other leaves', async () => {
    const shell = { maxOutputChars: 1_000 };
    const lengths = async (command: string) =>
      (await run(command, { shell })).llmContent.map((part) => (part.type === 'text' ? part.text.length : 0));
    const long = 'head -c 5000 /dev/zero | tr "\\0" x';
    const [out = 0, err = 0] = await lengths(`${long}; ${long} >&2`);
    expect([out > 500 && out < 550, err > 500 && err < 560]).toEqual([true, true]);
    const [alone = 0] = await lengths(`${long}; echo e >&2`);
    expect(alone > 990 && alone < 1_050).toBe(true);
    expect(await lengths('head -c 1000 /dev/zero | tr "\\0" x')).toEqual([1_000]);
  });

  test('characters of several bytes are whole wherever the output is cut up', async () => {
    const result = await run(`for i in {1..20000}; do printf 'é😀\\n'; done`, { shell: { maxOutputChars: 200_000 } });
    expect(textOf(result)).toBe('é😀\n'.repeat(20_000));
    for (const maxOutputChars of [101, 102, 103, 104]) {
      const cut = textOf(await run(`for i in {1..99}; do printf '😀'; done`, { shell: { maxOutputChars } }));
      expect(cut.replace(/\n\[.*\]\n/, '')).toMatch(/^(😀)+$/u);
    }
  });
});

describe('what is not run', () => {
  test.each([
    ['a NUL', 'echo a\0b', 'The command holds a character that no command line can hold.'],
    ['half a surrogate pair', 'echo \udc00', 'The command holds a character that no command line can hold.'],
    [
      'more than an argument can hold',
      `: ${'x'.repeat(120 * 1024)}`,
      'The command is longer than 120 KB. Write it to a file and run that.',
    ],
  ])('a command with %s', async (_, command, sentence) => {
    const result = await run(command);
    expect([result.errorType, textOf(result)]).toEqual(['invalid_tool_params', sentence]);
  });

  test('any command where there is no bash', async () => {
    const folder = await made();
    const result = await run('touch made', { folder, shell: { bash: join(folder.outer, 'no-bash') } });
    expect([result.errorType, textOf(result)]).toEqual([
      'execution_failed',
      'Commands are run by bash, which is not installed here. Nothing was run.',
    ]);
    expect(await readdir(folder.root)).toEqual([]);
  });

  test('any command where bash cannot be started', async () => {
    const folder = await made();
    await writeFile(join(folder.outer, 'bash'), '#!/no/such/program\n', { mode: 0o755 });
    const result = await expectNoLeaks(() => run('true', { folder, shell: { bash: join(folder.outer, 'bash') } }));
    expect(result.errorType).toBe('execution_failed');
    expect(textOf(result)).not.toContain(folder.outer);
  });

  test('a command whose call was cancelled before', async () => {
    const folder = await made();
    const call = callerOf(folder.root, AbortSignal.abort());
    expect((await call('run_shell_command', { command: 'touch made' })).errorType).toBe('cancelled');
    expect(await readdir(folder.root)).toEqual([]);
  });
});

describe('bounds', () => {
  test('a process that takes more memory than it may fails, and the next command has it again', async () => {
    // tail holds what it is to print.
    const hungry = 'head -c 300000000 /dev/zero | tail -c 200000000 | wc -c';
    const bounded = await run(`set -o pipefail; ${hungry}`, { shell: { maxMemoryMb: 100 } });
    expect(bounded.isError).toBe(true);
    expect(textOf(bounded, 1)).toMatch(/memory/);
    expect(textOf(await run(hungry, { shell: { maxMemoryMb: 1_000 } })).trim()).toBe('200000000');
  });

  test('a command that prints without end is stopped', async () => {
    const folder = await made();
    const end = await runCommand({
      ...{ command: '/bin/bash', args: ['-c', 'yes'], cwd: folder.root, env: { PATH: process.env.PATH ?? '' } },
      ...{ timeoutMs: 1_000_000, graceMs: 1_000, capacity: 100, maxOutput: 1_000_000 },
      signal: new AbortController().signal,
      onOutput: () => {},
    });
    expect(end.stopped).toBe('output');
    expect(end.stdout.length()).toBeGreaterThan(1_000_000);
  });
});

test('output is shown as it comes, of both streams', async () => {
  const folder = await made();
  const gates = { one: namedPipe(join(folder.root, 'first')), two: namedPipe(join(folder.root, 'second')) };
  const shown: string[] = [];
  const result = await run('echo one; read -r _ < first; echo two >&2; read -r _ < second; echo three', {
    folder,
    progress: ({ content }) => {
      const text = content?.[0]?.type === 'text' ? content[0].text : '';
      shown.push(text);
      // What follows is printed only once this has been seen.
      if (text === 'one\n') void gates.one.write('go\n');
      if (text === 'two\n') void gates.two.write('go\n');
    },
  });
  expect(shown.slice(0, 2)).toEqual(['one\n', 'two\n']);
  expect(textOf(result)).toBe('one\nthree\n');
  expect(textOf(result, 1)).toBe('[stderr]\ntwo\n');
});
