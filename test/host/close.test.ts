import { expect, test } from 'vitest';
import type { AgentEvent, SessionProvider } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, parallel, tool } from '../../src/index.js';
import { expectNoLeaks, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import { collect, consumerTool, deferred, leaf, logOf, ofType, readAll, refusalOf, settle } from '../support/team.js';
import { call, gate, until } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

/** The memory store, each step a round later, and with an eye on who is done. */
function asyncStore() {
  const memory = memoryStore();
  const state = { open: 0, appended: [] as AgentEvent[] };
  const later = () => settle(1);
  const wrap = (handle: Awaited<ReturnType<SessionProvider['create']>>) => {
    state.open++;
    return {
      id: handle.id,
      agentName: handle.agentName,
      get lastUpdateTime() {
        return handle.lastUpdateTime;
      },
      get events() {
        return handle.events;
      },
      get state() {
        return handle.state;
      },
      async append(event: AgentEvent) {
        await later();
        state.appended.push(event);
        await handle.append(event);
      },
      snapshot: () => handle.snapshot(),
      async close() {
        await later();
        state.open--;
      },
    };
  };
  const store: SessionProvider = {
    create: async (...args) => {
      await later();
      return wrap(await memory.create(...args));
    },
    load: async (id) => {
      await later();
      return wrap(await memory.load(id));
    },
    list: (...args) => memory.list(...args),
    delete: (id) => memory.delete(id),
  };
  return { store, state, memory };
}

test('closing a host aborts its runs, ends its sessions, and leaves nothing', async () => {
  const work = gate('work');
  const store = memoryStore();
  await expectNoLeaks(async () => {
    const model = scriptedModel({ byAgent: { a: [call('work')], idle: [{ text: 'ok' }], waiting: [call('mine')] } });
    const host = createHost({ models: { scripted: model }, store });
    const run = host.run(parallel({ name: 'p', children: [agent({ name: 'a', tools: [work.tool] })] }), 'go');
    const idle = host.session(leaf('idle'));
    await collect(idle.stream(message()).stream);
    const waiting = host.session(leaf('waiting'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
    await readAll(waiting.stream(message()).stream);
    const unused = host.session(leaf('unused'));
    await work.running;
    await host.close();
    expect(await run.result).toMatchObject({
      reason: 'aborted',
      data: { by: 'host', reason: 'the host is being closed' },
    });
    expect(validateLog(await logOf(store, run.sessionId), { finished: true })).toEqual([]);
    expect(validateLog(await logOf(store, waiting.sessionId), { finished: true })).toEqual([]);
    expect(idle.state()).toEqual({ type: 'completed', reason: 'completed' });
    expect(waiting.state()).toEqual({ type: 'aborted', reason: 'aborted' });
    for (const session of [idle, waiting, unused]) {
      expect(await refusalOf(session.stream(message()).stream)).toBe('SESSION_ENDED');
    }
    expect(() => host.run(leaf('a'), 'go')).toThrow(expect.objectContaining({ code: 'HOST_CLOSED' }));
    expect(() => host.session(leaf('a'))).toThrow(expect.objectContaining({ code: 'HOST_CLOSED' }));
    await host.close();
  });
});

test('a host that is drained lets its runs end, and does not wait for idle sessions', async () => {
  const clock = virtualClock();
  const gateway = deferred();
  const model = scriptedModel(async (_, at) => {
    if (at > 0) await gateway.promise;
    return { text: 'done' };
  });
  const host = createHost({ models: { scripted: model }, clock });
  const session = host.session(leaf('a'));
  await collect(session.stream(message()).stream);
  const standing = host.session(leaf('b'));
  const reading = readAll(standing.stream(message()).stream);
  const run = host.run(leaf('c'), 'go');
  let isClosed = false;
  const closing = host.close({ drainMs: 60_000 }).then(() => {
    isClosed = true;
  });
  await settle();
  expect(session.state().type).toBe('completed');
  expect(isClosed).toBe(false);
  gateway.resolve();
  await closing;
  expect(await run.result).toMatchObject({ ok: true });
  expect((await reading).at(-1)).toMatchObject({ reason: 'completed' });
  expect(clock.pending).toBe(0);
});

test('what does not end within the drain is aborted', async () => {
  const clock = virtualClock();
  const model = scriptedModel(() => new Promise(() => {}));
  const host = createHost({ models: { scripted: model }, clock });
  const run = host.run(leaf('a'), 'go');
  await settle();
  const closing = host.close({ drainMs: 1_000 });
  await clock.advance(1_000);
  await clock.advance(5_000);
  await closing;
  expect(await run.result).toMatchObject({ reason: 'aborted', data: { by: 'host', forced: true } });
  expect(clock.pending).toBe(0);
});

test('closing a session waits until its log is whole and let go of', async () => {
  const { store, state, memory } = asyncStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const events = await collect(session.stream(message()).stream);
  expect(events.at(-1)?.type).toBe('stream_end');
  await session.close();
  expect(state.open).toBe(0);
  expect((await logOf(memory, session.sessionId)).at(-1)?.type).toBe('stream_end');
});

test('a turn is durable before its end is shown, and what a tool was asked before it runs', async () => {
  const { store, state } = asyncStore();
  const atStart: string[][] = [];
  const work = tool({
    name: 'work',
    description: '.',
    parameters: { type: 'object' },
    execute: () => void atStart.push(state.appended.map((event) => event.type)),
  });
  const model = scriptedModel([call('work'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(agent({ name: 'a', tools: [work] }), 'go', { permissionMode: 'autonomous' });
  for await (const event of run) {
    if (event.type !== 'stream_end') continue;
    const logged = state.appended.map((one) => one.type);
    expect(logged.filter((type) => type === 'message')).toHaveLength(2);
  }
  expect(atStart[0]).toContain('tool_request');
});

test('a host that is closed while a store is still being asked opens nothing', async () => {
  await expectNoLeaks(async () => {
    const { store, state } = asyncStore();
    const model = scriptedModel(() => ({ text: 'ok' }));
    const host = createHost({ models: { scripted: model }, store });
    const run = host.run(leaf('a'), 'go');
    const session = host.session(leaf('a'));
    const { stream } = session.stream(message());
    await host.close();
    await expect(run.result).rejects.toMatchObject({ code: 'HOST_CLOSED' });
    expect(await refusalOf(stream)).toBe('HOST_CLOSED');
    await until(() => state.open === 0);
    expect(model.requests).toHaveLength(0);
  });
});

test('a session that is ended while its store is being asked runs nothing', async () => {
  const { store, state } = asyncStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  session.abort();
  expect(await refusalOf(stream)).toBe('SESSION_ENDED');
  await session.close();
  expect(session.state()).toEqual({ type: 'aborted', reason: 'aborted' });
  expect(state.open).toBe(0);
  expect(model.requests).toHaveLength(0);
});

test('two messages to a session that is still being opened: the second is one too many', async () => {
  const { store } = asyncStore();
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const first = session.stream(message());
  expect(await refusalOf(session.stream(message('two')).stream)).toBe('SESSION_BUSY');
  expect((await collect(first.stream)).at(-1)).toMatchObject({ reason: 'completed' });
});

test('a store that fails in the middle ends the session with an error that is fatal', async () => {
  const memory = memoryStore();
  let left = 4;
  const store: SessionProvider = {
    ...memory,
    create: (...args) => {
      const handle = memory.create(...args) as Awaited<ReturnType<SessionProvider['create']>>;
      return new Proxy(handle, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key, target);
          if (key === 'append') {
            return (event: AgentEvent) => {
              if (left-- <= 0) throw new Error('disk full');
              return target.append(event);
            };
          }
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    },
  };
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  await collect(session.stream(message()).stream);
  const events = await readAll(session.stream(message()).stream);
  expect(ofType(events, 'error')).toMatchObject([{ fatal: true, message: 'disk full' }]);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'failed', data: { message: 'disk full' } });
  expect(session.state()).toEqual({ type: 'error', reason: 'failed' });
});

test('a host on a clock that stands still is closed though a tool that timed out never settles', async () => {
  const clock = virtualClock();
  const model = scriptedModel([{ toolCalls: [{ name: 'work', args: {} }] }, { text: 'ok' }]);
  const host = createHost({ models: { scripted: model }, clock, limits: { toolTimeoutMs: 1_000, abortTimeoutMs: 10 } });
  const work = tool({
    name: 'work',
    description: 'Never ends.',
    annotations: { readOnly: true },
    execute: () => new Promise(() => {}),
  });
  const run = host.run(agent({ name: 'a', model: 'scripted', tools: [work] }), 'go');
  await settle();
  await clock.advance(1_000);
  expect(await run.result).toMatchObject({ ok: true, text: 'ok' });
  await host.close();
  expect(clock.now()).toBe(1_000);
});
