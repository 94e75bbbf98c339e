import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent, Executor } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, leaf, ofType, settle } from '../support/team.js';
import { boom, call, endsIn, gate, hostWith, runTeam, startedIn, textsGiven, until } from '../support/teams.js';

const restarts = (events: readonly AgentEvent[]) =>
  ofType(events, 'agent_started').map((event) => [event.threadId, event._meta?.restartOf]);
const onFailure = { restart: 'on_failure' } as const;

/** A tool that does something; it may not be repeated. */
const act = tool({ name: 'act', description: 'Acts.', parameters: { type: 'object' }, execute: () => 'done' });
const acts = { host: {}, run: { permissionMode: 'autonomous' } } as const;

test('a child that fails starts again as a new thread, with the same input', async () => {
  const team = sequential({
    name: 's',
    children: [leaf('a'), leaf('b'), leaf('c')],
    supervise: { children: { b: onFailure } },
  });
  const { events, result, model } = await runTeam(team, {
    a: [{ text: 'A' }],
    b: [boom(), { text: 'B' }],
    c: [{ text: 'C' }],
  });
  expect(restarts(events)).toEqual([
    ['a_1', undefined],
    ['b_2', undefined],
    ['b_3', 'b_2'],
    ['c_4', undefined],
  ]);
  expect(endsIn(events)).toEqual(['a_1: completed', 'b_2: failed', 'b_3: completed', 'c_4: completed', '-: completed']);
  expect(textsGiven(model, 'b', 1)).toEqual(['A']);
  expect(result).toMatchObject({ ok: true, data: { results: { a: 'A', b: 'B', c: 'C' } } });
  expect(result.data).not.toHaveProperty('failures');
});

test('without a rule nothing starts again, and once is the most by default', async () => {
  const children = () => [leaf('a')] as const;
  const never = await runTeam(parallel({ name: 'p', children: children() }), { a: [boom()] });
  expect(startedIn(never.events)).toEqual(['a']);
  const once = parallel({ name: 'p', children: children(), supervise: { children: { a: onFailure } } });
  const { events, result } = await runTeam(once, { a: [boom('one'), boom('two')] });
  expect(startedIn(events)).toEqual(['a', 'a']);
  expect(result).toMatchObject({ reason: 'failed', data: { message: 'a: two' } });
});

test('maxRestarts bounds it; then the failure goes up', async () => {
  const team = parallel({
    name: 'p',
    children: [leaf('a'), leaf('b')],
    supervise: { children: { a: { ...onFailure, maxRestarts: 3 } } },
  });
  const { events, result } = await runTeam(team, { a: () => boom(), b: [{ text: 'B' }] });
  expect(startedIn(events).filter((name) => name === 'a')).toHaveLength(4);
  expect(result).toMatchObject({ ok: true, result: { b: 'B' }, data: { failures: { a: { code: 'BOOM' } } } });
});

test('withinMs counts only what was lately, and backoffMs waits', async () => {
  const clock = virtualClock(1_000_000);
  const team = sequential({
    name: 's',
    children: [leaf('a')],
    supervise: { children: { a: { ...onFailure, maxRestarts: 1, withinMs: 1_000, backoffMs: 600 } } },
  });
  const { host } = hostWith(
    { a: (_: never, n: number) => (n < 2 ? boom() : n === 2 ? { text: 'A' } : boom()) },
    { clock },
  );
  const run = host.run(team, 'go');
  const events = collect(run);
  await clock.advance(599);
  expect(run.state().threads).toHaveLength(1);
  await clock.advance(1);
  // It failed at 600 again: its one restart lies less than a second back.
  expect(endsIn(await events)).toEqual(['a_1: failed', 'a_2: failed', '-: failed']);
  await host.close();

  const later = hostWith(
    { a: (_: never, n: number) => (n < 3 ? { ...boom(), delayMs: 700 } : { text: 'A' }) },
    { clock },
  );
  const second = later.host.run(team, 'go');
  const all = collect(second);
  for (let step = 0; step < 6; step++) await clock.advance(700);
  expect(endsIn(await all)).toEqual(['a_1: failed', 'a_2: failed', 'a_3: failed', 'a_4: completed', '-: completed']);
  expect(clock.pending).toBe(0);
  await later.host.close();
});

