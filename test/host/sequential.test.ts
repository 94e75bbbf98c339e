import { expect, test } from 'vitest';
import { z } from 'zod';
import { agent, sequential } from '../../src/index.js';
import { collect, deferred, leaf, ofType, settle } from '../support/team.js';
import { boom, endsIn, hostWith, lastTextGiven, runTeam, startedIn, textsGiven } from '../support/teams.js';

const three = () => sequential({ name: 's', children: [leaf('a'), leaf('b'), leaf('c')] });
const abc = { a: [{ text: 'A' }], b: [{ text: 'B' }], c: [{ text: 'C' }] };

test('each child is given the output of the one before, and sees nothing else of it', async () => {
  const { result, model } = await runTeam(three(), abc);
  expect(['a', 'b', 'c'].map((name) => textsGiven(model, name))).toEqual([['go'], ['A'], ['B']]);
  expect(result).toMatchObject({ ok: true, text: 'C', result: 'C', data: { results: { a: 'A', b: 'B', c: 'C' } } });
  expect(Object.keys(result.data.results as object)).toEqual(['a', 'b', 'c']);
});

test('the first failure ends it, and what succeeded is kept', async () => {
  const { events, result } = await runTeam(three(), { ...abc, b: [boom()] });
  expect(startedIn(events)).toEqual(['a', 'b']);
  expect(result).toMatchObject({ ok: false, reason: 'failed' });
  expect(result.data).toMatchObject({
    code: 'BOOM',
    message: 'b: boom',
    results: { a: 'A' },
    failures: { b: { code: 'BOOM', message: 'boom' } },
  });
});

test('with onFailure "continue" a failure is passed on to the next child', async () => {
  const team = sequential({ name: 's', onFailure: 'continue', children: [leaf('a'), leaf('b'), leaf('c')] });
  const { result, model } = await runTeam(team, { ...abc, b: [boom()] });
  expect(lastTextGiven(model, 'c')).toBe('b failed: boom');
  expect(result).toMatchObject({ ok: true, result: 'C', data: { results: { a: 'A', c: 'C' } } });
  expect(result.data.failures).toEqual({ b: { code: 'BOOM', message: 'boom' } });
});

test('with onFailure "continue" the last output that there is counts, and without any it has failed', async () => {
  const team = () => sequential({ name: 's', onFailure: 'continue', children: [leaf('a'), leaf('b')] });
  const some = await runTeam(team(), { a: [{ text: 'A' }], b: [boom()] });
  expect(some.result).toMatchObject({ ok: true, result: 'A', data: { failures: { b: { code: 'BOOM' } } } });
  const none = await runTeam(team(), { a: [boom('first')], b: [boom('second')] });
  expect(none.result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'BOOM', message: 'a: first' } });
  expect(Object.keys(none.result.data.failures as object)).toEqual(['a', 'b']);
});

test('a child that reaches a limit has not succeeded; its best result is kept', async () => {
  const limited = agent({ name: 'a', constraints: { maxLlmCalls: 1 }, tools: ['look'] });
  const look = { kind: 'tool' as const, name: 'look', execute: () => 'seen' };
  const team = sequential({ name: 's', children: [limited, leaf('b')] });
  const script = { a: [{ text: 'so far', toolCalls: [{ name: 'look', args: {} }] }], b: [] };
  const tools = [
    {
      ...look,
      descriptor: {
        name: 'look',
        description: '',
        parametersSchema: { type: 'object' },
        annotations: { readOnly: true },
      },
    },
  ];
  const { result, events } = await runTeam(team, script, { host: { tools } });
  expect(startedIn(events)).toEqual(['a']);
  expect(result).toMatchObject({
    reason: 'failed',
    data: { result: 'so far', failures: { a: { code: 'MAX_TURNS' } } },
  });
});

test('mapInput gives a child another input; undefined is the default one', async () => {
  const seen: unknown[] = [];
  const team = sequential({
    name: 's',
    state: { note: { initial: 'n' } },
    children: [leaf('a'), leaf('b'), leaf('c')],
    mapInput: (child, { input, results, state }) => {
      seen.push([child, input, { ...results }, { ...state }]);
      return child === 'b' ? `for b: ${input}` : undefined;
    },
  });
  const { model, result } = await runTeam(team, abc);
  expect(['a', 'b', 'c'].map((name) => lastTextGiven(model, name))).toEqual(['go', 'for b: go', 'B']);
  expect(seen).toEqual([
    ['a', 'go', {}, { note: 'n' }],
    ['b', 'go', { a: 'A' }, { note: 'n' }],
    ['c', 'go', { a: 'A', b: 'B' }, { note: 'n' }],
  ]);
  expect(result.ok).toBe(true);
});

