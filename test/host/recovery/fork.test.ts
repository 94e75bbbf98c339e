import { expect, test } from 'vitest';
import type { SessionHandle, SessionProvider } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, tool } from '../../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn } from '../../support/broken-log.js';
import { stores } from '../../support/stores.js';
import { leaf, logOf, ofType, readAll, settle } from '../../support/team.js';
import { gate, until } from '../../support/teams.js';

const sessionId = 'source';

const payer = (ran: string[]) =>
  agent({
    name: 'a',
    tools: [
      tool({
        name: 'pay',
        description: '.',
        parameters: { type: 'object' },
        execute: (_, { requestId }) => {
          ran.push(requestId);
          return 'paid';
        },
      }),
    ],
  });

const model = () =>
  scriptedModel((request) =>
    answersIn(request).length === 0 ? { toolCalls: [{ name: 'pay', args: {} }] } : { text: 'done' },
  );

test.each(stores)('a fork goes on by itself, and its source does not change (%s)', async (_, makeStore) => {
  const store = makeStore();
  const heard = scriptedModel([{ text: 'one' }, { text: 'two' }, { text: 'other two' }]);
  await using host = createHost({ models: { scripted: heard }, store, clock: virtualClock() });
  await host.run(leaf('a'), 'first', { sessionId }).result;
  const end = (await logOf(store, sessionId)).at(-1)?.seq as number;
  await host.run(leaf('a'), 'second', { sessionId }).result;
  const before = await logOf(store, sessionId);
  const { sessionId: forked, at } = await host.fork(sessionId, { at: end });
  expect(at).toBe(end);
  expect(forked).not.toBe(sessionId);
  expect((await host.run(leaf('a'), 'instead', { sessionId: forked }).result).text).toBe('other two');
  expect(heard.requests.at(-1)?.messages.map(({ content }) => content[0])).toMatchObject([
    { text: 'first' },
    { text: 'one' },
    { text: 'instead' },
  ]);
  expect(await logOf(store, sessionId)).toEqual(before);
  expect(validateLog(await logOf(store, forked), { finished: true })).toEqual([]);
});

test('while an approval is open a fork is taken back to where none was, says so, and shares nothing', async () => {
  const store = memoryStore();
  const ran: string[] = [];
  const team = payer(ran);
  await using host = createHost({ models: { scripted: model() }, store, agents: [team], clock: virtualClock() });
  const run = host.run(team, 'go', { sessionId });
  const reading = readAll(run);
  await until(() => run.state().pending.length === 1);
  const { sessionId: forked, at } = await host.fork(sessionId);
  const open = ofType(await logOf(store, sessionId), 'tool_request')[0];
  expect(at).toBeLessThan(open?.seq as number);
  const log = await logOf(store, forked);
  expect(validateLog(log)).toEqual([]);
  expect(ofType(log, 'tool_request')).toEqual([]);
  expect(log.at(-1)).toMatchObject({ type: 'custom', kind: 'notice', data: { code: 'FORK_MOVED' } });

  // The model call that was in flight there is made again.
  const other = await host.resume(forked);
  for await (const event of other) {
    if (event.type === 'elicitation_request') other.respond(event.requestId, { action: 'decline' });
  }
  expect(await other.result).toMatchObject({ ok: true });
  expect(ran).toEqual([]);
  expect(run.state().pending).toHaveLength(1);
  run.respond(run.state().pending[0]?.requestId as string, { action: 'accept' });
  await reading;
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(ran).toHaveLength(1);
});

test('a run under way is forked at its last settled position', async () => {
  const store = memoryStore();
  const slow = gate('slow');
  const team = agent({ name: 'a', tools: [slow.tool] });
  const asks = scriptedModel((request) =>
    answersIn(request).length === 0 ? { toolCalls: [{ name: 'slow', args: {} }] } : { text: 'done' },
  );
  await using host = createHost({ models: { scripted: asks }, store, clock: virtualClock() });
  const run = host.run(team, 'go', { sessionId });
  const reading = readAll(run);
  await slow.running;
  const { sessionId: forked } = await host.fork(sessionId, { at: 10_000 });
  expect(validateLog(await logOf(store, forked))).toEqual([]);
  slow.open('opened');
  await reading;
  expect(await run.result).toMatchObject({ ok: true });
  await settle();
  expect(ofType(await logOf(store, forked), 'tool_response')).toEqual([]);
});

test('approvals for always that came later are not part of a fork', async () => {
  const store = memoryStore();
  const ran: string[] = [];
  const team = payer(ran);
  const twice = () =>
    scriptedModel((request) =>
      request.messages.at(-1)?.role === 'user' &&
      answersIn({ ...request, messages: request.messages.slice(-1) }).length === 0
        ? { toolCalls: [{ name: 'pay', args: {} }] }
        : { text: 'done' },
    );
  await using host = createHost({ models: { scripted: twice() }, store, clock: virtualClock() });
  const always = { action: 'accept', content: { outcome: 'proceed_always_tool' } };
  const asked = async (id: string, answer: object) => {
    const run = host.run(team, 'go', { sessionId: id });
    const events = await (async () => {
      const seen = [];
      for await (const event of run) {
        seen.push(event);
        if (event.type === 'elicitation_request') run.respond(event.requestId, answer as never);
      }
      return seen;
    })();
    return ofType(events, 'elicitation_request').length;
  };
  expect(await asked(sessionId, { action: 'accept' })).toBe(1);
  const end = (await logOf(store, sessionId)).at(-1)?.seq as number;
  expect(await asked(sessionId, always)).toBe(1);
  expect(await asked(sessionId, always)).toBe(0);
  const whole = await host.fork(sessionId);
  expect(await asked(whole.sessionId, always)).toBe(0);
  const early = await host.fork(sessionId, { at: end });
  expect(await asked(early.sessionId, { action: 'accept' })).toBe(1);
});

