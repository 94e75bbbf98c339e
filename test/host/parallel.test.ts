import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, parallel, sequential, tool } from '../../src/index.js';
import { collect, deferred, leaf, ofType, settle } from '../support/team.js';
import {
  asker,
  boom,
  call,
  endsIn,
  gate,
  hostWith,
  lastTextGiven,
  runTeam,
  startedIn,
  textsGiven,
  until,
} from '../support/teams.js';

test('all children get the same input and see nothing of one another', async () => {
  const team = parallel({ name: 'p', children: [leaf('a'), leaf('b')] });
  const { result, model, events } = await runTeam(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] });
  expect(['a', 'b'].map((name) => textsGiven(model, name))).toEqual([['go'], ['go']]);
  expect(result).toMatchObject({ ok: true, result: { a: 'A', b: 'B' }, text: '{"a":"A","b":"B"}' });
  expect(startedIn(events)).toEqual(['a', 'b']);
});

test('the results stand in the order of the children, whoever ended first', async () => {
  const [slow, quick] = [gate('slow'), gate('quick')];
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [slow.tool] }), agent({ name: 'b', tools: [quick.tool] })],
  });
  const { host } = hostWith({ a: [call('slow'), { text: 'A' }], b: [call('quick'), { text: 'B' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await Promise.all([quick.running, slow.running]);
  quick.open('');
  await settle();
  slow.open('');
  expect(endsIn(await events)).toEqual(['b_2: completed', 'a_1: completed', '-: completed']);
  expect(Object.entries((await run.result).result as object)).toEqual([
    ['a', 'A'],
    ['b', 'B'],
  ]);
  await host.close();
});

test('the map of a parallel reaches the next child as JSON, and data in it stays data', async () => {
  const facts = agent({ name: 'b', outputSchema: z.object({ n: z.number() }) });
  const team = sequential({
    name: 's',
    children: [parallel({ name: 'p', children: [leaf('a'), facts] }), leaf('c')],
  });
  const { model, result } = await runTeam(team, { a: [{ text: 'A' }], b: [{ text: '{"n":1}' }], c: [{ text: 'C' }] });
  expect(lastTextGiven(model, 'c')).toBe('{"a":"A","b":{"n":1}}');
  expect(result.data.results).toEqual({ p: { a: 'A', b: { n: 1 } }, c: 'C' });
});

test('"settle" keeps what succeeded and names what did not', async () => {
  const team = parallel({ name: 'p', children: [leaf('a'), leaf('b'), leaf('c')] });
  const { result } = await runTeam(team, { a: [{ text: 'A' }], b: [boom()], c: [{ text: 'C' }] });
  expect(result).toMatchObject({ ok: true, result: { a: 'A', c: 'C' } });
  expect(result.data.failures).toEqual({ b: { code: 'BOOM', message: 'boom' } });
});

test('with no success at all it has failed, for the reason that came first', async () => {
  const late = gate('late');
  const team = parallel({ name: 'p', children: [agent({ name: 'a', tools: [late.tool] }), leaf('b')] });
  const { host } = hostWith({ a: [call('late'), boom('second')], b: [boom('first')] });
  const run = host.run(team, 'go');
  await late.running;
  late.open('');
  const result = await run.result;
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'BOOM', message: 'b: first', result: {} } });
  expect(Object.keys(result.data.failures as object)).toEqual(['a', 'b']);
  await host.close();
});