test('mapInput may take its time, and give data or parts', async () => {
  const asked = agent({ name: 'b', inputSchema: z.object({ topic: z.string() }) });
  const team = sequential({
    name: 's',
    children: [leaf('a'), asked, leaf('c')],
    mapInput: async (child) => {
      await settle(1);
      if (child === 'b') return { topic: 'bees' };
      return child === 'c' ? [{ type: 'text', text: 'parts' }] : undefined;
    },
  });
  const { model, result } = await runTeam(team, abc);
  expect(lastTextGiven(model, 'b')).toBe('{"topic":"bees"}');
  expect(lastTextGiven(model, 'c')).toBe('parts');
  expect(result.ok).toBe(true);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no idea');
    },
    'MAP_INPUT_FAILED',
    'b: no idea',
  ],
  ['rejects', () => Promise.reject(new Error('no idea')), 'MAP_INPUT_FAILED', 'b: no idea'],
  [
    'returns no JSON',
    () => ({ at: new Date(0) }),
    'MAP_INPUT_FAILED',
    'b: what mapInput returned.at is an instance of Date; an input is JSON',
  ],
])('a mapInput that %s is a failure of the child, which never starts', async (_, map, code, message) => {
  const team = sequential({
    name: 's',
    children: [leaf('a'), leaf('b')],
    mapInput: (child) => (child === 'b' ? map() : undefined),
  });
  const { events, result } = await runTeam(team, abc);
  expect(startedIn(events)).toEqual(['a']);
  expect(ofType(events, 'error')).toMatchObject([{ code, message }]);
  expect(result).toMatchObject({ reason: 'failed', data: { code, failures: { b: { code, message } } } });
});

test('a run is aborted while mapInput never comes to an end', async () => {
  const team = sequential({ name: 's', children: [leaf('a')], mapInput: () => new Promise(() => {}) });
  const { host } = hostWith(abc);
  const run = host.run(team, 'go');
  await settle();
  run.abort('enough');
  const result = await run.result;
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough', by: 'user' } });
  // At once, not when the time for it was up.
  expect(result.data).not.toHaveProperty('forced');
  await host.close();
});

test('what mapInput gives after the run has ended starts nothing', async () => {
  const late = deferred<string>();
  const team = sequential({ name: 's', children: [leaf('a')], mapInput: () => late.promise });
  const { host, model } = hostWith(abc);
  const session = host.session(team);
  const { stream, controller } = session.stream({ kind: 'message', content: 'go' });
  const events = collect(stream);
  await settle();
  controller.abort('enough');
  expect(endsIn(await events)).toEqual(['-: aborted']);
  late.resolve('too late');
  await settle();
  expect(model.requests).toHaveLength(0);
  await host.close();
});

test('data goes from child to child as data, and to a model as JSON', async () => {
  const facts = agent({ name: 'a', outputSchema: z.object({ topic: z.string(), prompt: z.string() }) });
  const writer = agent({
    name: 'b',
    inputSchema: z.object({ topic: z.string(), prompt: z.string() }),
    instruction: ({ input }) => `Write about ${(input as { topic: string }).topic}.`,
  });
  const team = sequential({ name: 's', children: [facts, writer, leaf('c')] });
  const json = '{"topic":"bees","prompt":"p"}';
  const { model, result } = await runTeam(team, { ...abc, a: [{ text: json }] });
  expect(result.data.results).toEqual({ a: { topic: 'bees', prompt: 'p' }, b: 'B', c: 'C' });
  expect(lastTextGiven(model, 'b')).toBe(json);
  expect(model.requests[1]?.systemInstruction).toBe('Write about bees.');
});

