import { expect, test } from 'vitest';
import { agent, createHost, loop, memoryStore, parallel, tool } from '../../src/index.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { answersIn, storeWith } from '../support/broken-log.js';
import { logOf, ofType, readAll } from '../support/team.js';

const look = tool({
  name: 'look',
  description: '.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const edit = tool({ name: 'edit', description: '.', parameters: { type: 'object' }, execute: () => 'edited' });

/** Each agent makes one call in each iteration, `args` say which. */
const calling = (args: (agentName: string, n: number) => object) => {
  const counts: Record<string, number> = {};
  return scriptedModel((request) => {
    const name = String(request._meta?.agent);
    if (answersIn(request).length > 0) return { text: 'done' };
    const n = (counts[name] ?? 0) + 1;
    counts[name] = n;
    return { toolCalls: [{ name: name === 'writer' ? 'edit' : 'look', args: args(name, n) }] };
  });
};

const reader = () => agent({ name: 'reader', tools: [look] });
const circle = () => loop({ name: 'circle', maxIterations: 12, children: [reader()] });

test('the same call in iteration after iteration of a loop is told once, then ends it', async () => {
  await using host = createHost({ models: { scripted: calling(() => ({ q: 1 })) }, clock: virtualClock() });
  const run = host.run(circle(), 'go');
  const events = await readAll(run);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'LOOP_DETECTED' } });
  expect(ofType(events, 'tool_request')).toHaveLength(6);
  expect(ofType(events, 'message').filter(({ role }) => role === 'developer')).toHaveLength(1);
});

test('it counts for each agent of a loop by itself, and in each run anew', async () => {
  await using host = createHost({ models: { scripted: calling(() => ({ q: 1 })) }, clock: virtualClock() });
  const team = loop({
    name: 'circle',
    maxIterations: 4,
    children: [parallel({ name: 'both', children: [reader(), agent({ name: 'other', tools: [look] })] })],
  });
  for (let n = 0; n < 3; n++) expect((await host.run(team, 'go', { sessionId: 's' }).result).ok).toBe(true);
});

test('what another agent has changed in between makes the same call another one', async () => {
  const model = calling((name, n) => (name === 'writer' ? { n } : { q: 1 }));
  await using host = createHost({ models: { scripted: model }, clock: virtualClock() });
  const team = loop({
    name: 'circle',
    maxIterations: 8,
    children: [agent({ name: 'writer', tools: [edit] }), reader()],
  });
  const run = host.run(team, 'go', { permissionMode: 'autonomous' });
  for await (const event of run) {
    if (event.type === 'elicitation_request') run.respond(event.requestId, { action: 'accept' });
  }
  expect(await run.result).toMatchObject({ ok: true, data: { iterations: 8 } });
});

test('an agent that ends its thread the same way in each iteration does not repeat itself', async () => {
  const model = scriptedModel(() => ({ toolCalls: [{ name: 'complete_task', args: { k: 'v' } }] }));
  await using host = createHost({ models: { scripted: model }, clock: virtualClock() });
  const outputSchema = { type: 'object', properties: { k: { type: 'string' } }, required: ['k'] } as const;
  const team = loop({ name: 'circle', maxIterations: 9, children: [agent({ name: 'a', outputSchema })] });
  expect(await host.run(team, 'go').result).toMatchObject({ ok: true, data: { iterations: 9 } });
});

test('from every cut of its log a loop ends at the same call', async () => {
  const store = memoryStore();
  await using host = createHost({ models: { scripted: calling(() => ({ q: 1 })) }, store, clock: virtualClock() });
  await host.run(circle(), 'go', { sessionId: 's' }).result;
  const log = await logOf(store, 's');
  const begun = log.findIndex(({ type }) => type === 'message') + 1;
  for (let cut = begun; cut < log.length; cut++) {
    const part = (await storeWith(log.slice(0, cut), { id: 's', agentName: 'circle' })) as ReturnType<
      typeof memoryStore
    >;
    await using second = createHost({
      models: { scripted: calling(() => ({ q: 1 })) },
      store: part,
      clock: virtualClock(),
    });
    const run = await second.resume('s', { agent: circle() });
    expect(await run.result, `${cut}`).toMatchObject({ reason: 'failed', data: { code: 'LOOP_DETECTED' } });
    const whole = await logOf(part, 's');
    expect(new Set(ofType(whole, 'tool_request').map(({ requestId }) => requestId)).size, `${cut}`).toBe(6);
  }
});

const SAME = 'The draft is nearly there, so I will polish it once more. ';
const saying = (text: (n: number) => string) => {
  let n = 0;
  return scriptedModel(() => ({ text: text(++n) }));
};

test('the same words in iteration after iteration, with no call at all, are told once, then end the loop', async () => {
  const model = saying(() => SAME);
  await using host = createHost({ models: { scripted: model }, clock: virtualClock() });
  const run = host.run(circle(), 'go');
  const events = await readAll(run);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'LOOP_DETECTED' } });
  const advice = ofType(events, 'message').filter(({ role }) => role === 'developer');
  expect(advice).toHaveLength(1);
  // It was told in the iteration in which it said so for the fifth time, and asked once more.
  expect(model.requests).toHaveLength(6);
  expect(JSON.stringify(model.requests[5]?.messages)).toContain('You repeat yourself');
});

test('other words in each iteration, or short ones, are no circle', async () => {
  for (const text of [(n: number) => `${SAME.trim().slice(0, -1)}, for the ${n}. time.`, () => 'Once more.']) {
    await using host = createHost({ models: { scripted: saying(text) }, clock: virtualClock() });
    expect((await host.run(circle(), 'go').result).reason).not.toBe('failed');
  }
});

test('from every cut of its log a loop of the same words ends after as many of them', async () => {
  const byHistory = () => scriptedModel(() => ({ text: SAME }));
  const store = memoryStore();
  await using host = createHost({ models: { scripted: byHistory() }, store, clock: virtualClock() });
  await readAll(host.run(circle(), 'go', { sessionId: 's' }));
  const log = await logOf(store, 's');
  for (let cut = 2; cut < log.length; cut++) {
    const part = await storeWith(log.slice(0, cut), { id: 's', agentName: 'circle' });
    await using other = createHost({ models: { scripted: byHistory() }, store: part, clock: virtualClock() });
    const run = await other.resume('s', { agent: circle() });
    expect((await run.result).data, `cut at ${cut}`).toMatchObject({ code: 'LOOP_DETECTED' });
    const whole = await logOf(part, 's');
    const said = ofType(whole, 'message').filter(({ role, _meta }) => role === 'agent' && !_meta?.interrupted);
    const discarded = ofType(whole, 'custom').filter(({ kind }) => kind === 'interrupted');
    expect(said.length - discarded.length, `cut at ${cut}`).toBe(6);
  }
});
