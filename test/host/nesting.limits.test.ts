import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, graph, hierarchical, loop, memoryStore, parallel, sequential, transfer } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';
import { collect, leaf, ofType } from '../support/team.js';
import { asker, call, endsIn, gate, hostWith, runTeam, textsGiven, until } from '../support/teams.js';

const MINUTE = 60_000;

test('the time of a composition is that of all below it together', async () => {
  const clock = virtualClock();
  const team = sequential({
    name: 's',
    children: [leaf('a'), leaf('b'), leaf('c')],
    constraints: { maxTimeMinutes: 1 },
  });
  const script = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, [{ text: name, delayMs: 25_000 }]]));
  const { host } = hostWith(script, { clock });
  const run = host.run(team, 'go');
  const events = collect(run);
  await clock.advance(MINUTE);
  expect(endsIn(await events)).toEqual(['a_1: completed', 'b_2: completed', 'c_3: aborted', '-: max_time']);
  expect((await run.result).data).toMatchObject({ limit: 'maxTimeMinutes', used: 1, results: { a: 'a', b: 'b' } });
  expect(clock.pending).toBe(0);
  await host.close();
});

test('time that runs in branches side by side counts once, and waiting for a person not at all', async () => {
  const clock = virtualClock();
  const team = parallel({
    name: 'p',
    children: [leaf('a'), agent({ name: 'b', tools: [asker('ask')] })],
    constraints: { maxTimeMinutes: 1 },
  });
  const { host } = hostWith(
    { a: [{ text: 'A', delayMs: 40_000 }], b: [call('ask'), { text: 'B', delayMs: 19_000 }] },
    { clock },
  );
  const run = host.run(team, 'go');
  const events = collect(run);
  await until(() => run.state().pending.length === 1);
  await clock.advance(40_000);
  await clock.advance(10 * MINUTE);
  run.respond(run.state().pending[0]!.requestId, { action: 'accept', content: {} });
  await clock.advance(19_000);
  expect(endsIn(await events)).toEqual(['a_1: completed', 'b_2: completed', '-: completed']);
  await host.close();
});

test('a team goes as deep as maxDepth says, and no deeper', async () => {
  let inner: AgentDefinition = leaf('bottom');
  for (let level = 7; level >= 1; level--) inner = sequential({ name: `level${level}`, children: [inner] });
  const deep = sequential({ name: 'root', children: [inner] });
  const { result, events } = await runTeam(deep, { bottom: [{ text: 'deep' }] });
  expect(result.result).toBe('deep');
  expect(ofType(events, 'agent_started').at(-1)?.threadId?.split('.')).toHaveLength(8);
  expect(() => sequential({ name: 'top', children: [deep] })).toThrow('lies deeper than maxDepth allows');
  expect(() =>
    sequential({ name: 'top', children: [sequential({ name: 'x', children: [leaf('y')] })], maxDepth: 1 }),
  ).toThrow('top/x/y: lies deeper than maxDepth allows (1 levels below the root)');
});

test('a composition that contains itself is refused when it is defined', () => {
  const children: AgentDefinition[] = [leaf('a')];
  const inner = { ...sequential({ name: 'inner', children }) } as { children: AgentDefinition[] } & AgentDefinition;
  const outer = { ...sequential({ name: 'outer', children: [inner] }) } as {
    children: AgentDefinition[];
  } & AgentDefinition;
  inner.children = [outer];
  (inner.descriptor as { composition: { children: string[] } }) = {
    ...inner.descriptor,
    composition: { ...inner.descriptor.composition!, children: ['outer'] },
  } as never;
  expect(() => parallel({ name: 'p', children: [inner] })).toThrow('contains itself');
});

test('a run’s words for a sequence reach whoever works in it, or begins next', async () => {
  const team = loop({ name: 'l', children: [leaf('a'), leaf('b')], maxIterations: 1, mapInput: async () => undefined });
  const { host, model } = hostWith({ a: [{ text: 'A' }], b: [{ text: 'B' }] });
  const run = host.run(team, 'go');
  // Nobody has begun: mapInput takes a moment.
  run.steer({ message: 'be quick' });
  await run.result;
  expect(textsGiven(model, 'a').toSorted()).toEqual(['be quick', 'go']);
  expect(textsGiven(model, 'b')).toEqual(['A']);
  await host.close();
});

const says = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, [1, 2, 3, 4].map((n) => ({ text: `${name}${n}` }))]));
const [a, b, c] = [leaf('a'), leaf('b'), leaf('c')];
const handOver = (target: string) => call('transfer_to_agent', { target, reason: 'yours' });