test('data stays data where it looks like something else', async () => {
  const list = agent({ name: 'a', outputSchema: z.array(z.object({ type: z.string(), text: z.string() })) });
  const named = agent({ name: 'b', outputSchema: z.object({ prompt: z.string(), more: z.number() }) });
  const team = sequential({ name: 's', children: [list, named, leaf('c')] });
  const json = '[{"type":"text","text":"x"}]';
  const { model } = await runTeam(team, { ...abc, a: [{ text: json }], b: [{ text: '{"prompt":"y","more":1}' }] });
  expect(lastTextGiven(model, 'b')).toBe(json);
  expect(lastTextGiven(model, 'c')).toBe('{"prompt":"y","more":1}');
});

test('a child whose input does not fit fails before it starts', async () => {
  const picky = agent({ name: 'b', inputSchema: z.object({ topic: z.string() }) });
  const { events, result } = await runTeam(sequential({ name: 's', children: [leaf('a'), picky] }), abc);
  expect(startedIn(events)).toEqual(['a']);
  expect(result.data).toMatchObject({ code: 'INVALID_INPUT', failures: { b: { code: 'INVALID_INPUT' } } });
  expect(result.data.message).toContain('topic');
});

test('a child is given what its own schema makes of its input, defaults included', async () => {
  const inputs: unknown[] = [];
  const writer = agent({
    name: 'b',
    inputSchema: z.object({ topic: z.string().trim(), words: z.number().default(100) }),
    instruction: ({ input }) => {
      inputs.push(input);
      return '';
    },
  });
  const facts = agent({ name: 'a', outputSchema: z.object({ topic: z.string() }) });
  const { model } = await runTeam(sequential({ name: 's', children: [facts, writer] }), {
    a: [{ text: '{"topic":" bees "}' }],
    b: [{ text: 'B' }],
  });
  expect(inputs).toEqual([{ topic: 'bees', words: 100 }]);
  expect(lastTextGiven(model, 'b')).toBe('{"topic":"bees","words":100}');
});

test('what a person sent beside text reaches the first child', async () => {
  const { model } = await runTeam(three(), abc, {
    input: [
      { type: 'text', text: 'look: ' },
      { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    ],
  });
  expect(lastTextGiven(model, 'a')).toBe('look: <media>');
});

test('each message runs it anew: fresh children, ordinals that go on', async () => {
  const { host, model } = hostWith({ a: () => ({ text: 'A' }), b: () => ({ text: 'B' }) });
  const session = host.session(sequential({ name: 's', children: [leaf('a'), leaf('b')] }));
  const threads: (string | undefined)[] = [];
  for (const content of ['one', 'two']) {
    const { stream } = session.stream({ kind: 'message', content });
    for await (const event of stream) if (event.type === 'agent_started') threads.push(event.threadId);
  }
  expect(threads).toEqual(['a_1', 'b_2', 'a_3', 'b_4']);
  expect(textsGiven(model, 'a', 1)).toEqual(['two']);
  await host.close();
});

test('agent_completed says how a child came out', async () => {
  const { events } = await runTeam(three(), { ...abc, c: [boom()] });
  expect(ofType(events, 'agent_completed')).toMatchObject([
    { agentName: 'a', threadId: 'a_1', reason: 'completed', result: 'A', source: 'host' },
    { agentName: 'b', threadId: 'b_2', reason: 'completed', result: 'B' },
    { agentName: 'c', threadId: 'c_3', reason: 'failed', error: { code: 'BOOM', message: 'boom' } },
  ]);
  expect(ofType(events, 'agent_completed')[2]).not.toHaveProperty('result');
});

test('a child whose executor cannot be made fails, and leaves nothing behind (B075)', async () => {
  const { host } = hostWith(abc);
  host.registerExecutor('broken', () => {
    throw new Error('no backend');
  });
  const team = sequential({ name: 's', children: [leaf('a'), agent({ name: 'b', executor: 'broken' }), leaf('c')] });
  const run = host.run(team, 'go');
  const events = await collect(run);
  expect(endsIn(events)).toEqual(['a_1: completed', 'b_2: failed', '-: failed']);
  expect((await run.result).data).toMatchObject({
    message: 'b: no backend',
    failures: { b: { message: 'no backend' } },
  });
  expect(run.state().threads).toHaveLength(1);
  expect(() => run.steer({ message: 'hello' }, { threadId: 'b_2' })).toThrow();
  await host.close();
});
