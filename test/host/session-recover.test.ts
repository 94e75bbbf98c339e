import { expect, test } from 'vitest';
import type { AgentDefinition, AgentEvent, ModelMessage, SessionProvider } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, parallel, sequential, tool, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { type Script, type ScriptedModel, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { collect, consumerTool, leaf, logOf, ofType, readAll, refusalOf, settle, textIn } from '../support/team.js';
import { call } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const sessionId = 'the-session';

/** The same messages, once to one standing session, once to a session that is found in the store each time, by another host. */
async function bothWays(
  team: () => AgentDefinition,
  script: Script,
  inputs: string[],
): Promise<{ standing: ScriptedModel; stored: ScriptedModel; log: AgentEvent[]; runs: AgentEvent[][] }> {
  const standing = scriptedModel(script);
  {
    await using host = createHost({ models: { scripted: standing }, clock: virtualClock() });
    const session = host.session(team());
    for (const input of inputs) await readAll(session.stream(message(input)).stream);
  }
  const stored = scriptedModel(script);
  const store = memoryStore();
  const runs: AgentEvent[][] = [];
  for (const input of inputs) {
    await using host = createHost({ models: { scripted: stored }, store, clock: virtualClock() });
    runs.push(await readAll(host.run(team(), input, { sessionId })));
  }
  return { standing, stored, runs, log: await logOf(store, sessionId) };
}

const withoutIds = (messages: readonly ModelMessage[]) => JSON.parse(JSON.stringify(messages));

function expectSameRequests(one: ScriptedModel, other: ScriptedModel): void {
  const of = (model: ScriptedModel) =>
    model.requests.map(({ messages, tools }) => ({ messages: withoutIds(messages), tools }));
  expect(of(other)).toEqual(of(one));
}

test('a run with the id of a stored session goes on with it: the model sees what it would have seen', async () => {
  const read = tool({
    name: 'read',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'r',
  });
  const team = () => agent({ name: 'a', tools: [read] });
  const script: Script = [
    {
      thought: 'hm',
      text: 'one',
      toolCalls: [
        { id: 'x', name: 'read', args: { n: 1 }, thoughtSignature: 'sig' },
        { id: 'y', name: 'nosuch', args: {} },
      ],
    },
    { text: ['fi', 'rst'] },
    { toolCalls: [{ id: 'x', name: 'read', args: { n: 2 } }] },
    { text: 'second' },
    { text: 'third' },
  ];
  const { standing, stored, log, runs } = await bothWays(team, script, ['1', '2', '3']);
  expectSameRequests(standing, stored);
  for (const { messages } of stored.requests) expect(findBrokenPairs(messages)).toEqual([]);
  expect(validateLog(log, { finished: true })).toEqual([]);
  expect(validateLog(runs.flat(), { finished: true })).toEqual([]);
  expect(runs.map((run) => run[0])).toMatchObject([
    { type: 'initialize' },
    { type: 'initialize', resumed: true },
    { type: 'initialize', resumed: true },
  ]);
});

test('a leader remembers; its children begin anew, and their ordinals go on', async () => {
  const team = () => hierarchical({ name: 'lead', agent: leaf('boss'), children: [leaf('a'), leaf('b')] });
  const ask = (...names: string[]) => ({ toolCalls: names.map((name) => ({ name, args: { prompt: 'x' } })) });
  const script: Script = {
    byAgent: {
      boss: [ask('a', 'b'), { text: 'one' }, ask('b'), { text: 'two' }],
      a: [{ text: 'A1' }],
      b: [{ text: 'B1' }, { text: 'B2' }],
    },
  };
  const { standing, stored, log } = await bothWays(team, script, ['1', '2']);
  expectSameRequests(standing, stored);
  expect(ofType(log, 'agent_started').map((event) => event.threadId)).toEqual(['a_1', 'b_2', 'b_3']);
  expect(validateLog(log, { finished: true })).toEqual([]);
});

test('a sequence runs anew; its state and its ordinals go on', async () => {
  const count = tool({
    name: 'count',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { state }) => {
      state.set('seen', 1);
      state.set('names', ['n']);
      return 'counted';
    },
  });
  const team = () =>
    sequential({
      name: 's',
      children: [
        agent({ name: 'a', tools: [count], instruction: 'seen {state.seen} names {state.names}', outputKey: 'last' }),
        parallel({ name: 'p', children: [agent({ name: 'b', tools: [count] }), agent({ name: 'c', tools: [count] })] }),
        agent({ name: 'd', instruction: 'seen {state.seen} last {state.last}' }),
      ],
      state: { seen: { initial: 0, reducer: 'sum' }, names: { reducer: 'append' }, last: {} },
    });
  const twice = [call('count'), { text: 'ok' }, call('count'), { text: 'ok' }];
  const script: Script = {
    byAgent: { a: twice, b: twice, c: twice, d: [{ text: 'd1' }, { text: 'd2' }] },
  };
  const { standing, stored, log } = await bothWays(team, script, ['1', '2']);
  const instructions = (model: ScriptedModel) =>
    model.requests.map((request) => request.systemInstruction).filter((text) => text !== undefined);
  expect(instructions(stored)).toEqual(instructions(standing));
  expect(instructions(stored)).toEqual([
    'seen 0 names []',
    'seen 0 names []',
    'seen 3 last ok',
    'seen 3 names ["n","n","n"]',
    'seen 3 names ["n","n","n"]',
    'seen 6 last ok',
  ]);
  expect(ofType(log, 'agent_started').map((event) => event.threadId)).toEqual([
    'a_1',
    'p_2',
    'p_2.b_1',
    'p_2.c_2',
    'd_3',
    'a_4',
    'p_5',
    'p_5.b_1',
    'p_5.c_2',
    'd_6',
  ]);
});

