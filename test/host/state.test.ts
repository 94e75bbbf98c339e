import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentDefinition } from '../../src/contracts/index.js';
import { agent, hierarchical, loop, parallel, sequential, tool, transfer } from '../../src/index.js';
import { seededRandom, shuffled } from '../../src/testing/index.js';
import { collect, deferred, leaf, ofType } from '../support/team.js';
import { boom, call, hostWith, lastTextGiven, runTeam } from '../support/teams.js';

/** Writes a key; says what it read before. */
const put = tool({
  name: 'put',
  description: 'Writes a key of the state.',
  parameters: z.object({ key: z.string(), value: z.unknown() }),
  annotations: { readOnly: true },
  execute({ key, value }, { state }) {
    const before = state.get(key);
    state.set(key, value);
    return { before: before ?? null, after: state.get(key) ?? null };
  },
});
const writes = <const Name extends string>(name: Name) => agent({ name, tools: [put] });
const set = (key: string, value: unknown) => call('put', { key, value });
const finalState = (events: Awaited<ReturnType<typeof collect>>) =>
  Object.assign(
    {},
    ...ofType(events, 'session_update')
      .filter((event) => event.threadId === undefined)
      .map((event) => event.stateDelta),
  ) as Record<string, unknown>;

test('outputKey takes the result, and those after it read it', async () => {
  const team = sequential({
    name: 's',
    children: [
      agent({ name: 'a', outputKey: 'draft' }),
      agent({ name: 'b', instruction: 'Polish: {state.draft}', outputKey: 'final' }),
    ],
    outputKey: 'whole',
  });
  const { events, model } = await runTeam(team, { a: [{ text: 'A' }], b: [{ text: 'B' }] });
  expect(model.requests[1]?.systemInstruction).toBe('Polish: A');
  expect(finalState(events)).toEqual({ draft: 'A', final: 'B', whole: 'B' });
  expect(ofType(events, 'agent_completed').map((event) => event.stateDelta)).toEqual([{ draft: 'A' }, { final: 'B' }]);
});

test('an outputKey takes data as data, and the map of a parallel', async () => {
  const facts = agent({ name: 'a', outputSchema: z.object({ n: z.number() }), outputKey: 'facts' });
  const team = sequential({
    name: 's',
    children: [
      parallel({ name: 'p', children: [facts, leaf('b')], outputKey: 'gathered' }),
      agent({ name: 'c', instruction: 'Use {state.gathered}, {state.facts.n}.' }),
    ],
  });
  const { model } = await runTeam(team, { a: [{ text: '{"n":1}' }], b: [{ text: 'B' }], c: [{ text: 'C' }] });
  expect(model.requests[2]?.systemInstruction).toBe('Use {"a":{"n":1},"b":"B"}, 1.');
});

test('a leader writes its outputKey, and so does what it leads for', async () => {
  const lead = hierarchical({
    name: 'lead',
    agent: agent({ name: 'planner', outputKey: 'plan' }),
    children: [leaf('a')],
    outputKey: 'led',
  });
  const { events } = await runTeam(lead, { planner: [{ text: 'P' }] });
  expect(finalState(events)).toEqual({ plan: 'P', led: 'P' });
});

test('what did not complete writes no outputKey', async () => {
  const team = sequential({
    name: 's',
    onFailure: 'continue',
    children: [agent({ name: 'a', outputKey: 'k' }), agent({ name: 'b', instruction: '{state.k}' })],
  });
  const { model } = await runTeam(team, { a: [boom()], b: [{ text: 'B' }] });
  expect(model.requests[1]?.systemInstruction).toBe('{state.k}');
});

test('a result that the key’s reducer does not take is a failure of its agent', async () => {
  const team = sequential({
    name: 's',
    state: { total: { initial: 0, reducer: 'sum' } },
    children: [agent({ name: 'a', outputKey: 'total' })],
  });
  const { result, events } = await runTeam(team, { a: [{ text: 'no number' }] });
  expect(ofType(events, 'error')).toMatchObject([{ code: 'INVALID_INPUT' }]);
  expect(result).toMatchObject({ reason: 'failed', data: { failures: { a: { code: 'INVALID_INPUT' } } } });
});