test.each<[string, number, AgentDefinition, data: object]>([
  [
    'sequential',
    2,
    sequential({ name: 't', children: [a, b, c], constraints: { maxTurns: 2 } }),
    { result: 'b1', results: { a: 'a1', b: 'b1' } },
  ],
  [
    'parallel',
    2,
    parallel({ name: 't', children: [a, b, c], concurrency: 1, constraints: { maxTurns: 2 } }),
    { result: { a: 'a1', b: 'b1' } },
  ],
  ['loop', 3, loop({ name: 't', children: [a, b], maxIterations: 9, constraints: { maxTurns: 3 } }), { result: 'a2' }],
  [
    'graph',
    1,
    graph({
      name: 't',
      nodes: { a, b },
      edges: [{ from: 'a', to: 'b' }],
      start: 'a',
      end: 'b',
      constraints: { maxTurns: 1 },
    }),
    { result: 'a1' },
  ],
  [
    'a team in a team',
    1,
    sequential({
      name: 't',
      children: [sequential({ name: 'in', children: [a, b] }), c],
      constraints: { maxTurns: 1 },
    }),
    { result: 'a1' },
  ],
  [
    'a team behind a team',
    2,
    sequential({
      name: 't',
      children: [sequential({ name: 'in', children: [a, b] }), c],
      constraints: { maxTurns: 2 },
    }),
    { result: 'b1' },
  ],
])(
  'the turns of a %s are those of all below it: exactly so many, and the best so far is told',
  async (_, turns, team, data) => {
    const { events, result, model } = await runTeam(team, says('a', 'b', 'c'));
    expect(model.requests).toHaveLength(turns);
    expect(result).toMatchObject({ ok: false, reason: 'max_turns', data: { limit: 'maxTurns', used: turns, ...data } });
    expect(endsIn(events).at(-1)).toBe('-: max_turns');
  },
);

test('branches side by side have their turns together, and no more; what began within the limit is not cut off', async () => {
  const team = parallel({ name: 't', children: [a, b, c], constraints: { maxTurns: 2 } });
  const { events, result, model } = await runTeam(team, says('a', 'b', 'c'));
  expect(model.requests).toHaveLength(2);
  const data = { limit: 'maxTurns', used: 2, result: { a: 'a1', b: 'b1' } };
  expect(result).toMatchObject({ reason: 'max_turns', data });
  expect(endsIn(events)).toEqual(['a_1: completed', 'b_2: completed', 'c_3: aborted', '-: max_turns']);
});

test('a branch for which there is no turn holds up neither the end of the team nor who stops it', async () => {
  const work = gate('work');
  const asks = agent({ name: 'b', tools: [asker('ask')] });
  const team = parallel({
    name: 't',
    children: [agent({ name: 'a', tools: [work.tool] }), asks, c],
    constraints: { maxTurns: 2 },
  });
  const script = { a: [call('work'), { text: 'A' }], b: [call('ask'), { text: 'B' }], ...says('c') };
  const { host } = hostWith(script);
  expect((await host.run(team, 'go').result).reason).toBe('max_turns');
  const slow = { ...script, a: [{ text: 'A', delayMs: 1_000 }] };
  const clock = virtualClock();
  const { host: second } = hostWith(slow, { clock });
  const run = second.run(team, 'go');
  const events = collect(run);
  await until(() => run.state().threads.length === 4);
  run.abort('enough');
  expect(endsIn(await events).at(-1)).toBe('-: aborted');
  expect(clock.pending).toBe(0);
  await Promise.all([host.close(), second.close()]);
});

test('each turn of a member counts, and a run that needs no more than its turns has completed', async () => {
  const team = (maxTurns: number) => transfer({ name: 't', members: [a, b], start: 'a', constraints: { maxTurns } });
  const script = { a: [handOver('b')], b: [{ text: 'done' }] };
  expect((await runTeam(team(2), script)).result).toMatchObject({ ok: true, text: 'done' });
  expect((await runTeam(team(1), script)).result).toMatchObject({ reason: 'max_turns', data: { used: 1 } });
});

test('the turns of a hierarchy are its leader’s; what its children take counts for the team above it', async () => {
  const led = hierarchical({ name: 'led', agent: leaf('lead'), children: [a], constraints: { maxTurns: 2 } });
  const script = { lead: [call('a', { prompt: 'x' }), { text: 'led' }], ...says('a') };
  expect((await runTeam(led, script)).result).toMatchObject({ ok: true, text: 'led' });
  const above = sequential({ name: 't', children: [led], constraints: { maxTurns: 2 } });
  const { result, model } = await runTeam(above, script);
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxTurns', used: 2 } });
});

test('every message has its turns anew', async () => {
  const store = memoryStore();
  const team = sequential({ name: 't', children: [a, b], constraints: { maxTurns: 2 } });
  const { host } = hostWith(says('a', 'b'), { store });
  for (let message = 0; message < 2; message++)
    expect(await host.run(team, 'go', { sessionId: 's' }).result).toMatchObject({ ok: true });
  await host.close();
});

test('a turn that came to no model call was none', async () => {
  const constraints = { maxTurns: 2, maxLlmCalls: 1 };
  const team = sequential({ name: 't', children: [a, b], constraints });
  expect((await runTeam(team, says('a', 'b'))).result).toMatchObject({
    data: { limit: 'maxLlmCalls', used: 1, result: 'a1' },
  });
});

test('a grace turn is an agent’s: a team that has none is told so', () => {
  const constraints = { graceTurn: true };
  expect(() => sequential({ name: 't', children: [a], constraints })).toThrow(
    /t\.constraints\.graceTurn: .*set it on the agents/,
  );
  hierarchical({ name: 't', agent: a, children: [b], constraints });
});
