import { expect, test } from 'vitest';
import type { ModelInterface, ModelResponse } from '../../src/contracts/index.js';
import { agent, createHost, ModelError, memoryStore } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { type ScriptEntry, virtualClock } from '../../src/testing/index.js';
import { collect, leaf, logOf, ofType, settle, textIn, typesOf } from '../support/team.js';
import { call, hostWith, runTeam } from '../support/teams.js';

const busy = (retryAfterMs?: number): ScriptEntry => ({
  error: { code: 'RESOURCE_EXHAUSTED', message: 'slow down', ...(retryAfterMs !== undefined && { retryAfterMs }) },
});
const notices = (events: Parameters<typeof ofType>[0]) =>
  ofType(events, 'custom').map((event) => (event.data as { code?: string }).code);

/** A model that plays its streams, one per call; an error ends one. */
function playing(...streams: (ModelResponse | Error)[][]) {
  let calls = 0;
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      for (const step of streams[calls++] ?? []) {
        if (step instanceof Error) throw step;
        yield step;
      }
    },
  };
  return { model, calls: () => calls };
}

const run = async (model: ModelInterface, clock = virtualClock()) => {
  const store = memoryStore();
  const host = createHost({ models: { scripted: model }, store, clock });
  const one = host.run(leaf('a'), 'go');
  const reading = collect(one);
  await settle();
  await clock.advance(10_000);
  const events = await reading;
  const log = await logOf(store, one.sessionId);
  await host.close();
  return { events, log, result: await one.result };
};

test('B108: a wait of 0 is no wait, and the try is counted', async () => {
  const { result, model, events } = await runTeam(agent({ name: 'a', constraints: { maxLlmCalls: 2 } }), {
    a: [busy(0), busy(0), { text: 'never asked' }],
  });
  expect(model.requests).toHaveLength(2);
  expect(notices(events)).toEqual(['MODEL_RETRY', 'MODEL_RETRY']);
  expect(result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxLlmCalls', used: 2 } });
});

test('a busy provider is asked again as late as it wants, three times in all', async () => {
  const clock = virtualClock();
  const { host, model } = hostWith({ a: [busy(2_000), busy(), busy(0)] }, { clock });
  const one = host.run(leaf('a'), 'go');
  const reading = collect(one);
  await clock.advance(1_999);
  expect(model.requests).toHaveLength(1);
  await clock.advance(1);
  expect(model.requests).toHaveLength(2);
  await clock.advance(1_000);
  expect(model.requests).toHaveLength(3);
  await reading;
  expect(await one.result).toMatchObject({ reason: 'failed', data: { code: 'RESOURCE_EXHAUSTED' } });
  await host.close();
});

test('what cannot get better is not tried again, nor what asks for more than five minutes', async () => {
  const bad = await runTeam(leaf('a'), { a: [{ error: { code: 'INVALID_ARGUMENT', message: 'no' } }] });
  expect(bad.model.requests).toHaveLength(1);
  const late = await runTeam(leaf('a'), { a: [busy(300_001)] });
  expect(late.model.requests).toHaveLength(1);
  expect(late.result).toMatchObject({ reason: 'failed' });
});

test('a call whose text has reached the consumer is not made again (B081)', async () => {
  const failure = new ModelError({ code: 'UNAVAILABLE', message: 'cut', retryable: true, retryAfterMs: 0 });
  const spoken = playing([{ content: [{ type: 'text', text: 'Hel' }] }, failure]);
  const { events, log, result } = await run(spoken.model);
  expect(spoken.calls()).toBe(1);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'UNAVAILABLE' } });
  expect(textIn(events)).toBe('Hel');
  expect(textIn(log)).toBe('Hel');
});

test('a stream that stops without a finish reason is a failure, not a success', async () => {
  const broken = playing([{ content: [] }], [{ content: [{ type: 'text', text: 'all' }], finishReason: 'stop' }]);
  const { events, result } = await run(broken.model);
  expect(broken.calls()).toBe(2);
  expect(notices(events)).toEqual(['MODEL_RETRY']);
  expect(result.text).toBe('all');
});