test('what a tool writes counts once its call has ended, and for the next child', async () => {
  const team = sequential({ name: 's', state: { k: { initial: 0 } }, children: [writes('a'), writes('b')] });
  const { events, model } = await runTeam(team, {
    a: [set('k', 1), { text: 'A' }],
    b: [set('k', 2), { text: 'B' }],
  });
  expect(lastTextGiven(model, 'a', 1)).toBe('<function_response>');
  const said = ofType(events, 'tool_response').map((event) => event.data);
  expect(said).toEqual([
    { before: 0, after: 1 },
    { before: 1, after: 2 },
  ]);
  const updates = ofType(events, 'session_update').map((event) => [event.threadId ?? '-', event.stateDelta]);
  expect(updates).toEqual([
    ['a_1', { k: 1 }],
    ['-', { k: 1 }],
    ['b_2', { k: 2 }],
    ['-', { k: 2 }],
  ]);
});

test('writes of calls that run together count in the order of the calls, not of their ends (B018)', async () => {
  const gates = new Map([1, 2].map((n) => [n, deferred()]));
  const slow = tool({
    name: 'slow',
    description: 'Writes once it may.',
    parameters: z.object({ n: z.number() }),
    annotations: { readOnly: true },
    async execute({ n }, { state }) {
      await gates.get(n)?.promise;
      state.set('last', n);
      state.set('all', [n]);
      gates.get(1)?.resolve();
      return 'ok';
    },
  });
  const one = sequential({
    name: 's',
    state: { last: {}, all: { initial: [] as number[], reducer: 'append' } },
    children: [agent({ name: 'a', tools: [slow] })],
  });
  gates.get(2)?.resolve();
  const both = { toolCalls: [1, 2].map((n) => ({ name: 'slow', args: { n } })) };
  const { events } = await runTeam(one, { a: [both, { text: 'A' }] });
  expect(ofType(events, 'tool_response').map((event) => event.requestId)).not.toEqual(
    ofType(events, 'tool_request').map((event) => event.requestId),
  );
  expect(finalState(events)).toEqual({ last: 2, all: [1, 2] });
});

test('a call that fails writes nothing', async () => {
  const failing = tool({
    name: 'failing',
    description: 'Writes, then fails.',
    parameters: z.object({}),
    annotations: { readOnly: true },
    execute(_, { state }) {
      state.set('k', 'lost');
      throw new Error('no');
    },
  });
  const team = sequential({ name: 's', state: { k: {} }, children: [agent({ name: 'a', tools: [failing] })] });
  const { events } = await runTeam(team, { a: [call('failing'), { text: 'A' }] });
  expect(finalState(events)).toEqual({});
});

test('a key that nothing declares is refused, with the nearest one that is declared', async () => {
  const team = sequential({ name: 's', state: { notes: {} }, children: [writes('a')] });
  const { events } = await runTeam(team, { a: [set('note', 1), { text: 'A' }] });
  const [response] = ofType(events, 'tool_response');
  expect(response).toMatchObject({ isError: true });
  expect(JSON.stringify(response?.llmContent)).toContain(
    'state key \\"note\\" is not declared (did you mean \\"notes\\"?)',
  );
});

test('a value from outside changes no prototype, and keeps what it says (B018)', async () => {
  const team = sequential({ name: 's', state: { user: {}, other: {} }, children: [writes('a')] });
  const evil = JSON.parse('{"__proto__":{"polluted":1},"name":"x"}') as object;
  const { events } = await runTeam(team, {
    a: [{ toolCalls: [set('user', evil), set('other', { ok: 1 })].flatMap((one) => one.toolCalls) }, { text: 'A' }],
  });
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
  const { user, other } = finalState(events) as { user: object; other: object };
  expect([user, other]).toEqual([{ name: 'x' }, { ok: 1 }]);
  expect([Object.prototype, null]).toContain(Object.getPrototypeOf(user));
});

