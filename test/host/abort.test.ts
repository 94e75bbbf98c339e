import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { Executor, ModelInterface, ToolContext } from '../../src/contracts/index.js';
import {
  agent,
  createHost,
  defineHook,
  hierarchical,
  memoryStore,
  parallel,
  sequential,
  tool,
} from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { expectNoLeaks, type ScriptEntry, scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import {
  collect,
  consumerTool,
  deferred,
  leaf,
  loggedTypes,
  logOf,
  ofType,
  readAll,
  refusalOf,
  settle,
  textIn,
  textResult,
} from '../support/team.js';
import { asker, endsIn, gate } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const calls = (...list: [id: string, name: string][]): ScriptEntry => ({
  toolCalls: list.map(([id, name]) => ({ id, name, args: {} })),
});

test('B061: a signal that is already aborted makes no model call', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const signal = AbortSignal.abort('too late');
  const events = await collect(host.run(leaf('a'), 'go', { signal }));
  expect(events.map((event) => event.type)).toEqual(['initialize', 'message', 'stream_end']);
  expect(events.at(-1)).toMatchObject({ reason: 'aborted', data: { by: 'user', reason: 'too late' } });
  const session = host.session(leaf('a'));
  const streamed = await collect(session.stream(message(), { signal }).stream);
  expect(streamed.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  expect(session.state()).toEqual({ type: 'idle' });
  const team = parallel({ name: 'p', children: [leaf('b'), leaf('c')] });
  expect(await host.run(team, 'go', { signal }).result).toMatchObject({ ok: false, reason: 'aborted' });
  expect(model.requests).toHaveLength(0);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('an abort before the session is open makes no model call', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  const memory = memoryStore();
  const slow = { ...memory, create: async (...args: Parameters<typeof memory.create>) => memory.create(...args) };
  await using host = createHost({ models: { scripted: model }, store: slow });
  const run = host.run(leaf('a'), 'go');
  run.abort('never mind');
  expect((await collect(run)).at(-1)).toMatchObject({ reason: 'aborted', data: { reason: 'never mind' } });
  const session = host.session(leaf('a'));
  const { stream, controller } = session.stream(message());
  controller.abort('never mind');
  expect((await collect(stream)).at(-1)).toMatchObject({ reason: 'aborted', data: { reason: 'never mind' } });
  const left = host.session(leaf('a'));
  await left.stream(message()).stream.return();
  await settle();
  expect(left.state()).toEqual({ type: 'idle' });
  expect(model.requests).toHaveLength(0);
});

test('B065: an abort in the middle of an answer keeps what was said, marked interrupted', async () => {
  const store = memoryStore();
  let closed: AbortSignal | undefined;
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream({ signal }) {
      closed = signal;
      yield { content: [{ type: 'text', text: 'Hel' }] };
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
    },
  };
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const { stream, controller } = session.stream(message());
  const events = [];
  for await (const event of stream) {
    events.push(event);
    if (textIn([event]) === 'Hel') controller.abort('enough');
  }
  expect(closed?.aborted).toBe(true);
  expect(events.at(-1)).toMatchObject({
    type: 'stream_end',
    reason: 'aborted',
    data: { by: 'user', reason: 'enough' },
  });
  expect(session.state()).toEqual({ type: 'idle' });
  const log = await logOf(store, session.sessionId);
  expect(ofType(log, 'message')[1]).toMatchObject({ content: [{ text: 'Hel' }], _meta: { interrupted: true } });
  expect(validateLog(log, { finished: true })).toEqual([]);
});

test('B060: an abort while a tool runs ends the stream at once; its signal says why', async () => {
  const work = gate('work');
  const model = scriptedModel([calls(['x', 'work'], ['y', 'mine']), { text: 'fine' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [work.tool] }), {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  const { stream, controller } = session.stream(message());
  const reading = collect(stream);
  const signal = await work.running;
  controller.abort('stop it');
  expect(signal.aborted).toBe(true);
  expect(String(signal.reason)).toContain('stop it');
  const events = await reading;
  expect(ofType(events, 'tool_response')).toMatchObject([
    { requestId: 'x', isError: true, errorType: 'cancelled' },
    { requestId: 'y', isError: true, errorType: 'cancelled' },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });

  const next = await readAll(session.stream(message('again')).stream);
  expect(next.at(-1)).toMatchObject({ reason: 'completed', data: { result: 'fine' } });
  expect(findBrokenPairs(model.requests[1]!.messages)).toEqual([]);
  expect(validateLog([...events, ...next], { finished: true })).toEqual([]);
});

test('B035: of three approvals one is declined, the others are cancelled with the run, and late answers are refused', async () => {
  let runs = 0;
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => void runs++ });
  const model = scriptedModel([calls(['x', 'danger'], ['y', 'danger'], ['z', 'danger'])]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [danger] }));
  const { stream, controller } = session.stream(message());
  const paused = await readAll(stream);
  const questions = ofType(paused, 'elicitation_request');
  expect(questions).toHaveLength(3);
  const answer = (at: number, action: string) => ({
    kind: 'elicitation_response' as const,
    requestId: questions[at]!.requestId,
    response: { action },
  });
  const declined = await readAll(session.stream(answer(0, 'decline')).stream);
  expect(ofType(declined, 'tool_response')).toMatchObject([{ requestId: 'x', errorType: 'declined' }]);
  controller.abort('no more');
  expect(await refusalOf(session.stream(answer(1, 'accept')).stream)).toBe('UNKNOWN_REQUEST');
  expect(await refusalOf(session.stream(answer(2, 'accept')).stream)).toBe('UNKNOWN_REQUEST');
  await settle();
  expect(session.state()).toEqual({ type: 'idle' });
  const rest = await readAll(session.stream(message('go on')).stream);
  expect(ofType(rest, 'elicitation_response')).toMatchObject([
    { requestId: questions[1]!.requestId, action: 'cancel', source: 'host' },
    { requestId: questions[2]!.requestId, action: 'cancel', source: 'host' },
  ]);
  expect(ofType(rest, 'tool_response').map((event) => event.requestId)).toEqual(['y', 'z']);
  expect(runs).toBe(0);
  expect(validateLog([...paused, ...declined, ...rest])).toEqual([]);
});

