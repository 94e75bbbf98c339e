import { afterEach, beforeEach, expect, test } from 'vitest';
import { expectNoLeaks, virtualClock } from '../../../src/testing/index.js';
import { createWitness, type Witness } from '../../support/mcp-witness.js';
import { collect } from '../../support/team.js';
import { call, hostileServer, mcpHost, noticesIn, responsesIn, runScript, textIn, toolsIn } from './hosted.js';
import '../../support/process-limit.js';

let witness: Witness;
beforeEach(async () => {
  witness = await createWitness();
});
afterEach(() => witness.close());

/** `work` does wrong; `fine` right after it is answered, by a server that was started again where it had to be. */
const harmed: [string, string, number][] = [
  ['no-result', 'the MCP server "bad" answered with what is no result', 1],
  ['no-message', 'the MCP server "bad" failed: its answer is no MCP message', 1],
  ['huge', 'the MCP server "bad" went away: it sent a message of more than 16 MB', 2],
  ['line', 'the MCP server "bad" went away: it sent a message of more than 16 MB', 2],
  ['chatter', 'the MCP server "bad" went away: it writes what is no MCP message', 2],
  ['mute', 'the MCP server "bad" went away: it closed its output', 2],
  ['leave', 'the MCP server "bad" went away: it exited with code 0', 2],
];

test.each(harmed)('%s: that call fails, and no other', async (kind, said, starts) => {
  await expectNoLeaks(async () => {
    const { events } = await runScript({ servers: { bad: hostileServer(kind, witness.env) } }, [
      call('mcp_bad_work'),
      call('mcp_bad_fine'),
    ]);
    const [work, fine] = responsesIn(events);
    expect(work).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
    expect(textIn(work)).toBe(said);
    expect(textIn(fine)).toBe('fine');
    expect(events.at(-1)).toMatchObject({ reason: 'completed' });
    await witness.allGone();
  });
  expect(witness.events.filter(({ event }) => event === 'started')).toHaveLength(starts);
});

test.each(['hang', 'wrong-id'])('%s: the call ends with its time, and the server is told', async (kind) => {
  const clock = virtualClock();
  const { host, run } = mcpHost(
    { servers: { bad: hostileServer(kind, witness.env) }, callTimeoutMs: 3_000 },
    [call('mcp_bad_work'), call('mcp_bad_fine'), { text: 'done' }],
    { clock },
  );
  const collected = collect(run());
  await witness.event('call');
  await clock.advance(3_000);
  const [work, fine] = responsesIn(await collected);
  expect(work).toMatchObject({ isError: true, errorType: 'mcp_tool_error' });
  expect(textIn(work)).toBe('the MCP server "bad" did not answer within 3000 ms');
  expect(textIn(fine)).toBe('fine');
  await host.close();
  expect(clock.pending).toBe(0);
  // What a process told is here once it is gone.
  await witness.allGone();
  const got = witness.events.map(({ data }) => (data as { method?: string } | undefined)?.method);
  expect(got).toContain('notifications/cancelled');
});

test('without a limit of its own a call has that of the host', async () => {
  const clock = virtualClock();
  const { host, run } = mcpHost(
    { servers: { bad: hostileServer('hang', witness.env) } },
    [call('mcp_bad_work'), { text: 'done' }],
    { clock, limits: { toolTimeoutMs: 700 } },
  );
  const collected = collect(run());
  await witness.event('call');
  await clock.advance(700);
  expect(responsesIn(await collected)).toMatchObject([{ isError: true, errorType: 'tool_timeout' }]);
  await host.close();
});

test('words between messages do no harm', async () => {
  const { events, notices } = await runScript({ servers: { bad: hostileServer('log') } }, [call('mcp_bad_work')]);
  expect(responsesIn(events).map(textIn)).toEqual(['worked']);
  expect(notices).toEqual([]);
});

test('a server without tools has none', async () => {
  const { tools, notices } = await runScript({ servers: { bad: hostileServer('toolless', witness.env) } }, []);
  expect(tools).toEqual([]);
  expect(notices).toEqual([]);
  expect(witness.events.map(({ event }) => event)).not.toContain('listed');
});