test('children read the state as it was when they started, and branches see nothing of one another', async () => {
  const team = parallel({
    name: 'p',
    state: { list: { initial: ['start'], reducer: 'append' } },
    children: [writes('a'), writes('b')],
  });
  const { events } = await runTeam(team, {
    a: [set('list', ['a1']), set('list', ['a2']), { text: 'A' }],
    b: [set('list', ['b1']), { text: 'B' }],
  });
  const before = ofType(events, 'tool_response').map((event) => (event.data as { before: unknown }).before);
  expect(before).toEqual([['start'], ['start'], ['start', 'a1']]);
  expect(finalState(events)).toEqual({ list: ['start', 'a1', 'a2', 'b1'] });
});

test('branches are merged in the order of their start, whatever the reducer', async () => {
  const team = parallel({
    name: 'p',
    state: {
      all: { initial: [] as string[], reducer: 'append' },
      sum: { initial: 10, reducer: 'sum' },
      latest: { reducer: 'last' },
      own: { initial: '', reducer: (current: string, update: string) => `${current}${update};` },
    },
    children: [writes('a'), writes('b')],
  });
  const all = (name: string, n: number) => ({
    toolCalls: [set('all', [name]), set('sum', n), set('latest', name), set('own', name)].flatMap(
      (one) => one.toolCalls,
    ),
  });
  const { events } = await runTeam(team, { a: [all('a', 1), { text: 'A' }], b: [all('b', 2), { text: 'B' }] });
  expect(finalState(events)).toEqual({ all: ['a', 'b'], sum: 13, latest: 'b', own: 'a;b;' });
});