test('B058: an abort travels down the whole tree, and every child ends before its parent', async () => {
  const work = gate('work');
  const team = sequential({
    name: 'root',
    children: [
      hierarchical({
        name: 'child',
        agent: leaf('boss'),
        children: [agent({ name: 'grandchild', tools: [work.tool] })],
      }),
    ],
  });
  const model = scriptedModel({
    byAgent: {
      boss: [{ toolCalls: [{ name: 'grandchild', args: { prompt: 'x' } }] }],
      grandchild: [calls(['w', 'work'])],
    },
  });
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(team, 'go');
  const reading = collect(run);
  const signal = await work.running;
  run.abort('u');
  expect(String(signal.reason)).toContain('u');
  const events = await reading;
  expect(endsIn(events)).toEqual(['child_1.grandchild_1: aborted', 'child_1: aborted', '-: aborted']);
  expect(ofType(events, 'stream_end').map((event) => event.data?.reason)).toEqual(['u', 'u', 'u']);
  expect(model.requests).toHaveLength(2);
});

test('a message right after an abort waits for the end of that run', async () => {
  const clock = virtualClock();
  const model = scriptedModel((_, call) => (call === 0 ? new Promise<never>(() => {}) : { text: 'second' }));
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(leaf('a'));
  const first = session.stream(message());
  await settle();
  first.controller.abort();
  const second = session.stream(message('again'));
  // One waits; a third is one too many.
  expect(await refusalOf(session.stream(message('and again')).stream)).toBe('SESSION_BUSY');
  const [one, two] = [readAll(first.stream), readAll(second.stream)];
  await clock.advance(5_000);
  const ended = await one;
  const next = await two;
  expect(ended.at(-1)).toMatchObject({ reason: 'aborted' });
  expect(next.map((event) => event.type)).toEqual(['message', 'message', 'stream_end']);
  expect(validateLog([...ended, ...next], { finished: true })).toEqual([]);
});

test('a message that waits for an aborted run is refused when the session ends with it', async () => {
  const clock = virtualClock();
  const model = scriptedModel(() => new Promise<never>(() => {}));
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(leaf('a'));
  const first = session.stream(message());
  await settle();
  first.controller.abort();
  const second = session.stream(message('again'));
  session.abort('all of it');
  const refused = refusalOf(second.stream);
  await clock.advance(5_000);
  expect(await refused).toBe('SESSION_ENDED');
});

test('an aborted session ends, and takes nothing any more', async () => {
  const work = gate('work');
  const model = scriptedModel([calls(['x', 'work'])]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [work.tool] }));
  const reading = collect(session.stream(message()).stream);
  await work.running;
  session.abort('enough');
  session.abort('twice');
  const events = await reading;
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted', data: { reason: 'enough' } });
  expect(session.state()).toEqual({ type: 'aborted', reason: 'aborted' });
  expect(await refusalOf(session.stream(message()).stream)).toBe('SESSION_ENDED');
  expect(await refusalOf(session.stream({ kind: 'tool_result', requestId: 'x', result: textResult('X') }).stream)).toBe(
    'SESSION_ENDED',
  );
  expect(() => session.update({ title: 't' })).toThrow('has ended');
  expect(() => session.steer({ message: 'm' })).toThrow('has ended');
  await session.close();
});