test('a parallel of its own keeps what its branches agreed on', async () => {
  const add = tool({
    name: 'add',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { state }) => state.set('sum', 2),
  });
  const team = () =>
    parallel({
      name: 'p',
      children: ['a', 'b'].map((name) => agent({ name, tools: [add], instruction: 'sum {state.sum}' })),
      state: { sum: { initial: 0, reducer: 'sum' } },
    });
  const twice = [call('add'), { text: 'ok' }, call('add'), { text: 'ok' }];
  const { stored } = await bothWays(team, { byAgent: { a: twice, b: twice } }, ['1', '2']);
  expect(stored.requests.map((request) => request.systemInstruction)).toEqual([
    ...Array.from({ length: 4 }, () => 'sum 0'),
    ...Array.from({ length: 4 }, () => 'sum 4'),
  ]);
});

test('a transfer goes on with the member last active, which sees the conversation as it did', async () => {
  for (const context of ['full', { last: 2 }, 'none', 'summary'] as const) {
    const team = () =>
      transfer({
        name: 'desk',
        members: [leaf('triage'), leaf('billing')],
        start: 'triage',
        targets: { triage: ['billing'], billing: ['triage'] },
        context,
      });
    const script: Script = {
      byAgent: {
        triage: [
          { text: 'Hello!' },
          call('transfer_to_agent', { target: 'billing', reason: 'an invoice' }),
          { text: 'Me again.' },
        ],
        billing: [
          { text: 'Which invoice?' },
          { text: 'Paid.' },
          { toolCalls: [{ name: 'transfer_to_agent', args: { target: 'triage' } }] },
        ],
        desk: Array.from({ length: 4 }, () => ({ text: 'They spoke of an invoice.' })),
      },
    };
    const inputs = ['hi', 'an invoice is wrong', 'number 7', 'thanks, something else', 'and more'].slice(0, 4);
    const { standing, stored, log, runs } = await bothWays(team, script, inputs);
    expectSameRequests(standing, stored);
    expect(runs.map((run) => run.findLast((event) => event.type === 'agent_started')?.agentId)).toEqual([
      'triage',
      'billing',
      'billing',
      'triage',
    ]);
    for (const { messages } of stored.requests) expect(findBrokenPairs(messages)).toEqual([]);
    expect(validateLog(log, { finished: true })).toEqual([]);
  }
});

test('positions, ids and times go on from where the log ends, also in a host whose clock is behind', async () => {
  const store = memoryStore();
  const model = scriptedModel((_, at) => ({
    toolCalls: at % 2 === 0 ? [{ id: 'x', name: 'nosuch', args: {} }] : [],
    text: 'ok',
  }));
  const clocks = [virtualClock(5_000), virtualClock(1_000), virtualClock(9_000)];
  for (const clock of clocks) {
    await using host = createHost({ models: { scripted: model }, store, clock });
    await host.run(leaf('a'), 'go', { sessionId }).result;
  }
  const log = await logOf(store, sessionId);
  expect(validateLog(log, { finished: true })).toEqual([]);
  expect(new Set(ofType(log, 'tool_request').map((event) => event.requestId)).size).toBe(3);
  expect([...new Set(log.map((event) => Date.parse(event.timestamp)))]).toEqual([5_000, 9_000]);
});

test('what the session may do and has spent goes on: mode, model, budget, and what was always allowed', async () => {
  let runs = 0;
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => void runs++ });
  const store = memoryStore();
  const priced = { usage: { outputTokens: 1, cost: { usd: 0.4 } } };
  const one = scriptedModel((_, at) => (at % 2 === 0 ? { ...call('danger'), ...priced } : { text: 'ok', ...priced }));
  const other = scriptedModel(() => ({ text: 'from the other', ...priced }));
  const team = agent({ name: 'a', tools: [danger], model: 'one' });
  const begin = () => createHost({ models: { one, other }, store, elicitation: 'respond' });
  {
    await using host = begin();
    const run = host.run(team, 'go', { sessionId, permissionMode: 'auto_edit' });
    for await (const event of run) {
      if (event.type === 'elicitation_request') {
        run.respond(event.requestId, { action: 'accept', content: { outcome: 'proceed_always_tool' } });
      }
    }
  }
  {
    await using host = begin();
    const run = host.run(team, 'go', { sessionId });
    const events = await readAll(run);
    expect(ofType(events, 'elicitation_request')).toEqual([]);
    expect(events[0]).toMatchObject({ _meta: { permissionMode: 'auto_edit' } });
    expect(runs).toBe(2);
  }
  {
    await using host = begin();
    const session = host.session(team, { sessionId });
    session.update({ model: 'other', permissionMode: 'plan' });
    expect(textIn(await readAll(session.stream(message()).stream))).toBe('from the other');
  }
  await using host = begin();
  const events = await readAll(host.run(team, 'go', { sessionId, maxBudgetUsd: 2.1 }));
  expect(textIn(events)).toBe('from the other');
  expect(events[0]).toMatchObject({ model: 'other', _meta: { permissionMode: 'plan' } });
  expect(await host.run(team, 'go', { sessionId, maxBudgetUsd: 2.1 }).result).toMatchObject({ reason: 'max_budget' });
});