test('two branches that write different values to one key without a reducer fail the run, a hundred orders alike (B020)', async () => {
  const random = seededRandom(20);
  const outcomes = new Set<string>();
  for (let round = 0; round < 100; round++) {
    const gates = new Map(['a', 'b', 'c'].map((name) => [name, deferred()]));
    const wait = tool({
      name: 'wait',
      description: 'Writes k when it may.',
      parameters: z.object({ name: z.string(), value: z.unknown() }),
      annotations: { readOnly: true },
      async execute({ name, value }, { state }) {
        await gates.get(name)?.promise;
        if (value !== undefined) state.set('k', value);
        return 'ok';
      },
    });
    const branch = (name: string) => agent({ name, tools: [wait] });
    const team = parallel({ name: 'p', state: { k: {} }, children: ['a', 'b', 'c'].map(branch) });
    const { host } = hostWith({
      a: [call('wait', { name: 'a', value: 1 }), { text: 'A' }],
      b: [call('wait', { name: 'b', value: 2 }), { text: 'B' }],
      c: [call('wait', { name: 'c' }), { text: 'C' }],
    });
    const run = host.run(team as AgentDefinition, 'go');
    const events = collect(run);
    for (const name of shuffled(gates.keys(), random)) {
      gates.get(name)?.resolve();
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    const all = await events;
    const errors = ofType(all, 'error').map(({ code, message, details }) => ({ code, message, details }));
    const { reason, data } = await run.result;
    outcomes.add(JSON.stringify({ errors, reason, data }));
    expect(finalState(all)).toEqual({});
    await host.close();
  }
  const message = 'state was written differently: "k" by a and b; declare a reducer';
  expect([...outcomes].map((text) => JSON.parse(text) as unknown)).toEqual([
    {
      errors: [{ code: 'STATE_CONFLICT', message, details: { conflicts: [{ key: 'k', branches: ['a', 'b'] }] } }],
      reason: 'failed',
      data: {
        code: 'STATE_CONFLICT',
        message,
        result: { a: 'A', b: 'B', c: 'C' },
        results: { a: 'A', b: 'B', c: 'C' },
      },
    },
  ]);
});

test('branches that write the same value, or only one that writes, are no conflict', async () => {
  const team = parallel({ name: 'p', state: { k: {}, l: {} }, children: [writes('a'), writes('b')] });
  const { events, result } = await runTeam(team, {
    a: [set('k', { x: 1, y: 2 }), { text: 'A' }],
    b: [set('k', { y: 2, x: 1 }), set('l', 3), { text: 'B' }],
  });
  expect(result.ok).toBe(true);
  expect(finalState(events)).toEqual({ k: { x: 1, y: 2 }, l: 3 });
});

test('what a failed branch wrote is no part of the merge', async () => {
  const team = parallel({ name: 'p', state: { k: {} }, children: [writes('a'), writes('b')] });
  const { events, result } = await runTeam(team, { a: [set('k', 1), { text: 'A' }], b: [set('k', 2), boom()] });
  expect(result).toMatchObject({ ok: true, result: { a: 'A' } });
  expect(finalState(events)).toEqual({ k: 1 });
});

test('a reducer that throws is an error of the run, not of the host', async () => {
  const team = parallel({
    name: 'p',
    state: {
      k: {
        initial: 0,
        reducer: (current: number, update: number) => {
          if (current > 0) throw new Error('full');
          return update;
        },
      },
    },
    children: [writes('a'), writes('b')],
  });
  const { events, result } = await runTeam(team, { a: [set('k', 1), { text: 'A' }], b: [set('k', 2), { text: 'B' }] });
  expect(ofType(events, 'error').map((event) => event.code)).toEqual(['STATE_REDUCER_FAILED']);
  expect(result).toMatchObject({
    reason: 'failed',
    data: { code: 'STATE_REDUCER_FAILED', result: { a: 'A', b: 'B' } },
  });
});

test('until and mapInput read what was written', async () => {
  const inputs: unknown[] = [];
  const team = loop({
    name: 'l',
    state: { n: { initial: 0, reducer: 'sum' } },
    children: [writes('a')],
    maxIterations: 9,
    mapInput: (_, { state }) => {
      inputs.push(state.n);
      return undefined;
    },
    until: ({ state }) => state.n >= 3,
  });
  const { result } = await runTeam(team, { a: (_: never, n: number) => (n % 2 === 0 ? set('n', 1) : { text: 'A' }) });
  expect(inputs).toEqual([0, 1, 2]);
  expect(result.data).toMatchObject({ exit: 'until', iterations: 3 });
});

test('a child that a leader called hands up its writes in the order of the calls', async () => {
  const lead = hierarchical({
    name: 'lead',
    state: { all: { initial: [] as string[], reducer: 'append' }, last: {} },
    agent: writes('planner'),
    children: [writes('a'), writes('b')],
  });
  const both = { toolCalls: ['a', 'b'].map((name) => ({ name, args: { prompt: 'x' } })) };
  const turn = (name: string) => [
    { toolCalls: [...set('all', [name]).toolCalls, ...set('last', name).toolCalls] },
    { text: name },
  ];
  const { events } = await runTeam(lead, {
    planner: [both, set('all', ['p']), { text: 'P' }],
    a: turn('a'),
    b: turn('b'),
  });
  expect(finalState(events)).toEqual({ all: ['a', 'b', 'p'], last: 'b' });
});

test('members of a transfer go on with what the one before wrote', async () => {
  const team = transfer({ name: 't', state: { k: { initial: 0 } }, members: [writes('a'), writes('b')], start: 'a' });
  const { events } = await runTeam(team, {
    a: [set('k', 1), call('transfer_to_agent', { target: 'b' })],
    b: [set('k', 2), { text: 'B' }],
  });
  expect(ofType(events, 'tool_response').map((event) => event.data)).toEqual([
    { before: 0, after: 1 },
    undefined,
    { before: 1, after: 2 },
  ]);
});

test('the state of a standing session goes on from message to message', async () => {
  const { host } = hostWith({ a: (_: never, n: number) => (n % 2 === 0 ? set('n', 1) : { text: 'A' }) });
  const session = host.session(
    sequential({ name: 's', state: { n: { initial: 0, reducer: 'sum' } }, children: [writes('a')] }),
  );
  const seen: unknown[] = [];
  for (let round = 0; round < 3; round++) {
    const { stream } = session.stream({ kind: 'message', content: 'go' });
    for await (const event of stream) if (event.type === 'tool_response') seen.push(event.data);
  }
  expect(seen).toEqual([
    { before: 0, after: 1 },
    { before: 1, after: 2 },
    { before: 2, after: 3 },
  ]);
  await host.close();
});

test('nested declarations must agree', () => {
  const inner = parallel({ name: 'p', state: { k: { initial: 1, reducer: 'sum' } }, children: [leaf('a')] });
  expect(() => sequential({ name: 's', state: { k: { initial: 0, reducer: 'sum' } }, children: [inner] })).toThrow(
    'state key "k" starts as 1, in s.state as 0',
  );
});
