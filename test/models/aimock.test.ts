import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelInterface } from '../../src/contracts/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { openaiModel } from '../../src/models/openai.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import { ask, attempt, call, callsIn, collect, model, result, textIn, toolNamed, user } from './ask.js';

/** A server that somebody else wrote: what it sends is not what our own script had in mind. */
const mock = new LLMock({ port: 0, logLevel: 'silent' });

beforeAll(async () => {
  mock.on({ userMessage: 'hello' }, { content: 'Hello from the mock, with é and 🙂.' }, { chunkSize: 4 });
  mock.on(
    { userMessage: 'look it up', hasToolResult: false },
    { toolCalls: [{ name: 'search', arguments: '{"q":"cats"}', id: 'call_s' }], finishReason: 'stop' },
    { chunkSize: 3 },
  );
  mock.on({ userMessage: 'look it up', hasToolResult: true }, { content: 'Found 3 cats.' });
  mock.on({ userMessage: 'fail' }, { error: { message: 'slow down', type: 'RESOURCE_EXHAUSTED' }, status: 429 });
  mock.on(
    { userMessage: 'break' },
    { content: 'This will not be finished because the line is cut.' },
    { chunkSize: 5, truncateAfterChunks: 3 },
  );
  await mock.start();
});
afterAll(() => mock.stop());

const providers: [string, () => ModelInterface][] = [
  ['gemini', () => geminiModel({ name: 'gemini-2.5-flash', apiKey: 'k', baseUrl: mock.url })],
  ['openai', () => openaiModel({ name: 'gpt-4o', apiKey: 'k', baseUrl: `${mock.url}/v1` })],
  ['openrouter', () => openrouterModel({ name: 'openai/gpt-4o', apiKey: 'k', baseUrl: `${mock.url}/v1` })],
];

describe.each(providers)('%s against aimock', (_, make) => {
  test('text is streamed in pieces and ends with stop', async () => {
    const increments = await collect(make().generateStream(ask({ messages: [user('hello')] })));
    expect(increments.length).toBeGreaterThan(3);
    expect(textIn(increments)).toBe('Hello from the mock, with é and 🙂.');
    expect(increments.at(-1)?.finishReason).toBe('stop');
  });

  test('a tool round goes there and back', async () => {
    const tools = [toolNamed('search')];
    const increments = await collect(make().generateStream(ask({ messages: [user('look it up')], tools })));
    const [asked] = callsIn(increments);
    expect(asked).toMatchObject({ name: 'search', args: { q: 'cats' } });
    expect(increments.at(-1)?.finishReason).toBe('tool_calls');
    const messages = [
      user('look it up'),
      model(call(asked?.id ?? 'own-1', 'search', asked?.args)),
      user(result(asked?.id ?? 'own-1', 'search', '3 cats')),
    ];
    expect((await make().generate(ask({ messages, tools }))).content).toEqual([
      { type: 'text', text: 'Found 3 cats.' },
    ]);
  });

  test('429 is RESOURCE_EXHAUSTED and may be retried', async () => {
    const { error } = await attempt(make().generateStream(ask({ messages: [user('fail')] })));
    expect(error).toMatchObject({
      name: 'ModelError',
      code: 'RESOURCE_EXHAUSTED',
      status: 429,
      retryable: true,
      message: 'slow down',
    });
  });

  test('a line that is cut is UNAVAILABLE, after the text that came', async () => {
    const { increments, error } = await attempt(make().generateStream(ask({ messages: [user('break')] })));
    expect('This will not be finished because the line is cut.').toContain(textIn(increments));
    expect(increments.at(-1)?.finishReason).toBeUndefined();
    expect(error).toMatchObject({ name: 'ModelError', code: 'UNAVAILABLE', retryable: true });
  });
});