test.each([
  ['endless', 100, 'has a list of tools that does not end; the rest is left out'],
  ['crowd', 1_000, 'has a list of tools that does not end; the rest is left out'],
  ['circle', 2, 'lists 2 tools that are none, or that it has listed before; they are left out; it has a list'],
  ['no-list', 0, undefined],
])('%s: %i tools are taken, and it is told once', async (kind, count, said) => {
  const { tools, notices } = await runScript({ servers: { bad: hostileServer(kind) } }, []);
  expect(tools).toHaveLength(count);
  if (said === undefined) expect(notices).toEqual([]);
  else expect(notices).toMatchObject([{ code: 'MCP_TOOLS_LEFT_OUT', text: expect.stringContaining(said) }]);
});

test('names that are none, stand twice, or reach for prototypes: each tool has one valid name, and runs as itself', async () => {
  const { host, run } = mcpHost({ servers: { bad: hostileServer('names', witness.env) } }, [
    call('mcp_bad___proto__'),
    call('mcp_bad_constructor'),
    call('mcp_bad_toString'),
    { text: 'done' },
  ]);
  const events = await collect(run());
  const tools = toolsIn(events);
  const names = tools.map(({ name }) => name);
  expect(names).toHaveLength(8);
  expect(new Set(names).size).toBe(8);
  for (const name of names) expect(name).toMatch(/^mcp_bad_[\w.:/-]{1,56}$/);
  expect(names).toEqual(expect.arrayContaining(['mcp_bad___proto__', 'mcp_bad_constructor', 'mcp_bad_twice']));
  expect(tools.find(({ name }) => name === 'mcp_bad_twice')?.description).toBe('the first');
  expect(names.filter((name) => name.startsWith('mcp_bad_xxx'))).toHaveLength(2);
  expect(responsesIn(events).map(textIn)).toEqual(['ran __proto__', 'ran constructor', 'ran toString']);
  expect(noticesIn(events)).toMatchObject([{ code: 'MCP_TOOLS_LEFT_OUT', text: expect.stringContaining('lists 4') }]);
  await host.close();
});

test('words of a server are shown without what cannot be seen, and not without end', async () => {
  const { tools } = await runScript({ servers: { bad: hostileServer('words') } }, []);
  expect(tools).toHaveLength(1);
  expect(tools[0]?.displayName).toBe('Harmless');
  expect(tools[0]?.description).toMatch(/^Line one\.\nLine two\. very very/);
  expect(tools[0]?.description.length).toBeLessThanOrEqual(10_000);
});

test('schemas are read in their own draft; what cannot be used is passed unchecked, with one notice', async () => {
  const any = { whatever: [1] };
  const { events, notices, tools } = await runScript({ servers: { bad: hostileServer('schemas') } }, [
    ...['banana', 'nowhere', 'elsewhere', 'itself', 'deep', 'list', 'text', 'nothing'].map((name) =>
      call(`mcp_bad_${name}`, any),
    ),
    call('mcp_bad_seven', { pair: ['x', 1, 'more'] }),
    call('mcp_bad_seven', { pair: ['x', 1] }),
    call('mcp_bad_nineteen', { n: 'x' }),
    call('mcp_bad_slow', { a: `${'a'.repeat(50)}!`, [`${'b'.repeat(50)}!`]: 1 }),
    call('mcp_bad_slow', { a: 5 }),
    call('mcp_bad_output'),
    call('mcp_bad_badoutput'),
  ]);
  const answers = responsesIn(events).map((event) => [event.name.slice(8), event.errorType ?? textIn(event)]);
  expect(answers).toEqual([
    ['banana', 'ran banana'],
    ['nowhere', 'ran nowhere'],
    ['elsewhere', 'ran elsewhere'],
    ['itself', 'ran itself'],
    ['deep', 'ran deep'],
    ['list', 'ran list'],
    ['text', 'ran text'],
    ['nothing', 'ran nothing'],
    ['seven', 'invalid_tool_params'],
    ['seven', 'ran seven'],
    ['nineteen', 'invalid_tool_params'],
    ['slow', 'ran slow'],
    ['slow', 'invalid_tool_params'],
    ['output', 'mcp_tool_error'],
    ['badoutput', 'see data'],
  ]);
  expect(notices).toMatchObject([{ code: 'MCP_SCHEMA_UNCHECKED' }]);
  for (const name of ['banana', 'nowhere', 'elsewhere', 'deep', 'list', 'text', 'nothing']) {
    expect(notices[0]?.text).toContain(`mcp_bad_${name} (`);
  }
  expect(notices[0]?.text).not.toContain('mcp_bad_seven');
  expect(tools.find(({ name }) => name === 'mcp_bad_banana')?.parametersSchema).toEqual({
    type: 'object',
    properties: { a: { description: 'An a.' } },
  });
});