test('B103: nothing usable is asked for once more after 500 ms, then it is an error, and nothing empty is kept', async () => {
  const nothing: ModelResponse[][] = [
    [{ content: [], finishReason: 'malformed' }],
    [{ content: [], finishReason: 'stop' }],
    [{ content: [{ type: 'text', text: '' }], finishReason: 'stop' }],
    [
      {
        content: [
          { type: 'text', text: '' },
          { type: 'thought', thought: 'hm' },
        ],
      },
      { content: [], finishReason: 'stop' },
    ],
    [{ content: [{ type: 'thought', thought: 'hm' }], finishReason: 'stop' }],
    [{ content: [{ type: 'thought', thought: 'hm' }], finishReason: 'malformed' }],
  ];
  for (const stream of nothing) {
    const clock = virtualClock();
    const twice = playing(stream, stream, stream);
    const host = createHost({ models: { scripted: twice.model }, clock });
    const one = host.run(leaf('a'), 'go');
    const reading = collect(one);
    await clock.advance(499);
    expect(twice.calls()).toBe(1);
    await clock.advance(1);
    const events = await reading;
    expect(twice.calls()).toBe(2);
    expect(ofType(events, 'error')).toMatchObject([{ code: 'MALFORMED_RESPONSE' }]);
    expect((await one.result).reason).toBe('failed');
    const messages = ofType(events, 'message').filter((event) => event.role === 'agent');
    expect(messages.every((event) => event.content.some((part) => part.type === 'thought'))).toBe(true);
    await host.close();
    const better = playing(stream, [{ content: [{ type: 'text', text: 'fine' }], finishReason: 'stop' }]);
    expect((await run(better.model)).result).toMatchObject({ ok: true, text: 'fine' });
  }
});

test('a malformed call after text is an error at once: the text is not said twice', async () => {
  const spoken = playing([{ content: [{ type: 'text', text: 'Let me' }], finishReason: 'malformed' }]);
  const { result } = await run(spoken.model);
  expect(spoken.calls()).toBe(1);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'MALFORMED_RESPONSE' } });
});

test('an answer that was cut off at its length has completed, and says so; a refusal is a refusal', async () => {
  const cut = playing([{ content: [], finishReason: 'length' }]);
  expect((await run(cut.model)).result).toMatchObject({ ok: true, data: { finishReason: 'length' } });
  const declined = playing([{ content: [], finishReason: 'refusal' }]);
  expect((await run(declined.model)).result).toMatchObject({ ok: false, reason: 'refusal' });
  expect(declined.calls()).toBe(1);
  const said = playing([{ content: [{ type: 'refusal', text: 'I will not.' }], finishReason: 'stop' }]);
  const { events, result } = await run(said.model);
  expect(result.reason).toBe('refusal');
  expect(JSON.stringify(events)).toContain('I will not.');
});

test('B105: usage is taken once per call, from its last value', async () => {
  const usage = (outputTokens: number) => ({ inputTokens: 10, outputTokens });
  const one = playing([
    { content: [{ type: 'text', text: 'a' }], usage: usage(5) },
    { content: [{ type: 'text', text: 'b' }], usage: usage(9) },
    { content: [], usage: usage(12), finishReason: 'stop' },
  ]);
  const { events, result } = await run(one.model);
  expect(ofType(events, 'usage')).toMatchObject([{ model: 'scripted', inputTokens: 10, outputTokens: 12 }]);
  expect(result.usage).toEqual({ inputTokens: 10, outputTokens: 12 });
});

test('B106: what a provider does not say is absent', async () => {
  const silent = playing([{ content: [{ type: 'text', text: 'a' }], finishReason: 'stop' }]);
  const { events, result } = await run(silent.model);
  expect(typesOf(events)).not.toContain('usage');
  expect(result.usage).toEqual({});
  const partly = playing([
    { content: [{ type: 'text', text: 'a' }], usage: { outputTokens: 3 }, finishReason: 'stop' },
  ]);
  expect((await run(partly.model)).result.usage).toEqual({ outputTokens: 3 });
});

test('usage of tries that failed counts, each once', async () => {
  const failure = new ModelError({ code: 'UNAVAILABLE', message: 'cut', retryable: true, retryAfterMs: 0 });
  const flaky = playing(
    [{ content: [], usage: { inputTokens: 10, outputTokens: 0 } }, failure],
    [{ content: [{ type: 'text', text: 'ok' }], usage: { inputTokens: 10, outputTokens: 2 }, finishReason: 'stop' }],
  );
  const { events, result } = await run(flaky.model);
  expect(ofType(events, 'usage')).toHaveLength(2);
  expect(result.usage).toEqual({ inputTokens: 20, outputTokens: 2 });
});

test('a failed call leaves a history that the next one can be made with', async () => {
  const { host, model } = hostWith({
    a: [call('nosuch'), { text: 'half', error: { code: 'INVALID_ARGUMENT', message: 'no' } }, { text: 'fine' }],
  });
  const session = host.session(leaf('a'));
  await collect(session.stream({ kind: 'message', content: 'go' }).stream);
  for await (const _ of session.stream({ kind: 'message', content: 'again' }).stream);
  expect(findBrokenPairs(model.requests[2]!.messages)).toEqual([]);
  expect(model.requests[2]!.messages.map((one) => one.role)).toEqual(['user', 'model', 'user', 'model', 'user']);
  await host.close();
});