test('what is no position, and a session that is not there, are refused by name', async () => {
  const store = memoryStore();
  await using host = createHost({ models: { scripted: model() }, store });
  await expect(host.fork('nosuch')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  await expect(host.fork('../x')).rejects.toMatchObject({ code: 'INVALID_SESSION_ID' });
  await expect(host.delete('../x')).rejects.toMatchObject({ code: 'INVALID_SESSION_ID' });
  await expect(host.attach('../x')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'INVALID_SESSION_ID',
  });
  await host.run(leaf('b'), 'go', { sessionId, permissionMode: 'dont_ask' }).result;
  await expect(host.fork(sessionId, { at: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  await expect(host.fork(sessionId, { at: Number.NaN })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
});

test('a fork has the artifacts of its past, and a rewind takes away those that came later', async () => {
  const store = memoryStore();
  const artifacts = store.artifacts;
  let n = 0;
  const save = tool({
    name: 'save',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    async execute(_, context) {
      const { version } = await (context.artifacts as NonNullable<typeof context.artifacts>).save(
        context.sessionId,
        'notes',
        `v${++n}`,
      );
      return `${version}`;
    },
  });
  const saving = scriptedModel(({ messages }) =>
    messages.at(-1)?.content[0]?.type === 'function_response'
      ? { text: 'ok' }
      : { toolCalls: [{ name: 'save', args: {} }] },
  );
  const team = agent({ name: 'a', tools: [save] });
  await using host = createHost({ models: { scripted: saving }, store });
  await host.run(team, 'one', { sessionId }).result;
  const end = (await logOf(store, sessionId)).at(-1)?.seq as number;
  await host.run(team, 'two', { sessionId }).result;
  const { sessionId: early } = await host.fork(sessionId, { at: end });
  const { sessionId: late } = await host.fork(sessionId);
  await host.rewind(sessionId, { to: end });
  expect(await artifacts?.list(early)).toEqual([{ name: 'notes', versions: [1] }]);
  expect(await artifacts?.list(late)).toEqual([{ name: 'notes', versions: [1, 2] }]);
  expect(await artifacts?.list(sessionId)).toEqual([{ name: 'notes', versions: [1] }]);
  expect(Buffer.from((await artifacts?.load(late, 'notes', 2))?.data ?? '').toString()).toBe('v2');
});

test('artifacts that an executor tells of are forked and taken back like those of tools', async () => {
  const store = memoryStore();
  const { artifacts } = store;
  let n = 0;
  await using host = createHost({ store });
  host.registerExecutor('saver', () => ({
    name: 'saver',
    executionType: 'saver',
    capabilities: [],
    async turn(_, context) {
      n++;
      await artifacts?.save(context.sessionId, 'notes', `v${n}`);
      await artifacts?.save(context.sessionId, `only-${n}`, 'x');
      await context.publish({ type: 'custom', kind: 'artifact_delta', data: { notes: n, [`only-${n}`]: 1 } });
      return { reason: 'completed' };
    },
  }));
  const team = agent({ name: 'a', executor: 'saver' });
  await host.run(team, 'one', { sessionId }).result;
  const end = (await logOf(store, sessionId)).at(-1)?.seq as number;
  await host.run(team, 'two', { sessionId }).result;
  const { sessionId: early } = await host.fork(sessionId, { at: end });
  await host.rewind(sessionId, { to: end });
  const kept = [
    { name: 'notes', versions: [1] },
    { name: 'only-1', versions: [1] },
  ];
  expect(await artifacts?.list(early)).toEqual(kept);
  expect((await artifacts?.list(sessionId))?.filter(({ versions }) => versions.length > 0)).toEqual(kept);
});

test('a fork goes through the log as a stream: what is copied was read the moment before', async () => {
  const { fork: _, ...bare } = memoryStore();
  let read = 0;
  const ahead: number[] = [];
  const plain = (handle: SessionHandle): SessionHandle => ({
    id: handle.id,
    agentName: handle.agentName,
    state: handle.state,
    lastUpdateTime: handle.lastUpdateTime,
    events: handle.events,
    append: (event) => handle.append(event),
    snapshot: () => handle.snapshot(),
    close: () => handle.close(),
  });
  const store: SessionProvider = {
    ...bare,
    async load(id) {
      const handle = await bare.load(id);
      async function* events() {
        read = 0;
        for await (const event of handle.events) {
          read++;
          yield event;
        }
      }
      return { ...plain(handle), events: { [Symbol.asyncIterator]: events } };
    },
    async create(name, metadata) {
      const handle = await bare.create(name, metadata);
      let written = 0;
      const append: SessionHandle['append'] = (event) => {
        ahead.push(read - ++written);
        return handle.append(event);
      };
      return { ...plain(handle), append };
    },
  };
  const first = createHost({ models: { scripted: scriptedModel(() => ({ text: 'x' })) }, store: bare });
  for (let turn = 0; turn < 20; turn++) await first.run(leaf('a'), 'go', { sessionId }).result;
  await first.close();
  await using host = createHost({ store });
  const { sessionId: forked } = await host.fork(sessionId);
  const log = await logOf(bare, forked);
  expect(log).toEqual(await logOf(bare, sessionId));
  expect(ahead).toEqual(log.map(() => 0));
});