test('an abort does not wait for a backoff', async () => {
  const clock = virtualClock();
  const team = sequential({
    name: 's',
    children: [leaf('a')],
    supervise: { children: { a: { ...onFailure, backoffMs: 60_000 } } },
  });
  const { host } = hostWith({ a: () => boom() }, { clock });
  const run = host.run(team, 'go');
  const events = collect(run);
  await clock.advance(0);
  run.abort('enough');
  expect(endsIn(await events)).toEqual(['a_1: failed', '-: aborted']);
  expect(clock.pending).toBe(0);
  await host.close();
});

test('a child in which something was done is not started again', async () => {
  const team = (name: string) =>
    sequential({
      name: 's',
      children: [agent({ name: 'a', tools: [act] })],
      supervise: { children: { a: { ...onFailure, maxRestarts: 5 } } },
      metadata: { name },
    });
  const { events, result } = await runTeam(team('acted'), { a: [call('act'), boom()] }, acts);
  expect(startedIn(events)).toEqual(['a']);
  expect(result.reason).toBe('failed');
});

test('neither is one whose calls a consumer ran, nor one that runs its own', async () => {
  const theirs = { name: 'theirs', description: '', parametersSchema: { type: 'object' } };
  const team = sequential({
    name: 's',
    children: [agent({ name: 'a', tools: ['theirs'] })],
    supervise: { children: { a: onFailure } },
  });
  const { host } = hostWith({ a: [call('theirs'), boom()] });
  const run = host.run(team, 'go', { tools: [theirs], permissionMode: 'autonomous' });
  const events = collect(run);
  await until(() => run.state().pending.length > 0);
  run.respond(run.state().pending[0]!.requestId, { result: 'done' });
  expect(startedIn(await events)).toEqual(['a']);
  await host.close();

  const opaque: Executor = {
    opaque: true,
    turn: async () => ({ reason: 'failed', data: { code: 'X', message: 'x' } }),
  };
  const other = createHost({
    models: { scripted: scriptedModel([]) },
    policy: [{ tier: 'user', rules: [{ toolName: 'a', decision: 'allow', context: { opaque: true } }] }],
  });
  other.registerExecutor('theirs', () => opaque);
  const own = sequential({
    name: 's',
    children: [agent({ name: 'a', executor: 'theirs' })],
    supervise: { children: { a: onFailure } },
  });
  expect(startedIn(await collect(other.run(own, 'go')))).toEqual(['a']);
  await other.close();
});

test('a denied call has done nothing', async () => {
  const team = sequential({
    name: 's',
    children: [agent({ name: 'a', tools: [act] })],
    supervise: { children: { a: onFailure } },
  });
  const { result, events } = await runTeam(
    team,
    { a: [call('act'), boom(), { text: 'A' }] },
    { run: { permissionMode: 'dont_ask' } },
  );
  expect(startedIn(events)).toEqual(['a', 'a']);
  expect(result.ok).toBe(true);
});

/** Three branches: the middle one fails once, the others wait at a gate the first time. */
function besides(
  strategy: 'one_for_one' | 'one_for_all' | 'rest_for_one',
  first: AgentDefinition<'a'>,
  gates: ReturnType<typeof gate>[],
) {
  return parallel({
    name: 'p',
    children: [first, agent({ name: 'b', tools: [gates[1]!.tool] }), agent({ name: 'c', tools: [gates[2]!.tool] })],
    supervise: { strategy, children: { b: { ...onFailure, maxRestarts: 1 } } },
  });
}
const waitOnce = (name: string) => (_: never, n: number) => (n === 0 ? call(name) : { text: `${name}${n}` });

