import { expect, test } from 'vitest';
import type { Executor, SessionProvider } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, parallel, sequential, tool } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import { collect, consumerTool, leaf, logOf, ofType, readAll, settle, textIn } from '../support/team.js';
import { call, gate } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

/** The memory store, asked over a network. */
function slowStore(): SessionProvider {
  const memory = memoryStore();
  return {
    create: (...args) => settle(2).then(() => memory.create(...args)),
    load: (id) => settle(2).then(() => memory.load(id)),
    list: (...args) => memory.list(...args),
    delete: (id) => memory.delete(id),
  };
}

test('one may steer, update, attach to and cancel in a run whose session is still being opened', async () => {
  const one = scriptedModel(() => ({ text: 'from one' }));
  const two = scriptedModel(() => ({ text: 'from two' }));
  await using host = createHost({ models: { one, two }, store: slowStore() });
  const run = host.run(agent({ name: 'a', model: 'one' }), 'go');
  run.steer({ message: 'be brief' });
  run.update({ model: 'two', title: 'T' });
  run.abort('no such call', { requestId: 'nope' });
  run.abort('no such thread', { threadId: 'b_1' });
  const attached = collect(host.attach(run.sessionId));
  const events = await collect(run);
  expect(textIn(events)).toBe('from two');
  expect(JSON.stringify(two.requests[0]!.messages)).toContain('be brief');
  expect(ofType(events, 'custom')).toMatchObject([
    { data: { code: 'NOT_DONE', text: expect.stringContaining('nope') } },
  ]);
  // What the caller said stands in the log alone, until it takes effect.
  const shown = (await attached).filter((event) => event.type !== 'custom' || event.kind !== 'steer');
  expect(shown.map((event) => event.seq)).toEqual(events.map((event) => event.seq));
});

test('a session that is still being opened is open: a second run with its id is refused, and it is not deleted', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store: slowStore() });
  const first = host.run(leaf('a'), 'go', { sessionId: 'one' });
  expect(() => host.run(leaf('a'), 'go', { sessionId: 'one' })).toThrow(
    expect.objectContaining({ code: 'SESSION_BUSY' }),
  );
  await expect(host.delete('one')).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  expect(await first.result).toMatchObject({ ok: true });
  expect(await host.run(leaf('a'), 'go', { sessionId: 'one' }).result).toMatchObject({ ok: true });
});

test('sessions are listed by agent, newest first, and deleted once they have ended', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  const a = host.run(leaf('a'), 'go');
  const session = host.session(leaf('b'));
  await Promise.all([a.result, collect(session.stream(message()).stream)]);
  expect((await host.list()).map((one) => one.agentName).sort()).toEqual(['a', 'b']);
  expect(await host.list('b')).toMatchObject([{ id: session.sessionId, agentName: 'b' }]);
  await expect(host.delete(session.sessionId)).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  await session.close();
  await host.delete(session.sessionId);
  await expect(host.delete(session.sessionId)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  expect(await host.list('b')).toEqual([]);
});

test('what is wrong with the options of a host is told all at once', () => {
  const same = tool({ name: 'same', description: '.', parameters: { type: 'object' }, execute: () => '' });
  const make = () =>
    createHost({
      tools: [same, same],
      agents: [leaf('a'), leaf('a')],
      elicitation: 'maybe' as never,
      limits: { concurrency: 0, abortTimeoutMs: -1, providers: { x: { concurrency: Number.NaN } } },
    });
  expect(make).toThrow(
    expect.objectContaining({
      problems: expect.arrayContaining([
        expect.objectContaining({ path: 'tools' }),
        expect.objectContaining({ path: 'agents' }),
        expect.objectContaining({ path: 'elicitation' }),
        expect.objectContaining({ path: 'limits.concurrency' }),
        expect.objectContaining({ path: 'limits.abortTimeoutMs' }),
        expect.objectContaining({ path: 'limits.providers.x.concurrency' }),
      ]),
    }),
  );
});

test('an executor is registered under one name, and an agent whose executor nobody registered is refused', async () => {
  await using host = createHost({});
  host.registerExecutor('own', () => ({ turn: async () => ({ reason: 'completed' }) }));
  expect(() => host.registerExecutor('own', () => ({ turn: async () => undefined }))).toThrow('registered already');
  expect(() => host.run(agent({ name: 'a', executor: 'onw' }), 'go')).toThrow(
    expect.objectContaining({ code: 'UNKNOWN_EXECUTOR', message: expect.stringMatching(/own/) }),
  );
  expect(host.supports('attach')).toBe(true);
  expect(host.supports('teleport')).toBe(false);
  expect(host.describe(sequential({ name: 's', children: [leaf('a')] }))).toMatchObject({
    name: 's',
    subAgents: [{ name: 'a' }],
  });
});