test('content that is none becomes words, and half a character none', async () => {
  const { events } = await runScript({ servers: { bad: hostileServer('odd-parts') } }, [call('mcp_bad_work')]);
  expect(responsesIn(events)[0]?.llmContent).toEqual([
    { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    { type: 'text', text: '[image that cannot be read]' },
    { type: 'text', text: 'half \ufffd a pair' },
  ]);
});

test('data nested beyond what a log can hold fails its call only', async () => {
  const { events } = await runScript({ servers: { bad: hostileServer('deep') } }, [
    call('mcp_bad_work'),
    call('mcp_bad_fine'),
  ]);
  const [work, fine] = responsesIn(events);
  expect(work).toMatchObject({ isError: true });
  expect(work).not.toHaveProperty('data');
  expect(textIn(fine)).toBe('fine');
});

test('a flood of progress is shown in part, and the call is answered', async () => {
  const { events } = await runScript({ servers: { bad: hostileServer('flood') } }, [call('mcp_bad_work')]);
  expect(responsesIn(events).map(textIn)).toEqual(['flooded']);
  const updates = events.filter((event) => event.type === 'tool_update' && event.data !== undefined);
  expect(updates).toHaveLength(1_000);
});

test('roots, a model, pages and what nobody knows are refused politely', async () => {
  const { events } = await runScript({ servers: { bad: hostileServer('requests', witness.env) } }, [
    call('mcp_bad_work'),
  ]);
  expect(responsesIn(events).map(textIn)).toEqual(['asked']);
  const got = new Map(
    witness.events.flatMap(({ data }) => {
      const { id, error, result } = (data ?? {}) as { id?: unknown; error?: { code: number }; result?: unknown };
      return typeof id === 'string' ? [[id, error?.code ?? result] as const] : [];
    }),
  );
  expect(Object.fromEntries(got)).toEqual({ a: -32601, b: -32601, c: -32601, d: {}, e: -32602 });
});

test('a list that does not come when it has changed holds up no run', async () => {
  const clock = virtualClock();
  const { host, run } = mcpHost(
    { servers: { bad: hostileServer('hang-relist', witness.env) }, connectTimeoutMs: 2_000 },
    [call('mcp_bad_work'), { text: 'one' }, call('mcp_bad_fine'), { text: 'two' }],
    { clock },
  );
  await collect(run());
  await witness.event('listed', 2);
  const second = collect(run());
  await clock.advance(2_000);
  const events = await second;
  expect(responsesIn(events).map(textIn)).toEqual(['fine']);
  expect(noticesIn(events)).toMatchObject([{ code: 'MCP_LIST_FAILED' }]);
  await host.close();
  expect(clock.pending).toBe(0);
});

test('a list that fails when it has changed is told, and the tools stay', async () => {
  const { host, run } = mcpHost({ servers: { bad: hostileServer('relist-fails', witness.env) } }, [
    call('mcp_bad_work'),
    { text: 'one' },
    call('mcp_bad_fine'),
    { text: 'two' },
  ]);
  const first = await collect(run());
  await witness.event('listed', 2);
  const second = await collect(run());
  expect(responsesIn(second).map(textIn)).toEqual(['fine']);
  expect([...noticesIn(first), ...noticesIn(second)]).toMatchObject([
    { code: 'MCP_LIST_FAILED', text: expect.stringContaining('no list today') },
  ]);
  await host.close();
});

test('a server that says without end that its list has changed is asked 60 times a minute at most, and told of once', async () => {
  const { host, run } = mcpHost({ servers: { bad: hostileServer('restless', witness.env) } }, [
    call('mcp_bad_work'),
    { text: 'one' },
    call('mcp_bad_fine'),
    { text: 'two' },
  ]);
  const first = await collect(run());
  await witness.event('listed', 61);
  const second = await collect(run());
  expect(responsesIn(second).map(textIn)).toEqual(['fine']);
  expect(witness.events.filter(({ event }) => event === 'listed')).toHaveLength(61);
  expect([...noticesIn(first), ...noticesIn(second)]).toMatchObject([{ code: 'MCP_TOOLS_LEFT_OUT' }]);
  await host.close();
});
