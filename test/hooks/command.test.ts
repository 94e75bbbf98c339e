import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { HookPoint, HookResult, Sandbox } from '../../src/contracts/index.js';
import { createHookChain } from '../../src/hooks/chain.js';
import { agent, commandHook, createHost, hookSchemas, TroupeError, tool } from '../../src/index.js';
import { HOOK_POINTS } from '../../src/kernel/hook-points.js';
import { validateJson } from '../../src/kernel/schema.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';
import { isRunning, pidsIn } from '../tools/processes.js';
import '../support/process-limit.js';

const folder = mkdtempSync(join(tmpdir(), 'troupe-hooks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const base = { sessionId: 's', principalPath: 'a', mode: 'default' };
const payloads = {
  before_tool: { ...base, tool: 'write', args: { path: 'a' }, requestId: 'c1' },
  before_model: { ...base, request: { messages: [] } },
  after_run: { ...base, reason: 'completed' },
  before_agent: { ...base, prompt: [{ type: 'text', text: 'go' }] },
};
type Tried = keyof typeof payloads;

let scripts = 0;
/** A line that runs a script of Node, which has `input` and `done(answer, code)`. */
function node(script: string): string {
  const path = join(folder, `hook-${++scripts}.mjs`);
  writeFileSync(
    path,
    `import { readFileSync } from 'node:fs';
const read = () => JSON.parse(readFileSync(0, 'utf8'));
${script}`,
  );
  return `"${process.execPath}" "${path}"`;
}

const fire = (point: Tried, command: string, options: object = {}): Promise<HookResult> =>
  createHookChain([commandHook({ point, command, name: 'hook', ...options })])?.fire(
    point,
    payloads[point],
  ) as Promise<HookResult>;

test('it is told its point and its payload as JSON, and answers in JSON', async () => {
  const command = node(
    'const { point, tool, args } = read(); console.log(JSON.stringify({ decision: "allow", hookSpecificOutput: { args: { path: [point, tool, args.path].join() } } }))',
  );
  expect(await fire('before_tool', command)).toEqual({
    action: 'proceed',
    modifications: { args: { path: 'before_tool,write,a' } },
  });
});

test.each([
  ['block', 'block'],
  ['deny', 'block'],
  ['ask', 'ask'],
  ['approve', 'proceed'],
  ['allow', 'proceed'],
])('decision %s is %s', async (decision, action) => {
  const said = await fire('before_tool', `echo '{"decision":"${decision}","reason":"so"}'`);
  expect(said.action).toBe(action);
});

test('an empty output with exit code 0 is consent', async () => {
  expect(await fire('before_tool', 'true')).toEqual({ action: 'proceed' });
});

test('exit code 1 is a warning', async () => {
  expect(await fire('before_tool', 'echo odd >&2; exit 1')).toEqual({
    action: 'proceed',
    _meta: { notices: [{ code: 'HOOK_FAILED', text: 'hook: odd' }] },
  });
});

test.each([2, 3, 127])('exit code %s blocks, whatever stdout says, with stderr as the reason (B143)', async (code) => {
  const noise = `echo '{"decision":"allow"}'; echo more; echo 'not on a Friday' >&2; exit ${code}`;
  expect(await fire('before_agent', noise)).toEqual({ action: 'block', reason: 'not on a Friday' });
});

test('a program that is not there blocks', async () => {
  expect((await fire('before_agent', '/nowhere/to/be/found')).action).toBe('block');
  expect((await fire('before_tool', '/nowhere/to/be/found', { args: [] })).action).toBe('block');
});

const misunderstood: [string, string][] = [
  ['noise before the JSON', `echo 'log line'; echo '{"decision":"deny"}'`],
  ['no JSON', 'echo hello'],
  ['JSON that is no object', 'echo 42'],
  ['a decision that nobody knows', `echo '{"decision":"maybe"}'`],
  ['a key that nobody knows', `echo '{"decison":"deny"}'`],
  ['a change that is not to be had there', `echo '{"hookSpecificOutput":{"tool_input":{}}}'`],
];
test.each(misunderstood)('%s blocks at a guard; elsewhere it is shown, with a notice (B143)', async (_, command) => {
  for (const point of ['before_tool', 'before_model'] as const) {
    expect(await fire(point, command)).toEqual({
      action: 'block',
      reason: expect.stringContaining('what hook says is not understood'),
    });
  }
  expect(await fire('before_agent', command)).toEqual({
    action: 'proceed',
    systemMessage: expect.any(String),
    _meta: { notices: [{ code: 'HOOK_OUTPUT_UNKNOWN', text: expect.stringContaining('is not understood') }] },
  });
});

/** Waits until a file says something. */
async function written(path: string): Promise<string> {
  for (;;) {
    try {
      const text = readFileSync(path, 'utf8');
      if (text.endsWith('\n')) return text;
    } catch {
      // Not yet there.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await new Promise((resolve) => setImmediate(resolve));
}

test.each([
  [
    'before_tool',
    { action: 'block', reason: expect.stringMatching(/^the hook "sleep 1000 .*" did not answer within 60 s$/) },
  ],
  [
    'before_model',
    { action: 'block', reason: expect.stringMatching(/^the hook "sleep 1000 .*" did not answer within 60 s$/) },
  ],
  [
    'before_agent',
    {
      action: 'proceed',
      _meta: { faults: [expect.stringMatching(/^the hook "sleep 1000 .*" did not answer within 60 s$/)] },
    },
  ],
] as const)('one that never ends is ended after a minute, with all that it started: %s (B143)', async (point, said) => {
  const clock = virtualClock();
  const pids = join(folder, `pids-${point}`);
  const command = `sleep 1000 & echo $$ $! > ${pids}; wait`;
  const chain = createHookChain([commandHook({ point, command })], { clock });
  const fired = chain?.fire(point, payloads[point]);
  const running = pidsIn(await written(pids));
  expect(running.filter(isRunning)).toHaveLength(2);
  await clock.advance(60_000);
  expect(await fired).toEqual(said);
  await gone(running);
  expect(clock.pending).toBe(0);
});

test('timeoutMs is its own', async () => {
  const clock = virtualClock();
  const chain = createHookChain([commandHook({ point: 'before_tool', command: 'sleep 1000', timeoutMs: 500 })], {
    clock,
  });
  const fired = chain?.fire('before_tool', payloads.before_tool);
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(500);
  expect(await fired).toMatchObject({ action: 'block', reason: 'the hook "sleep 1000" did not answer within 0.5 s' });
  await chain?.close?.();
});

test('what it leaves running goes with it, and does not hold its answer up', async () => {
  const pids = join(folder, 'pids-left');
  const said = await fire('before_tool', `sleep 1000 & echo $! > ${pids}; echo '{"decision":"deny"}'`);
  expect(said.action).toBe('block');
  await gone(pidsIn(readFileSync(pids, 'utf8')));
});

test('closing the host ends what hooks have under way', async () => {
  const pids = join(folder, 'pids-close');
  const host = createHost({
    models: { scripted: scriptedModel([{ text: 'ok' }]) },
    hooks: [commandHook({ point: 'before_agent', command: `sleep 1000 & echo $$ $! > ${pids}; wait` })],
  });
  const run = host.run(agent({ name: 'a' }), 'go');
  const running = pidsIn(await written(pids));
  await host.close();
  expect((await run.result).reason).toBe('aborted');
  await gone(running);
});

const big = 'x'.repeat(5_000_000);

test('5 MB go in and out; who reads nothing of it does no harm (B148)', async () => {
  const told = { ...payloads.before_tool, args: { big } };
  const say = (command: string) =>
    createHookChain([commandHook({ point: 'before_tool', command })])?.fire('before_tool', told);
  const echo = node('process.stdout.write(JSON.stringify({ hookSpecificOutput: { args: read().args } }))');
  expect(await say(echo)).toEqual({ action: 'proceed', modifications: { args: { big } } });
  expect(await say('true')).toEqual({ action: 'proceed' });
  expect(await say('head -c 10 >/dev/null; exec 0<&-; echo no >&2; exit 2')).toEqual({ action: 'block', reason: 'no' });
});

test('one that reads nothing and never ends is ended in its time, with 5 MB waiting for it (B148)', async () => {
  const clock = virtualClock();
  const chain = createHookChain([commandHook({ point: 'before_tool', command: 'sleep 1000' })], { clock });
  const fired = chain?.fire('before_tool', { ...payloads.before_tool, args: { big } });
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(60_000);
  expect((await fired)?.action).toBe('block');
  await chain?.close?.();
});

test('output without end is cut off, and is no consent', async () => {
  const said = await fire('before_tool', 'yes');
  expect(said).toMatchObject({ action: 'block', reason: expect.stringContaining('longer than is taken') });
});

test('it is given the project, and no keys and tokens', async () => {
  const before = { ...process.env };
  Object.assign(process.env, { OPENAI_API_KEY: 'k', GITHUB_TOKEN: 't', BASH_ENV: '/x', LANG: 'C.UTF-8' });
  process.env.PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  try {
    const command = `${node('console.log(JSON.stringify({ hookSpecificOutput: { args: { env: process.env, cwd: process.cwd() } } }))')}`;
    const said = await fire('before_tool', command, { projectDir: folder, env: { MINE: '1' } });
    const given = said.modifications?.args as { env: Record<string, string>; cwd: string };
    const { env, cwd } = given;
    expect(cwd).toBe(folder);
    expect(env).toMatchObject({ TROUPE_PROJECT_DIR: folder, MINE: '1', LANG: 'C.UTF-8' });
    expect(Object.keys(env).filter((name) => /KEY|TOKEN|BASH_ENV/.test(name))).toEqual([]);
    expect(env.PATH).not.toContain(folder);
  } finally {
    process.env = before;
  }
});

test('with args a program is started without a shell', async () => {
  const said = await fire('before_tool', process.execPath, {
    args: [
      '-e',
      'console.log(JSON.stringify({ hookSpecificOutput: { args: { given: process.argv[1] } } }))',
      '$HOME;x',
    ],
  });
  expect(said.modifications).toEqual({ args: { given: '$HOME;x' } });
});

test('a sandbox is never left out', async () => {
  const wrapped: unknown[] = [];
  const sandbox = (works: boolean): Sandbox => ({
    available: async () => works,
    wrap(command, args, { root }) {
      wrapped.push([command, args, root]);
      return { command: '/bin/sh', args: ['-c', `echo '{"decision":"deny","reason":"in the sandbox"}'`] };
    },
  });
  const options = { projectDir: folder };
  expect(await fire('before_tool', 'true', { ...options, sandbox: sandbox(true) })).toMatchObject({
    reason: 'in the sandbox',
  });
  expect(wrapped).toEqual([['/bin/sh', ['-c', 'true'], folder]]);
  expect(await fire('before_tool', 'true', { ...options, sandbox: sandbox(false) })).toMatchObject({ action: 'block' });
});

test('continue: false ends the run; suppressOutput hides what it says', async () => {
  expect(await fire('before_agent', `echo '{"continue":false,"stopReason":"enough"}'`)).toMatchObject({
    continue: false,
    stopReason: 'enough',
  });
  expect(await fire('before_agent', `echo '{"suppressOutput":true,"systemMessage":"psst"}'`)).toEqual({
    action: 'proceed',
  });
});

test('what is wrong with its options is said at once, all of it', () => {
  const make = () => commandHook({ point: 'before_tol', command: ' ', timeoutMs: -1, arg: [] } as never);
  expect(make).toThrow(TroupeError);
  try {
    make();
  } catch (thrown) {
    expect((thrown as TroupeError).problems.map(({ path }) => path)).toEqual([
      'commandHook.arg',
      'commandHook.point',
      'commandHook.command',
      'commandHook.timeoutMs',
    ]);
  }
});

test('every payload that a host sends fits the published schema, and every point has one', async () => {
  expect(Object.keys(hookSchemas).sort()).toEqual([...HOOK_POINTS].sort());
  const log = join(folder, 'payloads');
  const save = (point: HookPoint) =>
    commandHook({
      point,
      command: process.execPath,
      args: ['-e', `require('fs').appendFileSync(${JSON.stringify(log)}, require('fs').readFileSync(0))`],
    });
  const flaky = tool({
    name: 'flaky',
    description: 'Fails.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute() {
      throw new Error('boom');
    },
  });
  const model = scriptedModel([
    { toolCalls: [{ name: 'flaky', args: {} }] },
    { error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 1 } },
    { error: { code: 'INVALID_ARGUMENT', message: 'no' } },
  ]);
  const host = createHost({
    models: { scripted: model },
    hooks: HOOK_POINTS.filter((point) => point !== 'after_agent' && point !== 'after_model').map(save),
  });
  host.registerExecutor('compacting', () => ({
    async turn(_, context) {
      await context.fireHook('pre_compress', { trigger: 'auto' });
      return { reason: 'completed' };
    },
  }));
  await host.run(agent({ name: 'a', tools: [flaky] }), 'go').result;
  await host.run(agent({ name: 'b', executor: 'compacting' }), 'go').result;
  await host.close();
  const ends = createHost({
    models: { scripted: scriptedModel([{ text: 'ok' }]) },
    hooks: [save('after_agent'), save('after_model')],
  });
  await ends.run(agent({ name: 'a' }), 'go').result;
  await ends.close();
  const sent = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { point: HookPoint });
  expect([...new Set(sent.map(({ point }) => point))].sort()).toEqual([...HOOK_POINTS].sort());
  for (const payload of sent) {
    expect([payload.point, await validateJson(hookSchemas[payload.point].input, payload)]).toEqual([payload.point, []]);
  }
});

test('in a run: a command hook changes what a tool is given, and its warning is a notice', async () => {
  const seen: unknown[] = [];
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
    annotations: { readOnly: true },
    execute: (args) => void seen.push(args),
  });
  const host = createHost({
    models: { scripted: scriptedModel([{ toolCalls: [{ name: 'write', args: { path: 'a' } }] }, { text: 'ok' }]) },
    hooks: [
      commandHook({
        point: 'before_tool',
        command: `echo '{"hookSpecificOutput":{"args":{"path":"b"}},"systemMessage":"moved"}'`,
      }),
      commandHook({ point: 'after_tool', command: 'echo odd >&2; exit 1', name: 'audit' }),
    ],
  });
  const events = await collect(host.run(agent({ name: 'a', tools: [write] }), 'go'));
  await host.close();
  expect(seen).toEqual([{ path: 'b' }]);
  expect(ofType(events, 'custom').map(({ kind, data }) => [kind, data])).toEqual([
    ['hook_message', { point: 'before_tool', text: 'moved' }],
    ['notice', { code: 'HOOK_FAILED', severity: 'warning', text: 'after_tool: audit: odd' }],
  ]);
});
