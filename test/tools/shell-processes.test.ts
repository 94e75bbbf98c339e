import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ToolUpdate } from '../../src/contracts/index.js';
import { agent, createHost } from '../../src/index.js';
import { expectNoLeaks, scriptedModel } from '../../src/testing/index.js';
import { workspaceTools } from '../../src/tools/workspace.js';
import { root as repository } from '../architecture/import-graph.js';
import { collect, ofType } from '../support/team.js';
import { isRunning, namedPipe, pidsIn } from './processes.js';
import { callerOf, dataOf, textOf, workspaceFolders } from './workspace-folder.js';
import '../support/process-limit.js';

const made = workspaceFolders();

const isLinux = process.platform === 'linux';
const shownText = ({ content }: ToolUpdate): string => (content?.[0]?.type === 'text' ? content[0].text : '');

/** Runs a command that prints the numbers of its processes, then `ready`; `act` is called once it has. */
async function runUntilReady(command: string, act: (abort: () => void) => void, graceMs = 1_000) {
  const folder = await made();
  const controller = new AbortController();
  let shown = '';
  const progress = (update: ToolUpdate) => {
    const before = shown;
    shown += shownText(update);
    if (!before.includes('ready') && shown.includes('ready')) act(() => controller.abort());
  };
  const call = callerOf(folder.root, controller.signal, { progress, shell: { graceMs } });
  const result = await expectNoLeaks(() => call('run_shell_command', { command }), { signals: [controller.signal] });
  const pids = pidsIn(shown.slice(0, shown.indexOf('ready')));
  return { result, pids, running: pids.filter(isRunning) };
}

describe('a call that is aborted (B063)', () => {
  test('ends the command and what it has in the background, and keeps what was printed', async () => {
    const { result, pids, running } = await runUntilReady(
      `mkfifo told; bash -c 'sleep 1000 & echo $! > told; wait' & echo $!; read -r deep < told; echo $deep $$ ready; sleep 60`,
      (abort) => abort(),
    );
    expect(pids).toHaveLength(3);
    expect(running).toEqual([]);
    expect(result).toMatchObject({ isError: true, errorType: 'cancelled', data: { stopped: 'cancelled' } });
    expect(textOf(result)).toContain('ready');
    expect(textOf(result, result.llmContent.length - 1)).toBe('[The call was cancelled.]');
  });

  test('lets the command clean up first', async () => {
    const { result } = await runUntilReady(
      `trap 'echo cleaned; kill $!; exit 0' TERM; sleep 1000 & echo ready; wait`,
      (abort) => abort(),
    );
    expect(textOf(result)).toContain('cleaned');
    expect(dataOf(result)).toMatchObject({ exitCode: 0, signal: null });
  });

  test('ends what does not care about SIGTERM, and what has been stopped', async () => {
    const { result, pids, running } = await runUntilReady(
      `trap '' TERM; for i in 1 2; do (while :; do sleep 1000; done) & echo $!; done
       sleep 1000 & echo $!; kill -STOP $!; echo $$ ready; while :; do sleep 1000; done`,
      (abort) => abort(),
      50,
    );
    expect(pids).toHaveLength(4);
    expect(running).toEqual([]);
    expect(dataOf(result)).toMatchObject({ signal: 'SIGKILL' });
  });

  test.runIf(isLinux)('ends jobs in groups of their own, and what took a session of its own', async () => {
    const { pids, running } = await runUntilReady(
      `mkfifo told; set -m; env -i sleep 1000 & echo $!
       setsid bash -c 'echo $$ > told; exec sleep 1000' & read -r apart < told; echo $apart ready; sleep 1000`,
      (abort) => abort(),
    );
    expect(pids).toHaveLength(2);
    expect(running).toEqual([]);
  });
});

test('a call that takes too long is ended, with all that it started', async () => {
  const folder = await made();
  const call = callerOf(folder.root);
  const command = `trap 'kill $!' TERM; sleep 1000 & echo $! > pid; wait; echo ended`;
  const result = await expectNoLeaks(() => call('run_shell_command', { command, timeout_ms: 1_000 }));
  expect(result).toMatchObject({ isError: true, errorType: 'tool_timeout', data: { stopped: 'timeout' } });
  expect(textOf(result, result.llmContent.length - 1)).toBe('[Ended, as it had not ended by itself within 1000 ms.]');
  // On a machine that is very busy it may not have come to that.
  const pids = await readFile(join(folder.root, 'pid'), 'utf8').catch(() => '');
  expect(pidsIn(pids).filter(isRunning)).toEqual([]);
});