test.each([
  ['one_for_one', ['b']],
  ['one_for_all', ['b', 'a', 'c']],
  ['rest_for_one', ['b', 'c']],
] as const)('%s starts again %j', async (strategy, again) => {
  const gates = ['ga', 'gb', 'gc'].map(gate);
  const { host } = hostWith({
    a: waitOnce('ga'),
    b: (_: never, n: number) => [call('gb'), boom(), { text: 'B' }][n]!,
    c: waitOnce('gc'),
  });
  const run = host.run(besides(strategy, agent({ name: 'a', tools: [gates[0]!.tool] }), gates), 'go');
  const events = collect(run);
  await Promise.all(gates.map((one) => one.running));
  gates[1]!.open('');
  await settle();
  for (const { open } of gates) open('');
  const all = await events;
  const restarted = ofType(all, 'agent_started').filter((event) => event._meta?.restartOf !== undefined);
  expect(restarted.map((event) => event.agentName).toSorted()).toEqual([...again].toSorted());
  for (const event of restarted) {
    const before = ofType(all, 'stream_end').find((end) => end.threadId === event._meta?.restartOf);
    expect(before?.reason).toBe(event.agentName === 'b' ? 'failed' : 'aborted');
  }
  expect(await run.result).toMatchObject({ ok: true, result: { b: 'B' } });
  expect(Object.keys((await run.result).result as object)).toEqual(['a', 'b', 'c']);
  expect((await run.result).data).not.toHaveProperty('failures');
  await host.close();
});

test('what has finished, and what has done something, is not touched for a sibling’s sake', async () => {
  const gates = ['ga', 'gb', 'gc'].map(gate);
  const acting = agent({ name: 'a', tools: [gates[0]!.tool, act] });
  const { host } = hostWith({
    a: (_: never, n: number) => [call('act'), call('ga'), { text: 'A' }][n]!,
    b: (_: never, n: number) => [call('gb'), boom(), { text: 'B' }][n]!,
    c: [{ text: 'C' }],
  });
  const run = host.run(besides('one_for_all', acting, gates), 'go', { permissionMode: 'autonomous' });
  const events = collect(run);
  await Promise.all([gates[0]!.running, gates[1]!.running]);
  gates[1]!.open('');
  await settle();
  gates[0]!.open('');
  const all = await events;
  expect(startedIn(all)).toEqual(['a', 'b', 'c', 'b']);
  expect((await run.result).result).toEqual({ a: 'A', b: 'B', c: 'C' });
  await host.close();
});

test('to be started again for a sibling does not use up one’s own restarts', async () => {
  const gates = ['ga', 'gb', 'gc'].map(gate);
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [gates[0]!.tool] }), agent({ name: 'b', tools: [gates[1]!.tool] })],
    supervise: { strategy: 'one_for_all', children: { a: onFailure, b: onFailure } },
  });
  const { host } = hostWith({
    // Waits, is recalled, fails by itself, succeeds.
    a: (_: never, n: number) => [call('ga'), boom('own'), { text: 'A' }][n]!,
    b: (_: never, n: number) => (n === 0 ? call('gb') : n === 1 ? boom('first') : { text: 'B' }),
  });
  const run = host.run(team, 'go');
  const events = collect(run);
  await Promise.all([gates[0]!.running, gates[1]!.running]);
  gates[1]!.open('');
  await events;
  expect((await run.result).result).toEqual({ a: 'A', b: 'B' });
  await host.close();
});