test('an executor that does not end in time is cut off, and what it says later is dropped', async () => {
  const clock = virtualClock();
  const late = deferred();
  const stubborn: Executor = {
    async turn(_, context) {
      await late.promise;
      void context.publish({
        type: 'message',
        messageId: context.newMessageId(),
        role: 'agent',
        content: [{ type: 'text', text: 'too late' }],
      });
      return { reason: 'completed' };
    },
  };
  const store = memoryStore();
  await using host = createHost({ clock, store });
  host.registerExecutor('stubborn', () => stubborn);
  const session = host.session(agent({ name: 'a', executor: 'stubborn' }));
  const { stream, controller } = session.stream(message());
  const reading = collect(stream);
  await settle();
  controller.abort('now');
  await clock.advance(4_999);
  expect(session.state().type).toBe('running');
  await clock.advance(1);
  expect((await reading).at(-1)).toMatchObject({
    type: 'stream_end',
    reason: 'aborted',
    data: { reason: 'now', by: 'user', forced: true },
  });
  late.resolve();
  await settle();
  const log = await logOf(store, session.sessionId);
  expect(textIn(log)).toBe('');
  expect(log.at(-1)?.type).toBe('stream_end');
  expect(clock.pending).toBe(0);
});

test('there is one deadline for a tree, and one for a branch that was stopped before it', async () => {
  const clock = virtualClock();
  const stubborn: Executor = { turn: () => new Promise(() => {}) };
  await using host = createHost({ clock });
  host.registerExecutor('stubborn', () => stubborn);
  const stub = (name: string) => agent({ name, executor: 'stubborn' });
  const run = host.run(parallel({ name: 'p', children: [stub('a'), stub('b')] }), 'go');
  const reading = collect(run);
  await settle();
  run.abort('only you', { threadId: 'a_1' });
  await clock.advance(3_000);
  run.abort('all');
  await clock.advance(2_000);
  expect(run.state().threads.map((thread) => thread.threadId)).toEqual([undefined, 'b_2']);
  await clock.advance(2_999);
  expect(run.state().threads).toHaveLength(2);
  await clock.advance(1);
  const events = await reading;
  expect(ofType(events, 'stream_end')).toMatchObject([
    { threadId: 'a_1', data: { reason: 'only you', forced: true } },
    { threadId: 'b_2', data: { reason: 'all', forced: true } },
    { reason: 'aborted', data: { reason: 'all' } },
  ]);
  expect(clock.pending).toBe(0);
});

test('a composition that hangs in code of its author is cut off as well', async () => {
  const clock = virtualClock();
  const team = sequential({ name: 's', children: [leaf('a')], mapInput: () => new Promise<never>(() => {}) });
  await using host = createHost({ models: { scripted: scriptedModel(() => ({ text: 'x' })) }, clock });
  const run = host.run(team, 'go');
  const reading = collect(run);
  await settle();
  run.abort();
  await clock.advance(5_000);
  expect((await reading).at(-1)).toMatchObject({ reason: 'aborted' });
});

test('aborting twice, or after the end, does nothing', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go');
  await run.result;
  run.abort('late');
  expect((await run.result).reason).toBe('completed');
  const session = host.session(leaf('a'));
  const { stream, controller } = session.stream(message());
  await collect(stream);
  controller.abort();
  controller.abort();
  expect(session.state()).toEqual({ type: 'idle' });
  expect((await readAll(session.stream(message()).stream)).at(-1)).toMatchObject({ reason: 'completed' });
});

test('an abort passes although the buffers are full and nobody reads', async () => {
  let said = 0;
  const endless: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      for (;;) {
        said++;
        yield { content: [{ type: 'text', text: 'x' }] };
      }
    },
  };
  await using host = createHost({ models: { scripted: endless } });
  const session = host.session(leaf('a'));
  const { stream, controller } = session.stream(message());
  await settle(20);
  const before = said;
  await settle(20);
  expect(said).toBe(before);
  controller.abort('enough');
  await settle(20);
  expect(session.state()).toEqual({ type: 'idle' });
  const events = await collect(stream);
  expect(events.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  expect(events.length).toBeLessThan(300);
});

