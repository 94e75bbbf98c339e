import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createHookChain } from '../../src/hooks/chain.js';
import { agent, commandHook, createHost, tool } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { isRunning, pidsIn } from '../tools/processes.js';

const folder = mkdtempSync(join(tmpdir(), 'troupe-hook-ends-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const file = () => join(folder, `pids-${++files}`);

/** The numbers in a file, once it has a line. */
async function pidsOf(path: string): Promise<number[]> {
  for (;;) {
    try {
      const text = readFileSync(path, 'utf8');
      if (text.endsWith('\n')) return pidsIn(text);
    } catch {
      // Not yet there.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await new Promise((resolve) => setImmediate(resolve));
}

const write = tool({ name: 'write', description: 'Writes.', parameters: { type: 'object' }, execute: () => 'written' });

/** A run whose one call waits for the hook; `command` writes the numbers of its processes to a file. */
function held(command: (path: string) => string) {
  const path = file();
  const host = createHost({
    models: { scripted: scriptedModel([{ toolCalls: [{ name: 'write', args: {} }] }, { text: 'done' }]) },
    tools: [write],
    policy: [{ rules: [{ toolName: '*', decision: 'allow' }] }],
    hooks: [commandHook({ point: 'before_tool', command: command(path) })],
  });
  const run = host.run(agent({ name: 'writer', tools: ['write'] }), 'Write.');
  return { host, run, path, events: collect(run) };
}

test('a run that is aborted ends the hook that it waits for, at once, with all that it started', async () => {
  const { host, run, path, events } = held((pids) => `sleep 1000 & echo $$ $! > ${pids}; wait`);
  const pids = await pidsOf(path);
  run.abort('enough');
  expect((await run.result).reason).toBe('aborted');
  await gone(pids);
  expect(ofType(await events, 'tool_response')).toMatchObject([{ isError: true }]);
  await host.close();
});

test('one that is deaf to SIGTERM is ended all the same', async () => {
  const { host, run, path } = held((pids) => `trap '' TERM; echo $$ > ${pids}; while :; do sleep 0.05; done`);
  const pids = await pidsOf(path);
  run.abort();
  await run.result;
  await gone(pids);
  await host.close();
});

test.skipIf(process.platform !== 'linux')(
  'a process that has taken a session of its own is found and ended, when its hook is stopped and when it ends',
  async () => {
    const { host, run, path } = held((pids) => `setsid sh -c 'echo $$ > ${pids}; exec sleep 1000' & wait`);
    const pids = await pidsOf(path);
    run.abort();
    await run.result;
    await gone(pids);
    await host.close();
    const other = file();
    const command = `setsid sh -c 'echo $$ > ${other}; exec sleep 1000' >&- 2>&- <&- & while ! [ -s ${other} ]; do :; done`;
    const base = { sessionId: 's', principalPath: 'a', mode: 'default' };
    const chain = createHookChain([commandHook({ point: 'before_agent', command })]);
    expect(await chain?.fire('before_agent', { ...base, prompt: [] })).toEqual({ action: 'proceed' });
    await gone(await pidsOf(other));
  },
);

test('what is stopped of one thread leaves the hooks of the others alone', async () => {
  const aborted: string[] = [];
  const open = createHookChain([
    {
      point: 'before_tool' as const,
      run: ({ sessionId, threadId = '' }, call) =>
        new Promise((resolve) => {
          call?.signal.addEventListener('abort', () => {
            aborted.push(`${sessionId}/${threadId}`);
            resolve(undefined);
          });
        }),
    },
  ]);
  const at = (sessionId: string, threadId?: string) =>
    open?.fire('before_tool', {
      sessionId,
      ...(threadId !== undefined && { threadId }),
      principalPath: 'a',
      mode: 'default',
      tool: 'write',
      args: {},
    });
  const fired = [at('s'), at('s', 'a_1'), at('s', 'a_1.b_1'), at('s', 'a_10'), at('t', 'a_1')];
  open?.cancel?.('s', 'a_1', 'recalled');
  expect(aborted).toEqual(['s/a_1', 's/a_1.b_1']);
  open?.cancel?.('s', undefined, 'stopped');
  expect(aborted).toEqual(['s/a_1', 's/a_1.b_1', 's/', 's/a_10']);
  open?.cancel?.('t', undefined, 'stopped');
  await Promise.all(fired);
  await open?.close?.();
});
