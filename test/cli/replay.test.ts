import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ReplayCommand, replayCommand } from '../../src/cli/replay.js';
import type { AgentDefinition, AgentEvent } from '../../src/contracts/index.js';
import { agent } from '../../src/define/agent.js';
import { loadScriptFile } from '../../src/define/files/script.js';
import { hierarchical } from '../../src/define/hierarchical.js';
import { sequential } from '../../src/define/sequential.js';
import { tool } from '../../src/define/tool.js';
import { createHost } from '../../src/index.js';
import { type Script, scriptedModel } from '../../src/models/scripted.js';
import { fileStore } from '../../src/stores/file.js';
import { asked, calls, confirms, ends, eventList, initialize, returns, says } from './event-list.js';
import { fakeIo } from './fake-io.js';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'troupe-replay-'));
});
afterEach(() => rm(cwd, { recursive: true }));

const store = () => fileStore({ dir: join(cwd, '.troupe') });

async function replay(command: Omit<ReplayCommand, 'session'>, io = fakeIo({ cwd }), session = 's1') {
  const waits: number[] = [];
  const code = await replayCommand({ session, ...command }, io, {
    store: store(),
    wait: async (ms) => void waits.push(ms),
  });
  return { code, waits, io };
}

async function stored(events: readonly AgentEvent[], id = 's1') {
  const handle = await store().create('desk', { id });
  for (const event of events) await handle.append(event);
  await handle.close();
  return events;
}

const at = (seconds: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') + seconds * 1_000).toISOString();

const one = () =>
  eventList(
    { ...initialize('desk'), at: at(0) },
    { ...asked('What is x?'), at: at(1) },
    { ...calls('search', { q: 'x' }), at: at(1.5) },
    { ...returns('search'), at: at(86_400) },
    { ...says('x is\nit'), at: at(86_401) },
    { ...ends('completed'), data: { result: 'x is\nit' }, at: at(86_401) } as never,
  );

test('a log is shown as the run was: its result on stdout, what happened on stderr', async () => {
  await stored(one());
  const { code, io, waits } = await replay({});
  expect([code, io.stdout.text]).toEqual([0, 'x is\nit\n']);
  expect(io.stderr.text).toMatch(/› What is x\?\n.*calls search.*got search.*completed/s);
  // There is nobody who looks.
  expect(waits).toEqual([]);
  expect(io.listening).toBe(0);
});

test('--json gives the events as they are stored, and nothing else', async () => {
  const events = await stored(one());
  const { io } = await replay({ json: true });
  expect(
    io.stdout.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AgentEvent),
  ).toEqual(events);
  expect(io.stderr.text).toBe('');
});

test('pauses are those of the log, so many times shorter, and none is long', async () => {
  await stored(one());
  const terminal = () => fakeIo({ cwd, terminal: true, env: { NO_COLOR: '1' } });
  expect((await replay({}, terminal())).waits).toEqual([1_000, 500, 2_000, 1_000]);
  expect((await replay({ speed: '4' }, terminal())).waits).toEqual([250, 125, 2_000, 250]);
  expect((await replay({ speed: '0' }, terminal())).waits).toEqual([]);
  expect((await replay({ speed: '2' })).waits).toEqual([500, 250, 2_000, 500]);
});

test('a terminal shows the tree with the times of the log', async () => {
  await stored(one());
  const { io } = await replay({ speed: '0' }, fakeIo({ cwd, terminal: true, env: { NO_COLOR: '1' } }));
  expect(io.stderr.text).toContain('✓ desk  completed');
  expect(io.stderr.text).toContain('1440m 1s');
});

test('Ctrl-C ends it', async () => {
  await stored(one());
  const io = fakeIo({ cwd, terminal: true, env: { NO_COLOR: '1' } });
  const code = await replayCommand({ session: 's1' }, io, {
    store: store(),
    wait: async () => io.raise('SIGINT'),
  });
  expect([code, io.stdout.text, io.listening]).toEqual([130, '', 0]);
});