test('B066: one signal for a thousand calls keeps no listener and warns of none', async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', onWarning);
  const read = tool({
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    // It looks at its signal, so that each call has one.
    execute: async (_: unknown, { signal }: ToolContext) => String(signal.aborted),
  });
  const model = scriptedModel((request, call) => {
    void request.signal?.aborted;
    return call % 2 === 0 ? { toolCalls: [{ name: 'read', args: { call } }] } : { text: 'ok' };
  });
  const { signal } = new AbortController();
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [read], includeHistory: false }));
  for (let turn = 0; turn < 500; turn++) await readAll(session.stream(message(), { signal }).stream);
  expect(model.requests).toHaveLength(1_000);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await settle();
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test('one signal for many streams of a run is listened to once', async () => {
  const { signal } = new AbortController();
  const model = scriptedModel([
    { toolCalls: Array.from({ length: 20 }, (_, at) => ({ id: `x${at}`, name: 'mine', args: { at } })) },
    { text: 'done' },
  ]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  await readAll(session.stream(message(), { signal }).stream);
  for (let at = 0; at < 20; at++) {
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    const data = { kind: 'tool_result' as const, requestId: `x${at}`, result: textResult('X') };
    await readAll(session.stream(data, { signal }).stream);
  }
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('a signal that fires in a pause aborts the run', async () => {
  const aborter = new AbortController();
  const model = scriptedModel([calls(['x', 'mine'])]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  await readAll(session.stream(message(), { signal: aborter.signal }).stream);
  aborter.abort('gone');
  await settle();
  expect(session.state()).toEqual({ type: 'idle' });
});

test('no timer, listener or rejection outlives runs that are aborted at every stage', async () => {
  const { signal } = new AbortController();
  await expectNoLeaks(
    async () => {
      const model = scriptedModel((_, call) =>
        call % 2 === 0 ? calls(['', 'ask'], ['', 'mine']) : { text: ['a', 'b'] },
      );
      const host = createHost({ models: { scripted: model } });
      for (let at = 0; at < 12; at++) {
        const session = host.session(agent({ name: 'a', tools: [asker('ask')] }), { tools: [consumerTool('mine')] });
        const { stream, controller } = session.stream(message(), { signal });
        for (let step = 0; step < at && !(await stream.next()).done; step++);
        controller.abort();
        await readAll(stream);
        await session.close();
      }
      await host.close();
    },
    { signals: [signal] },
  );
});

test('a run that was aborted keeps the order that it had: nothing comes after its end', async () => {
  const model = scriptedModel(() => calls(['', 'work']));
  const work = gate('work');
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const reading = collect(run);
  await work.running;
  run.abort();
  const events = await reading;
  expect(loggedTypes(events)).toEqual(['initialize', 'message', 'tool_request', 'tool_response', 'stream_end']);
});

test('what a model call had used by the time it was cut short is counted once, before the end', async () => {
  for (const point of [undefined, 'after_model'] as const) {
    const speaking: ModelInterface = {
      generate: () => Promise.reject(new Error('not asked')),
      async *generateStream({ signal }) {
        yield { content: [{ type: 'text', text: 'so' }], usage: { inputTokens: 10, outputTokens: 1 } };
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    const hooks = point === undefined ? [] : [defineHook(point, () => ({ action: 'proceed' }))];
    await using host = createHost({ models: { speaking }, hooks, prices: { speaking: { input: 1, output: 1 } } });
    const run = host.run(agent({ name: 'a', model: 'speaking' }), 'go');
    const events = collect(run);
    await settle();
    run.abort('enough');
    expect(await run.result).toMatchObject({
      reason: 'aborted',
      usage: { inputTokens: 10, outputTokens: 1 },
      cost: { usd: 0.000011 },
    });
    expect(ofType(await events, 'usage')).toHaveLength(1);
    expect(validateLog(await events)).toEqual([]);
  }
});

test('a usage or a cost that is null is none', async () => {
  for (const [usage, told] of [
    [null, {}],
    [
      { inputTokens: 1_000_000, outputTokens: 0, cost: null },
      { usage: { inputTokens: 1_000_000, outputTokens: 0 }, cost: { usd: 2 } },
    ],
  ]) {
    const odd: ModelInterface = {
      generate: () => Promise.reject(new Error('not asked')),
      async *generateStream() {
        yield { content: [{ type: 'text', text: 'so' }], usage: usage as never, finishReason: 'stop' };
      },
    };
    await using host = createHost({ models: { odd }, prices: { odd: { input: 2, output: 1 } } });
    expect(await host.run(agent({ name: 'a', model: 'odd' }), 'go').result).toMatchObject({ ok: true, ...told });
  }
});