test('"fail_fast" aborts the siblings at the first failure and keeps what has finished (B011)', async () => {
  const never = gate('never');
  const sleeping = deferred();
  let cleaned = false;
  const slow = tool({
    name: 'slow',
    description: 'Never ends by itself.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async execute(_, { signal }) {
      sleeping.resolve();
      try {
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
      } finally {
        await settle(2);
        cleaned = true;
      }
    },
  });
  const team = parallel({
    name: 'p',
    failure: 'fail_fast',
    children: [leaf('done'), agent({ name: 'a', tools: [never.tool] }), agent({ name: 'b', tools: [slow] })],
  });
  const { host } = hostWith({ done: [{ text: 'D' }], a: [call('never'), boom('E1')], b: [call('slow')] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await Promise.all([never.running, sleeping.promise]);
  never.open('');
  const all = await events;
  expect(ofType(all, 'error').map((event) => event.message)).toEqual(['E1']);
  expect(endsIn(all)).toEqual(['done_1: completed', 'a_2: failed', 'b_3: aborted', '-: failed']);
  expect(ofType(all, 'tool_response').find((event) => event.threadId === 'b_3')).toMatchObject({
    isError: true,
    errorType: 'cancelled',
  });
  expect((await run.result).data).toMatchObject({ message: 'a: E1', result: { done: 'D' } });
  await host.close();
  expect(cleaned).toBe(true);
});

test('"any" ends with the first success and aborts the rest', async () => {
  const [never, last] = [gate('never'), gate('last')];
  const team = parallel({
    name: 'p',
    join: 'any',
    children: [agent({ name: 'a', tools: [never.tool] }), leaf('b'), agent({ name: 'c', tools: [last.tool] })],
  });
  const script = { a: [call('never')], b: [boom()], c: [call('last'), { text: 'C' }] };
  void Promise.all([never.running, last.running]).then(() => last.open(''));
  const { result, events } = await runTeam(team, script);
  expect(result).toMatchObject({ ok: true, result: { c: 'C' } });
  expect(result.data.failures).toMatchObject({ a: { code: 'ABORTED' }, b: { code: 'BOOM' } });
  expect(endsIn(events)).toContain('a_1: aborted');
  expect(never.isAborted()).toBe(true);
});

test('a quorum ends with enough successes; what waits for a place never starts', async () => {
  const team = parallel({
    name: 'p',
    join: { quorum: 2 },
    concurrency: 1,
    children: [leaf('a'), leaf('b'), leaf('c'), leaf('d')],
  });
  const script = { a: [{ text: 'A' }], b: [boom()], c: [{ text: 'C' }], d: [{ text: 'D' }] };
  const { result, events } = await runTeam(team, script);
  expect(startedIn(events)).toEqual(['a', 'b', 'c']);
  expect(result).toMatchObject({ ok: true, result: { a: 'A', c: 'C' } });
  expect(result.data.failures).toEqual({ b: { code: 'BOOM', message: 'boom' } });
});

test('a quorum that cannot be reached has failed, and what succeeded is kept', async () => {
  const team = parallel({ name: 'p', join: { quorum: 2 }, children: [leaf('a'), leaf('b'), leaf('c')] });
  const { result } = await runTeam(team, { a: [{ text: 'A' }], b: [boom()], c: [boom()] });
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'BOOM', result: { a: 'A' } } });
  expect(result.data.message).toBe('1 of 2 wanted succeeded; b: boom');
});

test('mapInput that throws for one child is that child’s failure', async () => {
  const team = parallel({
    name: 'p',
    children: [leaf('a'), leaf('b')],
    mapInput: (child) => {
      if (child === 'a') throw new Error('no');
    },
  });
  const { result, events } = await runTeam(team, { b: [{ text: 'B' }] });
  expect(startedIn(events)).toEqual(['b']);
  expect(result).toMatchObject({ ok: true, result: { b: 'B' } });
  expect(result.data.failures).toEqual({ a: { code: 'MAP_INPUT_FAILED', message: 'a: no' } });
});

test('no more children live at once than the concurrency allows', async () => {
  const gates = ['g1', 'g2', 'g3', 'g4'].map(gate);
  let live = 0;
  let most = 0;
  const names = ['a', 'b', 'c', 'd'] as const;
  const team = parallel({
    name: 'p',
    concurrency: 2,
    children: names.map((name, at) => agent({ name, tools: [gates[at]!.tool] })),
  });
  const script = Object.fromEntries(names.map((name, at) => [name, [call(`g${at + 1}`), { text: name }]]));
  const { host } = hostWith(script);
  const run = host.run(team, 'go');
  const reading = (async () => {
    for await (const event of run) {
      if (event.type === 'agent_started') most = Math.max(most, ++live);
      if (event.type === 'agent_completed') live--;
    }
  })();
  for (const [at, { open, running }] of gates.entries()) {
    await running;
    await until(() => live === Math.min(2, 4 - at));
    open('');
  }
  await reading;
  expect(most).toBe(2);
  expect((await run.result).ok).toBe(true);
  await host.close();
});

