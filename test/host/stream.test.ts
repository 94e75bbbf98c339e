import { expect, test } from 'vitest';
import type { ModelInterface, ModelResponse } from '../../src/contracts/index.js';
import { agent, createHost, ModelError, memoryStore } from '../../src/index.js';
import { scriptedModel, validateLog } from '../../src/testing/index.js';
import {
  collect,
  deferred,
  leaf,
  logOf,
  ofType,
  readAll,
  refusalOf,
  settle,
  textIn,
  typesOf,
} from '../support/team.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

test('a stream takes effect at the call, before anything is read', async () => {
  const model = scriptedModel([{ text: 'hello' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  await settle();
  expect(model.requests).toHaveLength(1);
  expect(typesOf(await collect(stream))).toEqual(['initialize', 'message', 'message', 'stream_end']);
});

test('the first stream begins with initialize, the second with its message', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', description: 'An agent.', displayName: 'A', model: 'scripted' }));
  const first = await collect(session.stream(message()).stream);
  expect(first[0]).toMatchObject({
    type: 'initialize',
    sessionId: session.sessionId,
    agent: { name: 'a', displayName: 'A', description: 'An agent.' },
    model: 'scripted',
    capabilities: expect.arrayContaining(['streaming', 'cancellation']),
  });
  expect(first[1]).toMatchObject({ type: 'message', role: 'user', source: 'user', content: [{ text: 'go' }] });
  const second = await readAll(session.stream(message('more')).stream);
  expect(typesOf(second)).toEqual(['message', 'message', 'stream_end']);
  expect(validateLog([...first, ...second], { finished: true })).toEqual([]);
  expect(model.requests[1]!.messages).toHaveLength(3);
});

test('a second message while a run is under way is refused, and the run is not touched', async () => {
  const gate = deferred();
  const model = scriptedModel(async () => {
    await gate.promise;
    return { text: 'hello' };
  });
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  expect(await refusalOf(session.stream(message('more')).stream)).toBe('SESSION_BUSY');
  gate.resolve();
  const events = await collect(stream);
  expect(ofType(events, 'message').filter((event) => event.role === 'user')).toHaveLength(1);
  expect(model.requests).toHaveLength(1);
});

test('a stream that is returned unread aborts its run', async () => {
  const store = memoryStore();
  const model = scriptedModel(() => new Promise(() => {}));
  await using host = createHost({ models: { scripted: model }, store, limits: { abortTimeoutMs: 1 } });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  expect(await stream.return()).toEqual({ done: true, value: undefined });
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  while (session.state().type !== 'idle') await settle(1);
  expect((await logOf(store, session.sessionId)).at(-1)).toMatchObject({
    type: 'stream_end',
    reason: 'aborted',
    data: { by: 'user', reason: 'the consumer left' },
  });
});

test('leaving the loop early aborts the run, and the session goes on', async () => {
  const store = memoryStore();
  const model = scriptedModel([{ text: ['a', 'b', 'c'] }, { text: 'again' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  for await (const event of session.stream(message()).stream) if (textIn([event]) === 'a') break;
  const next = await readAll(session.stream(message('once more')).stream);
  // What the aborted run still said is not wanted any more.
  expect(typesOf(next)).toEqual(['message', 'message', 'stream_end']);
  const log = await logOf(store, session.sessionId);
  expect(validateLog(log, { finished: true })).toEqual([]);
  expect(ofType(log, 'stream_end').map((event) => event.reason)).toEqual(['aborted', 'completed']);
});

test('leaving a stream that is over ends nothing of a later run', async () => {
  const gate = deferred();
  const model = scriptedModel(async (_, call) => {
    if (call === 1) await gate.promise;
    return { text: `answer ${call}` };
  });
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const first = session.stream(message());
  await settle();
  expect(session.state().type).toBe('idle');
  const second = session.stream(message('more'));
  first.controller.abort();
  await first.stream.return();
  await first.stream[Symbol.asyncDispose]();
  gate.resolve();
  expect((await readAll(second.stream)).at(-1)).toMatchObject({ type: 'stream_end', reason: 'completed' });
});

test('a stream thrown into aborts its run and hands the error on', async () => {
  const model = scriptedModel([{ text: ['a', 'b'] }, { text: 'again' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  await stream.next();
  await expect(stream.throw(new Error('mine'))).rejects.toThrow('mine');
  const next = await readAll(session.stream(message()).stream);
  expect(next.at(-1)).toMatchObject({ reason: 'completed' });
});

test('a failure at run time is an error event and a failed end; the stream never throws for it', async () => {
  const throws: ModelInterface = {
    generate: () => Promise.reject(new Error('no')),
    // biome-ignore lint/correctness/useYield: it fails before it says anything.
    async *generateStream(): AsyncGenerator<ModelResponse> {
      throw new TypeError('the model broke');
    },
  };
  const model = scriptedModel([{ error: { code: 'INVALID_ARGUMENT', message: 'bad request' } }, { text: 'fine' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const events = await collect(session.stream(message()).stream);
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', code: 'INVALID_ARGUMENT', message: 'bad request', fatal: false, retryable: false },
    { type: 'stream_end', reason: 'failed', data: { code: 'INVALID_ARGUMENT', message: 'bad request' } },
  ]);
  expect(session.state()).toEqual({ type: 'idle' });
  const second = await readAll(session.stream(message('again')).stream);
  expect(second.at(-1)).toMatchObject({ reason: 'completed', data: { result: 'fine' } });

  const broken = host.run(agent({ name: 'b', model: throws }), 'go');
  expect((await collect(broken)).at(-1)).toMatchObject({ reason: 'failed', data: { code: 'MODEL_FAILED' } });
});

test('a provider that cannot be opened fails the run, not the session', async () => {
  let opened = 0;
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({
    models: {
      flaky: () => {
        if (++opened === 1) throw new ModelError({ code: 'UNAUTHENTICATED', message: 'no key' });
        return model;
      },
    },
  });
  const session = host.session(agent({ name: 'a', model: 'flaky/x' }));
  const first = await collect(session.stream(message()).stream);
  expect(first.at(-1)).toMatchObject({ reason: 'failed', data: { code: 'UNAUTHENTICATED' } });
  const second = await readAll(session.stream(message()).stream);
  expect(second.at(-1)).toMatchObject({ reason: 'completed' });
});

test('the log holds each message whole, once, where its last increment stood', async () => {
  const store = memoryStore();
  const model = scriptedModel([{ thought: 'hm', text: ['Hel', 'lo', '!'] }, { text: 'next' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const live = await collect(session.stream(message()).stream);
  const increments = ofType(live, 'message').filter((event) => event.role === 'agent');
  expect(increments).toHaveLength(4);
  const log = await logOf(store, session.sessionId);
  expect(validateLog(log, { finished: true })).toEqual([]);
  const [whole, ...others] = ofType(log, 'message').filter((event) => event.role === 'agent');
  expect(others).toEqual([]);
  expect(whole).toMatchObject({
    messageId: increments[0]!.messageId,
    content: [
      { type: 'thought', thought: 'hm' },
      { type: 'text', text: 'Hello!' },
    ],
    seq: increments.at(-1)!.seq,
    id: increments.at(-1)!.id,
    timestamp: increments.at(-1)!.timestamp,
    _meta: { firstSeq: increments[0]!.seq },
  });
  // And so does the model in the next run.
  await readAll(session.stream(message()).stream);
  expect(model.requests[1]!.messages[1]).toEqual({ role: 'model', content: whole!.content });
});

test('an update in the middle of a message does not cut the message in the log', async () => {
  const store = memoryStore();
  const gate = deferred();
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      yield { content: [{ type: 'text', text: 'Hel' }] };
      await gate.promise;
      yield { content: [{ type: 'text', text: 'lo' }], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { scripted: model }, store });
  const session = host.session(leaf('a'));
  const live: string[] = [];
  for await (const event of session.stream(message()).stream) {
    live.push(event.type);
    if (textIn([event]) !== 'Hel') continue;
    session.update({ title: 'Greetings' });
    gate.resolve();
  }
  expect(live).toEqual(['initialize', 'message', 'message', 'session_update', 'message', 'stream_end']);
  const log = await logOf(store, session.sessionId);
  expect(textIn(log)).toBe('Hello');
  expect(ofType(log, 'message').filter((event) => event.role === 'agent')).toHaveLength(1);
  expect(typesOf(log)).toEqual(['initialize', 'message', 'session_update', 'message', 'stream_end']);
  expect(validateLog(log, { finished: true })).toEqual([]);
});

test('with streaming off a message comes whole', async () => {
  const model = scriptedModel([{ text: ['Hel', 'lo'] }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const events = await collect(session.stream(message(), { streaming: false }).stream);
  expect(ofType(events, 'message').filter((event) => event.role === 'agent')).toMatchObject([
    { content: [{ type: 'text', text: 'Hello' }] },
  ]);
});

test('what happened between two streams opens the next one', async () => {
  const model = scriptedModel(() => ({ text: 'hello' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  const first = await collect(session.stream(message()).stream);
  session.update({ permissionMode: 'plan' });
  const second = await readAll(session.stream(message()).stream);
  expect(typesOf(second)).toEqual(['session_update', 'message', 'message', 'stream_end']);
  expect(validateLog([...first, ...second], { finished: true })).toEqual([]);
});
