import { expect, test } from 'vitest';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, loop, parallel, sequential } from '../../src/index.js';
import { virtualClock } from '../../src/testing/index.js';
import { collect, leaf, ofType } from '../support/team.js';
import { asker, call, endsIn, hostWith, runTeam, textsGiven, until } from '../support/teams.js';

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