test('an error that an executor marks fatal ends its session with the run', async () => {
  const broken: Executor = {
    async turn(_, context) {
      await context.publish({ type: 'error', code: 'GONE', message: 'the backend is gone', fatal: true });
      return { reason: 'failed', data: { code: 'GONE', message: 'the backend is gone' } };
    },
  };
  await using host = createHost({});
  host.registerExecutor('broken', () => broken);
  const session = host.session(agent({ name: 'a', executor: 'broken' }));
  const events = await collect(session.stream(message()).stream);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed', data: { code: 'GONE' } });
  expect(session.state()).toEqual({ type: 'error', reason: 'failed' });
});

test('an executor that throws fails the run; the session goes on', async () => {
  let turns = 0;
  const flaky: Executor = {
    async turn() {
      if (++turns === 1) throw new Error('broke');
      return { reason: 'completed', data: { result: 'fine' } };
    },
  };
  await using host = createHost({});
  host.registerExecutor('flaky', () => flaky);
  const session = host.session(agent({ name: 'a', executor: 'flaky' }));
  const events = await collect(session.stream(message()).stream);
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', code: 'EXECUTOR_FAILED', message: 'broke' },
    { type: 'stream_end', reason: 'failed' },
  ]);
  expect((await readAll(session.stream(message()).stream)).at(-1)).toMatchObject({ data: { result: 'fine' } });
});

test('B015: one call of three is cancelled by itself; the others go on, and nothing waits for it', async () => {
  const gates = ['one', 'two', 'three'].map((name) => gate(name));
  const model = scriptedModel([
    { toolCalls: gates.map((one, at) => ({ id: `c${at}x`, name: one.tool.name, args: {} })) },
    { text: 'done' },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'a', tools: gates.map((one) => one.tool) }), 'go');
  const reading = collect(run);
  await Promise.all(gates.map((one) => one.running));
  run.abort('not that one', { requestId: 'c1x' });
  expect(gates[1]!.isAborted()).toBe(true);
  gates[0]!.open('1');
  gates[2]!.open('3');
  const events = await reading;
  expect(ofType(events, 'tool_response').map((event) => [event.requestId, event.errorType])).toEqual([
    ['c1x', 'cancelled'],
    ['c0x', undefined],
    ['c2x', undefined],
  ]);
  expect(events.at(-1)).toMatchObject({ reason: 'completed' });
});

test('B188: every prefix of a run is valid, its stream and its log, however it ends; nothing comes after the end', async () => {
  const store = memoryStore();
  const work = gate('work');
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'a', tools: [work.tool] }), leaf('b'), leaf('c')],
  });
  const model = scriptedModel({
    byAgent: {
      a: [{ text: ['let', ' me'], ...call('work') }],
      b: [{ text: ['b', 'b'], usage: { inputTokens: 1 } }],
      c: [{ error: { code: 'INVALID_ARGUMENT', message: 'no' } }],
    },
  });
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(team, 'go');
  const reading = collect(run);
  await work.running;
  run.abort('enough');
  const events = await reading;
  await settle();
  const log = await logOf(store, run.sessionId);
  for (const list of [events, log]) {
    for (let length = 0; length <= list.length; length++) expect(validateLog(list.slice(0, length))).toEqual([]);
    expect(validateLog(list, { finished: true })).toEqual([]);
    expect(list.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  }
});

test('parts go in as they are, and the log survives a trip through JSON', async () => {
  const store = memoryStore();
  const model = scriptedModel([
    { toolCalls: [{ id: 'x', name: 'mine', args: { deep: { n: [1, null] } } }] },
    { text: 'ok' },
  ]);
  await using host = createHost({ models: { scripted: model }, store });
  const parts = [
    { type: 'text' as const, text: 'look' },
    { type: 'media' as const, mimeType: 'image/png', data: 'AAAA' },
  ];
  const run = host.run(leaf('a'), parts, { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  for await (const event of run)
    if (event.type === 'tool_request') void settle(20).then(() => run.respond('x', { result: { n: 1 } }));
  expect(model.requests[0]!.messages[0]!.content).toEqual(parts);
  const log = await logOf(store, run.sessionId);
  expect(JSON.parse(JSON.stringify(log))).toEqual(log);
});