test('what is beyond a child’s restarts goes up, to whoever supervises its parent', async () => {
  const inner = sequential({ name: 'inner', children: [leaf('a')], supervise: { children: { a: onFailure } } });
  const team = parallel({ name: 'p', children: [inner], supervise: { children: { inner: onFailure } } });
  const { events, result } = await runTeam(team, {
    a: (_: never, n: number) => (n < 3 ? boom(`try ${n}`) : { text: 'A' }),
  });
  expect(restarts(events)).toEqual([
    ['inner_1', undefined],
    ['inner_1.a_1', undefined],
    ['inner_1.a_2', 'inner_1.a_1'],
    ['inner_2', 'inner_1'],
    ['inner_2.a_1', undefined],
    ['inner_2.a_2', 'inner_2.a_1'],
  ]);
  expect(result.result).toEqual({ inner: 'A' });
});

test('something done deep below keeps the whole from being started again', async () => {
  const inner = sequential({ name: 'inner', children: [agent({ name: 'a', tools: [act] }), leaf('b')] });
  const team = parallel({ name: 'p', children: [inner], supervise: { children: { inner: onFailure } } });
  const { events } = await runTeam(team, { a: [call('act'), { text: 'A' }], b: [boom()] }, acts);
  expect(startedIn(events)).toEqual(['inner', 'a', 'b']);
});

test('the restarts of a child count over all rounds of its loop', async () => {
  const team = loop({
    name: 'l',
    children: [leaf('a')],
    maxIterations: 3,
    supervise: { children: { a: { ...onFailure, maxRestarts: 1 } } },
  });
  const { events, result } = await runTeam(team, {
    a: (_: never, n: number) => (n === 0 || n === 2 ? boom() : { text: 'A' }),
  });
  expect(startedIn(events)).toEqual(['a', 'a', 'a']);
  expect(result).toMatchObject({ reason: 'failed' });
});

test('a call of a leader is answered with what its child came to at last', async () => {
  const lead = hierarchical({
    name: 'lead',
    agent: leaf('planner'),
    children: [leaf('a')],
    supervise: { children: { a: onFailure } },
  });
  const { events } = await runTeam(lead, {
    planner: [call('a', { prompt: 'x' }), { text: 'P' }],
    a: [boom(), { text: 'A' }],
  });
  expect(restarts(events)).toEqual([
    ['a_1', undefined],
    ['a_2', 'a_1'],
  ]);
  expect(ofType(events, 'tool_response')).toMatchObject([{ llmContent: [{ type: 'text', text: 'A' }] }]);
});

test('a member of a transfer that starts again is not handed over to twice', async () => {
  const team = transfer({
    name: 't',
    members: [leaf('a'), leaf('b')],
    start: 'a',
    supervise: { children: { b: onFailure } },
  });
  const { events, result, model } = await runTeam(team, {
    a: [call('transfer_to_agent', { target: 'b' })],
    b: [boom(), { text: 'B' }],
  });
  expect(ofType(events, 'agent_transfer')).toHaveLength(1);
  expect(textsGiven(model, 'b', 1)).toEqual(textsGiven(model, 'b', 0));
  expect(result.result).toBe('B');
});

test('what a failed attempt wrote is forgotten with it', async () => {
  const put = tool({
    name: 'put',
    description: 'Writes.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute(_, { state }) {
      state.set('n', 1);
      return state.get('n') as number;
    },
  });
  const team = sequential({
    name: 's',
    state: { n: { initial: 0, reducer: 'sum' } },
    children: [agent({ name: 'a', tools: [put] })],
    supervise: { children: { a: onFailure } },
  });
  const { events } = await runTeam(team, { a: [call('put'), boom(), call('put'), { text: 'A' }] });
  const atRoot = ofType(events, 'session_update').filter((event) => event.threadId === undefined);
  expect(atRoot.map((event) => event.stateDelta)).toEqual([{ n: 1 }]);
});

test('a child that was aborted does not start again', async () => {
  const never = gate('never');
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [never.tool] }), leaf('b')],
    supervise: { children: { a: onFailure } },
  });
  const { host } = hostWith({ a: [call('never')], b: [{ text: 'B' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await never.running;
  run.abort('no', { threadId: 'a_1' });
  expect(startedIn(await events)).toEqual(['a', 'b']);
  await host.close();
});