describe('what a command leaves running', () => {
  test('is ended with it, and that is said', async () => {
    const folder = await made();
    const call = callerOf(folder.root);
    const result = await expectNoLeaks(() => call('run_shell_command', { command: 'sleep 1000 & echo $!' }));
    expect(pidsIn(textOf(result)).filter(isRunning)).toEqual([]);
    expect(result).toMatchObject({ data: { exitCode: 0, leftBehind: 1 } });
    expect(result.isError).toBeUndefined();
    expect(textOf(result, 1)).toBe('[Ended with it: 1 process in the background.]');
  });

  test('may finish what it is about to: the output of a process substitution is whole', async () => {
    const folder = await made();
    const command = 'seq 1 1000 > >(cat > all)';
    const result = await callerOf(folder.root)('run_shell_command', { command });
    expect((await readFile(join(folder.root, 'all'), 'utf8')).endsWith('\n999\n1000\n')).toBe(true);
    expect(dataOf(result)).toMatchObject({ leftBehind: 0 });
  });

  test.runIf(isLinux)('is not waited for where it hides from us and holds the output open', async () => {
    const folder = await made();
    const fifo = namedPipe(join(folder.root, 'hold'));
    const call = callerOf(folder.root, undefined, { shell: { graceMs: 50 } });
    const command = `setsid env -i ${process.execPath} -e 'require("fs").readFileSync("hold")' & echo done`;
    const result = await expectNoLeaks(() => call('run_shell_command', { command }));
    expect(textOf(result)).toBe('done\n');
    await fifo.write('');
  });
});

test('when the process of the host exits, its commands die with it', async () => {
  const folder = await made();
  const hold = namedPipe(join(folder.outer, 'hold'));
  const script = join(folder.outer, 'host.ts');
  await folder.write(
    'host.ts',
    `import { workspaceTools } from ${JSON.stringify(join(repository, 'src/tools/workspace.ts'))};
     const [tool] = workspaceTools({ root: ${JSON.stringify(folder.root)}, only: ['run_shell_command'] });
     const command = 'exec 9>${hold.path}; sleep 1000 & echo ready; sleep 1000';
     tool.execute({ command }, { signal: new AbortController().signal, progress: () => process.exit(7) });`,
  );
  const jiti = join(repository, 'node_modules/jiti/lib/jiti-cli.mjs');
  const host = spawn(process.execPath, [jiti, script], { stdio: 'inherit' });
  // Ends when nobody is left who could write: neither the command nor what it has in the background.
  const [[code]] = await Promise.all([once(host, 'exit'), hold.readAll()]);
  expect(code).toBe(7);
});

describe('elsewhere than on Linux', () => {
  const platform = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor;
  const pretend = (value: string) => Object.defineProperty(process, 'platform', { ...platform, value });
  afterEach(() => {
    Object.defineProperty(process, 'platform', platform);
  });

  test('what a command leaves in its group is ended', async () => {
    const folder = await made();
    pretend('darwin');
    const result = await callerOf(folder.root)('run_shell_command', { command: 'sleep 1000 & echo $!; exec sleep 0' });
    expect(pidsIn(textOf(result)).slice(0, 1).filter(isRunning)).toEqual([]);
    expect(textOf(result, 1)).toContain('Ended with it: 1 process in the background.');
  });

  test('files are written and edited, and a link that leads outside is refused', async () => {
    const folder = await made({ a: 'one\n' });
    await symlink(folder.outer, join(folder.root, 'link'));
    pretend('darwin');
    const call = callerOf(folder.root);
    await call('write_file', { path: 'x/y/b', content: 'two\n' });
    await call('replace', { path: 'a', old_string: 'one', new_string: 'eins' });
    expect((await call('write_file', { path: 'link/c', content: '' })).isError).toBe(true);
    expect(await readFile(join(folder.root, 'x/y/b'), 'utf8')).toBe('two\n');
    expect(await readFile(join(folder.root, 'a'), 'utf8')).toBe('eins\n');
  });

  test('on Windows no command is run, and that is said', async () => {
    const folder = await made();
    pretend('win32');
    const result = await callerOf(folder.root)('run_shell_command', { command: 'echo x > made' });
    expect(textOf(result)).toBe('Commands need a POSIX system; this one is Windows. Nothing was run.');
  });
});

test('a run that is aborted ends the command of its call, and closing the host waits for that', async () => {
  const folder = await made();
  const pid = namedPipe(join(folder.root, 'pid'));
  const model = scriptedModel([
    {
      toolCalls: [
        { name: 'run_shell_command', args: { command: `trap '' TERM; sleep 1000 & echo $$ $! > pid; wait` } },
      ],
    },
  ]);
  const tools = workspaceTools({ root: folder.root, shell: { graceMs: 20 } });
  const host = createHost({ models: { scripted: model }, tools });
  const run = host.run(agent({ name: 'coder', tools: ['run_shell_command'] }), 'go', { permissionMode: 'autonomous' });
  const reading = pid.readAll();
  const collecting = collect(run);
  const pids = pidsIn(await reading);
  expect(pids.filter(isRunning)).toEqual(pids);
  run.abort('enough');
  expect(ofType(await collecting, 'tool_response').map(({ errorType }) => errorType)).toEqual(['cancelled']);
  await host.close();
  expect(pids.filter(isRunning)).toEqual([]);
});

test('commands of one session do not add up: listeners, timers and processes are as before', async () => {
  const folder = await made();
  const controller = new AbortController();
  const call = callerOf(folder.root, controller.signal);
  await expectNoLeaks(
    async () => {
      for (let round = 0; round < 15; round++) {
        await Promise.all([1, 2, 3].map((n) => call('run_shell_command', { command: `echo ${n}` })));
      }
      expect(process.listenerCount('exit')).toBe(exitListeners);
    },
    { signals: [controller.signal] },
  );
});

const exitListeners = process.listenerCount('exit');