test('a session of the host takes up a stored one as well, by its id or as its first stream says', async () => {
  const store = memoryStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  await host.run(leaf('a'), 'one', { sessionId }).result;
  const session = host.session(leaf('a'), { sessionId });
  await readAll(session.stream(message('two')).stream);
  await session.close();
  const other = host.session(leaf('a'));
  await readAll(other.stream(message('three'), { sessionRef: sessionId }).stream);
  expect(other.sessionId).toBe(sessionId);
  expect(model.requests[2]!.messages.map((one) => (one.content[0] as { text: string }).text)).toEqual([
    'one',
    'ok',
    'two',
    'ok',
    'three',
  ]);
  const third = host.session(leaf('a'));
  expect(await refusalOf(third.stream(message(), { forkSession: true }).stream)).toBe('INVALID_OPTION');
});

test('a session that is open, another agent’s, or was cut off in a run is refused', async () => {
  const store = memoryStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'), { sessionId });
  await collect(session.stream(message()).stream);
  expect(() => host.run(leaf('a'), 'go', { sessionId })).toThrow(expect.objectContaining({ code: 'SESSION_BUSY' }));
  await session.close();
  await expect(host.run(leaf('b'), 'go', { sessionId }).result).rejects.toMatchObject({
    code: 'DEFINITION_CHANGED',
    message: expect.stringContaining('one of "a", not of "b"'),
  });
  // A process that died after any event but the last.
  const log = await logOf(store, sessionId);
  for (let length = 2; length < log.length; length++) {
    const cut = memoryStore();
    const handle = (await cut.create('a', { id: sessionId })) as Awaited<ReturnType<SessionProvider['load']>>;
    for (const event of log.slice(0, length)) void handle.append(event);
    // What a process that dies held is let go of.
    await handle.close();
    await using second = createHost({ models: { scripted: model }, store: cut });
    await expect(second.run(leaf('a'), 'go', { sessionId }).result).rejects.toMatchObject({
      code: 'SESSION_STALE',
      message: expect.stringContaining('in the middle of a run'),
    });
    expect(await logOf(cut, sessionId)).toHaveLength(length);
  }
  expect(model.requests).toHaveLength(1);
});

test('a session that was made and never used begins as a new one does', async () => {
  const store = memoryStore();
  await store.create('a', { id: sessionId });
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const events = await collect(host.run(leaf('a'), 'go', { sessionId }));
  expect(events[0]).toMatchObject({ type: 'initialize', seq: 1 });
  expect(ofType(events, 'initialize')[0]?.resumed).toBeUndefined();
});

test('a run after another with the same id waits until the first is in the store', async () => {
  const memory = memoryStore();
  const held: (() => void)[] = [];
  const store: SessionProvider = {
    ...memory,
    create: (...args) => {
      const handle = memory.create(...args) as Awaited<ReturnType<SessionProvider['load']>>;
      return new Proxy(handle, {
        get(target, key) {
          if (key === 'close')
            return () => new Promise<void>((resolve) => held.push(resolve)).then(() => target.close());
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  await host.run(leaf('a'), 'one', { sessionId }).result;
  const second = host.run(leaf('a'), 'two', { sessionId });
  await settle();
  expect(model.requests).toHaveLength(1);
  held[0]!();
  expect(await second.result).toMatchObject({ ok: true });
  expect(model.requests[1]!.messages).toHaveLength(3);
});

test('a run that was aborted, or waited in vain, is history as any other', async () => {
  const store = memoryStore();
  const model = scriptedModel([{ toolCalls: [{ id: 'x', name: 'mine', args: {} }] }, { text: 'fine' }]);
  {
    await using host = createHost({ models: { scripted: model }, store });
    const session = host.session(leaf('a'), { sessionId, tools: [consumerTool('mine')], permissionMode: 'autonomous' });
    await readAll(session.stream(message()).stream);
  }
  await using host = createHost({ models: { scripted: model }, store });
  await host.run(leaf('a'), 'again', { sessionId }).result;
  expect(findBrokenPairs(model.requests[1]!.messages)).toEqual([]);
  expect(model.requests[1]!.messages.map((one) => one.role)).toEqual(['user', 'model', 'user', 'user']);
});