test('what a log says cannot steer the terminal', async () => {
  await stored(
    eventList(initialize('desk'), asked('\u001b[2J'), says('\u001b]0;gotcha\u0007'), confirms('c1', 'x'), {
      ...ends('completed'),
      data: { result: '\u202ea' },
    } as never),
  );
  const { io } = await replay({}, fakeIo({ cwd, terminal: true, env: { NO_COLOR: '1', TERM: 'dumb' } }));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  expect(io.stdout.text + io.stderr.text).not.toMatch(/[\u001b\u0007\u202e]/);
});

test.each([
  [{ speed: 'fast' }, '--speed takes how many times as fast'],
  [{ speed: '-1' }, '--speed takes how many times as fast'],
  [{ to: 'said.yaml' }, 'a name that ends with .json'],
  [{ to: 'said.json' }, 'has no answer of a model'],
])('bad use is refused: %j', async (command, message) => {
  await stored(eventList(initialize('desk')));
  await expect(replay(command)).rejects.toThrow(message);
});

test('a session that is not there is told', async () => {
  await expect(replay({}, fakeIo({ cwd }), 'nobody')).rejects.toThrow('nobody');
});

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } } } as const,
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const member = (name: string) => agent({ name, description: name, model: 'scripted', tools: [look] });
const teams: [string, AgentDefinition, Script][] = [
  [
    'a sequence',
    sequential({ name: 'pair', children: [member('first'), member('second')] }) as never,
    {
      byAgent: {
        first: [
          {
            thought: 'hm',
            text: 'I look.',
            toolCalls: [
              { name: 'look', args: { at: 'a' } },
              { name: 'look', args: { at: 'b' } },
            ],
          },
          { text: ['It is ', 'red.'], usage: { inputTokens: 3, outputTokens: 2 } },
        ],
        second: [{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'Red, then.' }],
      },
    },
  ],
  [
    'a leader',
    hierarchical({ name: 'lead', agent: member('chief'), children: [member('helper')] }) as never,
    {
      byAgent: {
        chief: [{ toolCalls: [{ name: 'helper', args: { prompt: 'help' } }] }, { text: 'All done.' }],
        helper: [{ text: 'Helped.' }],
      },
    },
  ],
];

test.each(teams)('--to writes a script that says what the models of %s said', async (_name, team, script) => {
  const said = async (model: ReturnType<typeof scriptedModel>, sessionId: string) => {
    const host = createHost({ models: { scripted: model }, store: store() });
    const { reason } = await host.run(team, 'go', { sessionId }).result;
    await host.close();
    model.assertConsumed();
    const log: unknown[] = [];
    for await (const event of (await store().load(sessionId)).events)
      if (event.type === 'message') log.push([event.threadId, event.role, event.content]);
      else if (event.type === 'tool_request') log.push([event.threadId, event.name, event.args]);
      else if (event.type === 'usage') log.push([event.threadId, event.inputTokens, event.outputTokens]);
    return { reason, log: log.map((one) => JSON.stringify(one)) };
  };
  const before = await said(scriptedModel(script), 's1');
  const { code, io } = await replay({ to: 'said.json' });
  expect([code, io.stderr.text]).toEqual([0, '']);
  expect(io.stdout.text).toMatch(/^\d model calls of 2 agents in said\.json: --script said\.json answers from it\n$/);
  expect((await stat(join(cwd, 'said.json'))).mode & 0o777).toBe(0o600);
  const after = await said(scriptedModel(await loadScriptFile(join(cwd, 'said.json'))), 's2');
  expect(after).toEqual(before);
  await expect(replay({ to: 'said.json' })).rejects.toThrow('EEXIST');
});

test('keys are not written into a script', async () => {
  const key = `sk-${'a1'.repeat(12)}`;
  await stored(eventList(initialize('desk'), { ...says(`the key is ${key}`), by: 'desk' }));
  await replay({ to: 'said.json' });
  const text = await readFile(join(cwd, 'said.json'), 'utf8');
  expect(text).toContain('the key is [secret]');
});