test('a child that waits for an answer takes no place; one that a person answered goes on at once', async () => {
  const ask = asker('ask');
  const team = parallel({
    name: 'p',
    concurrency: 1,
    children: [agent({ name: 'a', tools: [ask] }), leaf('b'), agent({ name: 'c', tools: [ask] }), leaf('d')],
  });
  const { host } = hostWith({
    a: [call('ask'), { text: 'A' }],
    b: [{ text: 'B' }],
    c: [call('ask'), { text: 'C' }],
    d: [{ text: 'D' }],
  });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await until(() => endsIn(events).includes('d_4: completed'));
  const { pending } = run.state();
  expect(pending.map((one) => one.threadId)).toEqual(['a_1', 'c_3']);
  for (const { requestId } of pending.toReversed()) run.respond(requestId, { action: 'accept' });
  await reading;
  expect(endsIn(events)).toEqual([
    'b_2: completed',
    'd_4: completed',
    'c_3: completed',
    'a_1: completed',
    '-: completed',
  ]);
  await host.close();
});

test('a composition takes no place only while everything in it waits', async () => {
  const work = gate('work');
  const inner = parallel({
    name: 'inner',
    children: [agent({ name: 'a', tools: [asker('ask_a')] }), agent({ name: 'b', tools: [work.tool] })],
  });
  const team = parallel({ name: 'p', concurrency: 1, children: [inner, leaf('c')] });
  const { host } = hostWith({
    a: [call('ask_a'), { text: 'A' }],
    b: [call('work'), { text: 'B' }],
    c: [{ text: 'C' }],
  });
  const run = host.run(team, 'go');
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of run) if (event.type === 'agent_started') seen.push(event.agentName);
  })();
  await Promise.all([work.running, until(() => run.state().pending.length === 1)]);
  expect(seen).toEqual(['inner', 'a', 'b']);
  work.open('');
  await until(() => seen.length > 3);
  expect(seen).toEqual(['inner', 'a', 'b', 'c']);
  const [question] = run.state().pending;
  run.respond(question!.requestId, { action: 'accept' });
  await reading;
  expect((await run.result).result).toEqual({ inner: { a: 'A', b: 'B' }, c: 'C' });
  await host.close();
});

test('a call that the consumer runs takes no place, either', async () => {
  const team = parallel({
    name: 'p',
    concurrency: 1,
    children: [agent({ name: 'a', tools: ['theirs'] }), leaf('b')],
  });
  const { host } = hostWith({ a: [call('theirs'), { text: 'A' }], b: [{ text: 'B' }] });
  const theirs = { name: 'theirs', description: '', parametersSchema: { type: 'object' } };
  const run = host.run(team, 'go', { tools: [theirs], permissionMode: 'autonomous' });
  const events: AgentEvent[] = [];
  const reading = (async () => {
    for await (const event of run) events.push(event);
  })();
  await until(() => endsIn(events).includes('b_2: completed'));
  const [pending] = run.state().pending;
  expect(pending).toMatchObject({ kind: 'tool', name: 'theirs', threadId: 'a_1' });
  run.respond(pending!.requestId, { result: 'done' });
  await reading;
  expect(endsIn(events)).toEqual(['b_2: completed', 'a_1: completed', '-: completed']);
  await host.close();
});

test('a branch that is aborted by itself is one failure among the others', async () => {
  const never = gate('never');
  const team = parallel({ name: 'p', children: [agent({ name: 'a', tools: [never.tool] }), leaf('b')] });
  const { host } = hostWith({ a: [call('never')], b: [{ text: 'B' }] });
  const run = host.run(team, 'go');
  const events = collect(run);
  await never.running;
  run.abort('not needed', { threadId: 'a_1' });
  expect(endsIn(await events)).toEqual(['b_2: completed', 'a_1: aborted', '-: completed']);
  expect((await run.result).data).toMatchObject({
    result: { b: 'B' },
    failures: { a: { code: 'ABORTED', message: 'not needed' } },
  });
  await host.close();
});
