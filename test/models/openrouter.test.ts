import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GenerationConfig, ModelInterface } from '../../src/contracts/index.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ask, attempt, call, model, result, user } from './ask.js';

let server: ScriptedServer;
let openrouter: ModelInterface;

beforeAll(async () => {
  server = await scriptedServer();
  openrouter = openrouterModel({ name: 'vendor/model', apiKey: 'key', baseUrl: `${server.url}/api/v1` });
});
afterAll(() => server.close());

const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});

test('keep-alive comments are skipped, reasoning is a thought, the cost is what the provider says', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, cost: 0.00125 };
  server.answer({
    chunks: [
      ': OPENROUTER PROCESSING\n\n',
      sse(chunk({ content: '', reasoning: 'hm' })),
      ': OPENROUTER PROCESSING\n\n',
      sse(chunk({ content: 'yes', reasoning: null }, 'stop'), { choices: [], usage }, '[DONE]'),
    ],
  });
  expect(await openrouter.generate(ask())).toEqual({
    content: [
      { type: 'thought', thought: 'hm' },
      { type: 'text', text: 'yes' },
    ],
    usage: { inputTokens: 3, outputTokens: 2, cost: { usd: 0.00125 } },
    finishReason: 'stop',
  });
  expect(server.lastRequest()).toMatchObject({
    path: '/api/v1/chat/completions',
    body: { model: 'vendor/model', usage: { include: true } },
  });
});

test('settings of thinking and top_k are mapped', async () => {
  const sent = async (config: GenerationConfig) => {
    server.answer({ chunks: [sse(chunk({ content: 'x' }, 'stop'))] });
    await openrouter.generate(ask({ config }));
    return server.lastRequest().body;
  };
  expect(await sent({ topK: 4, thinking: { budget: 2000 } })).toMatchObject({
    top_k: 4,
    reasoning: { max_tokens: 2000 },
  });
  expect((await sent({ thinking: { budget: 0 } })).reasoning).toEqual({ enabled: false });
  expect((await sent({ thinking: { includeThoughts: true } })).reasoning).toEqual({ enabled: true });
  expect((await sent({ thinking: { includeThoughts: false } })).reasoning).toEqual({ exclude: true });
  expect(await sent({})).not.toHaveProperty('reasoning');
});

test('reasoning details with their signatures go back as they came', async () => {
  server.answer({
    chunks: [
      sse(
        chunk({
          reasoning: 'let me',
          reasoning_details: [{ type: 'reasoning.text', text: 'let ', index: 0, format: 'f' }],
        }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'me', index: 0, signature: 'S+/=' }] }),
        chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'ZZ', index: 1, id: 'c1' }] }),
        chunk(
          { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
          'tool_calls',
        ),
      ),
    ],
  });
  const answer = await openrouter.generate(ask());
  server.answer({ chunks: [sse(chunk({ content: 'x' }, 'stop'))] });
  await openrouter.generate(
    ask({ messages: [user('q'), model(...answer.content, call('c1', 'f')), user(result('c1', 'f', 1))] }),
  );
  expect((server.lastRequest().body.messages as object[])[1]).toEqual({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    reasoning_details: [
      { type: 'reasoning.text', text: 'let me', index: 0, format: 'f', signature: 'S+/=' },
      { type: 'reasoning.encrypted', data: 'ZZ', index: 1, id: 'c1' },
    ],
  });
});

test('a picture that the model made is media', async () => {
  server.answer({
    chunks: [
      sse(
        chunk(
          {
            images: [
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
              { image_url: { url: 'https://x/y' } },
            ],
          },
          'stop',
        ),
      ),
    ],
  });
  expect((await openrouter.generate(ask())).content).toEqual([
    { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    { type: 'media', mimeType: 'image/*', uri: 'https://x/y' },
  ]);
});

test.each([
  [
    { error: { code: 400, message: 'bad' }, choices: [] },
    { code: 'INVALID_ARGUMENT', status: 400, retryable: false, message: 'bad' },
  ],
  [
    { error: { code: 502, message: 'gone' }, choices: [] },
    { code: 'UNAVAILABLE', status: 502, retryable: true, message: 'gone' },
  ],
  [
    { error: { code: 502, message: 'gone' }, choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }] },
    { code: 'UNAVAILABLE', retryable: true, message: 'gone' },
  ],
])('an error inside a 200 ends the stream after its text: %j', async (frame, expected) => {
  const begun = chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a"' } }] });
  server.answer({
    chunks: [sse(chunk({ content: 'half' }), begun, frame, chunk({ content: 'more' }, 'stop'), '[DONE]')],
  });
  const { increments, error } = await attempt(openrouter.generateStream(ask()));
  expect(increments).toEqual([{ content: [{ type: 'text', text: 'half' }] }]);
  expect(error).toMatchObject({ name: 'ModelError', ...expected });
});
