import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelInterface, ModelRequest } from '../../src/contracts/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { openaiModel } from '../../src/models/openai.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ask, attempt, call, callsIn, model, result, textIn, toolNamed, user } from './ask.js';

let server: ScriptedServer;
let openai: ModelInterface;

beforeAll(async () => {
  server = await scriptedServer();
  openai = openaiModel({ name: 'gpt-test', apiKey: 'key', baseUrl: `${server.url}/v1` });
});
afterAll(() => server.close());

const chunk = (delta: object, finish_reason: string | null = null, rest: object = {}) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason, ...rest }],
});
const piece = (index: number | undefined, id: string | undefined, name: string | undefined, args?: string) => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
});

async function answerOf(frames: (object | string)[], request: ModelRequest = ask()) {
  server.answer({ chunks: [sse(...frames)] });
  return attempt(openai.generateStream(request));
}

interface Body {
  messages: {
    role: string;
    content: unknown;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
  }[];
  tools?: { function: { name: string; parameters: object } }[];
  tool_choice?: unknown;
  response_format?: unknown;
  [key: string]: unknown;
}

async function bodyOf(request: ModelRequest): Promise<Body> {
  await answerOf([chunk({ content: 'ok' }, 'stop')], request);
  return server.lastRequest().body as unknown as Body;
}

describe('answers', () => {
  test('text is streamed as it comes; usage and finish reason stand last', async () => {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 1 },
    };
    const { increments } = await answerOf([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      chunk({}, 'stop'),
      { choices: [], usage },
      '[DONE]',
    ]);
    expect(increments).toEqual([
      { content: [{ type: 'text', text: 'Hel' }] },
      { content: [{ type: 'text', text: 'lo' }] },
      {
        content: [],
        finishReason: 'stop',
        usage: { inputTokens: 5, outputTokens: 2, cachedTokens: 3, thoughtTokens: 1 },
      },
    ]);
    const { path, body } = server.lastRequest();
    expect(path).toBe('/v1/chat/completions');
    expect(body).toMatchObject({ model: 'gpt-test', stream: true, stream_options: { include_usage: true } });
  });

  test('generate folds the whole answer', async () => {
    server.answer({
      chunks: [
        sse(
          chunk({ content: 'a' }),
          chunk({ content: 'b' }),
          chunk(piece(0, 'c', 'f', '{}')),
          chunk({}, 'tool_calls'),
          '[DONE]',
        ),
      ],
    });
    expect(await openai.generate(ask())).toEqual({
      content: [{ type: 'text', text: 'ab' }],
      toolCalls: [{ id: 'c', name: 'f', args: {} }],
      finishReason: 'tool_calls',
    });
  });

  test('usage in every chunk is cumulative: the last one counts (B105)', async () => {
    const frames = [5, 9, 12].map((completion_tokens, at) => ({
      ...chunk({ content: 'x' }, at === 2 ? 'stop' : null),
      usage: { prompt_tokens: 10, completion_tokens },
    }));
    expect((await answerOf(frames)).increments.at(-1)?.usage).toEqual({ inputTokens: 10, outputTokens: 12 });
  });

  test('no usage, or null, is absent (B106)', async () => {
    const { increments } = await answerOf([{ ...chunk({ content: 'x' }), usage: null }, chunk({}, 'stop')]);
    expect(increments.some((increment) => 'usage' in increment)).toBe(false);
  });

  test('an endpoint that answers with one plain JSON is read too', async () => {
    const whole = {
      choices: [
        {
          message: {
            role: 'assistant',
            content: 'hé',
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2 },
    };
    server.answer({ headers: { 'content-type': 'application/json; charset=utf-8' }, chunks: [JSON.stringify(whole)] });
    expect(await openai.generate(ask())).toEqual({
      content: [{ type: 'text', text: 'hé' }],
      toolCalls: [{ id: 'c', name: 'f', args: {} }],
      usage: { inputTokens: 1, outputTokens: 2 },
      finishReason: 'tool_calls',
    });
  });

  test('other choices than the first are left out', async () => {
    const { increments } = await answerOf([
      {
        choices: [
          { index: 1, delta: { content: 'no' } },
          { index: 0, delta: { content: 'yes' }, finish_reason: 'stop' },
        ],
      },
    ]);
    expect(textIn(increments)).toBe('yes');
  });

  test('the reasoning of a compatible server is a thought, content in parts is text', async () => {
    const { increments } = await answerOf([
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: [{ type: 'text', text: 'a' }, { type: 'other' }] }, 'stop'),
    ]);
    expect(increments.flatMap(({ content }) => content)).toEqual([
      { type: 'thought', thought: 'hm' },
      { type: 'text', text: 'a' },
    ]);
  });
});

describe('tool calls', () => {
  test('come in pieces, by index or by id, whole or broken (B091, B093, B096)', async () => {
    const { increments } = await answerOf([
      chunk(piece(1, 'c1', 'f', '{"a"')),
      chunk(piece(1, undefined, undefined, ':1}')),
      chunk(piece(2, 'c2', 'g', '  ')),
      chunk(piece(3, 'c3', 'h', '{"path":"a')),
      chunk({}, 'tool_calls'),
    ]);
    expect(callsIn(increments)).toEqual([
      { id: 'c1', name: 'f', args: { a: 1 } },
      { id: 'c2', name: 'g', args: {} },
      { id: 'c3', name: 'h', args: '{"path":"a', brokenArgs: '{"path":"a' },
    ]);
  });

  test.each([[''], ['  '], [undefined]])('arguments %j are {} (B095)', async (args) => {
    const { increments } = await answerOf([chunk(piece(0, 'c', 'f', args)), chunk({}, 'tool_calls')]);
    expect(callsIn(increments)).toEqual([{ id: 'c', name: 'f', args: {} }]);
  });

  test('a call that ends with stop finishes as tool calls', async () => {
    const { increments } = await answerOf([chunk(piece(0, undefined, 'f', '{}')), chunk({}, 'stop')]);
    expect(increments).toEqual([{ content: [], finishReason: 'tool_calls', toolCalls: [{ name: 'f', args: {} }] }]);
  });
});

describe('finish reasons', () => {
  test('a refusal is a part, in pieces or by filter, and no call survives it', async () => {
    const said = await answerOf([chunk({ refusal: 'I ca' }), chunk({ refusal: 'nnot.' }), chunk({}, 'stop')]);
    expect(said.increments).toEqual([{ content: [{ type: 'refusal', text: 'I cannot.' }], finishReason: 'refusal' }]);
    const filtered = await answerOf([
      chunk({ content: 'half' }),
      chunk(piece(0, 'c', 'f', '{}')),
      chunk({}, 'content_filter'),
    ]);
    expect(filtered.increments.at(-1)).toEqual({
      content: [{ type: 'refusal', text: 'The answer was withheld by a content filter.' }],
      finishReason: 'refusal',
    });
  });

  test('length is length; a call that was cut off does not run', async () => {
    const { increments } = await answerOf([
      chunk(piece(0, 'a', 'f', '{"x":')),
      chunk(piece(1, 'b', 'g', '')),
      chunk({}, 'length'),
    ]);
    expect(increments).toEqual([
      { content: [], finishReason: 'length', toolCalls: [{ id: 'a', name: 'f', args: '{"x":', brokenArgs: '{"x":' }] },
    ]);
  });

  test.each([
    [chunk({}, 'stop')],
    [chunk({ content: '' }, 'stop')],
    [chunk({ content: null }, 'tool_calls')],
    [chunk(piece(0, '', '', ''), 'tool_calls')],
  ])('%j is an empty answer: malformed (B103)', async (frame) => {
    expect(await answerOf([frame])).toEqual({ increments: [{ content: [], finishReason: 'malformed' }] });
  });

  test.each<[string, object]>([
    ['an unknown reason', chunk({}, 'network_error')],
    ['an upstream that broke off', chunk({}, 'stop', { native_finish_reason: 'network_error' })],
    [
      'an upstream that broke off without a word of its own',
      chunk({}, null, { native_finish_reason: 'network_error' }),
    ],
    ['reason error', chunk({}, 'error')],
  ])('%s is a failure that may be retried (B081)', async (_, frame) => {
    const { increments, error } = await answerOf([chunk({ content: 'half' }), frame]);
    expect(textIn(increments)).toBe('half');
    expect(error).toMatchObject({
      name: 'ModelError',
      code: 'UNAVAILABLE',
      retryable: true,
      message: expect.stringMatching(/error/),
    });
  });

  test("the upstream's own word refines a plain stop", async () => {
    const finish = async (native: string) =>
      (await answerOf([chunk({ content: 'x' }, 'stop', { native_finish_reason: native })])).increments.at(-1)
        ?.finishReason;
    expect([
      await finish('STOP'),
      await finish('MAX_TOKENS'),
      await finish('MALFORMED_FUNCTION_CALL'),
      await finish('completed'),
    ]).toEqual(['stop', 'length', 'malformed', 'stop']);
  });
});

describe('requests', () => {
  test('roles, settings and parts are mapped', async () => {
    const body = await bodyOf(
      ask({
        systemInstruction: 'Be brief.',
        messages: [
          user('q'),
          model({ type: 'thought', thought: 'hm', thoughtSignature: 'gemini' }, 'answer', {
            type: 'refusal',
            text: 'but no',
          }),
          { role: 'system', content: [{ type: 'text', text: 'note' }] },
          user(
            'see',
            { type: 'media', mimeType: 'image/png', data: 'AAAA' },
            { type: 'media', mimeType: 'image/png', uri: 'https://x/y.png' },
            { type: 'media', mimeType: 'audio/mpeg', data: 'BBBB' },
            { type: 'media', mimeType: 'application/pdf', data: 'CCCC' },
            { type: 'media', mimeType: 'video/mp4', uri: 'gs://v' },
          ),
          model({ type: 'code', language: 'js', code: '1' }),
          user({ type: 'ui', format: 'a2ui', data: { a: 1 } }, { type: 'new_kind', x: 1 } as never),
        ],
        config: {
          temperature: 0.5,
          topP: 0.9,
          topK: 3,
          maxOutputTokens: 100,
          stopSequences: ['END'],
          seed: 7,
          presencePenalty: 1,
          reasoning_effort: 'low',
          safetySettings: [],
          model: 'other',
          thinking: { budget: 1 },
        },
      }),
    );
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'answer\nbut no' },
      { role: 'system', content: 'note' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://x/y.png' } },
          { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
          { type: 'file', file: { filename: 'file.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
          { type: 'text', text: '[video/mp4 gs://v]' },
        ],
      },
      { role: 'assistant', content: '```js\n1\n```' },
      { role: 'user', content: '{"a":1}\n{"type":"new_kind","x":1}' },
    ]);
    const { messages, ...settings } = body;
    expect(settings).toEqual({
      model: 'gpt-test',
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100,
      stop: ['END'],
      seed: 7,
      presence_penalty: 1,
      reasoning_effort: 'low',
    });
  });

  test('OpenAI itself gets the newer name of the token limit', async () => {
    let sent: Record<string, unknown> = {};
    const own = openaiModel({
      name: 'gpt-test',
      apiKey: 'key',
      baseUrl: 'https://api.openai.com/v1',
      fetch: async (_, init) => {
        sent = JSON.parse(String(init?.body));
        return new Response(sse(chunk({ content: 'ok' }, 'stop')), {
          headers: { 'content-type': 'text/event-stream' },
        });
      },
    });
    await own.generate(ask({ config: { maxOutputTokens: 5 } }));
    expect(sent).toMatchObject({ max_completion_tokens: 5 });
    expect(sent).not.toHaveProperty('max_tokens');
  });

  test('reused ids go out unique, each call paired with its own result, the history unchanged (B098)', async () => {
    const messages = [
      user('q'),
      model(call('call_0', 'f', { n: 1 })),
      user(result('call_0', 'f', 'one')),
      model(call('call_0', 'g.h', { n: 2 }), call('call_0', 'f', 'broken{')),
      user(result('call_0', 'g.h', { two: 2 }), result('call_0', 'f', 'three')),
    ];
    const before = structuredClone(messages);
    expect(findBrokenPairs(messages)).toEqual([]);
    const body = await bodyOf(ask({ messages }));
    const calls = body.messages.flatMap((message) => message.tool_calls ?? []);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    expect(calls.map((each) => each.function)).toEqual([
      { name: 'f', arguments: '{"n":1}' },
      { name: 'g_h', arguments: '{"n":2}' },
      { name: 'f', arguments: '{"value":"broken{"}' },
    ]);
    expect(body.messages.filter(({ role }) => role === 'tool')).toEqual([
      { role: 'tool', tool_call_id: calls[0]?.id, content: 'one' },
      { role: 'tool', tool_call_id: calls[1]?.id, content: '{"output":{"two":2}}' },
      { role: 'tool', tool_call_id: calls[2]?.id, content: 'three' },
    ]);
    expect(body.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'tool']);
    expect(messages).toEqual(before);
  });

  test('an error result is told as JSON; media of results follow in a message of the user', async () => {
    const failed = { type: 'function_response' as const, id: 'a', name: 'f', response: { error: 'no such file' } };
    const output = [
      { type: 'text', text: 'see' },
      { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    ];
    const body = await bodyOf(
      ask({ messages: [user('q'), model(call('a', 'f'), call('b', 'g')), user(failed, result('b', 'g', output))] }),
    );
    expect(body.messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '{"error":"no such file"}' },
      { role: 'tool', tool_call_id: 'b', content: 'see\n[image/png]' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
    ]);
  });

  test('tool names are mapped there and back', async () => {
    const long = `agent.${'x'.repeat(80)}`;
    server.answer((request) => {
      const [first, second] = (request.body as unknown as Body).tools ?? [];
      return {
        chunks: [
          sse(
            chunk(piece(0, 'a', first?.function.name, '{}')),
            chunk(piece(1, 'b', second?.function.name, '{}')),
            chunk({}, 'tool_calls'),
          ),
        ],
      };
    });
    const { increments } = await attempt(openai.generateStream(ask({ tools: [toolNamed('a.b'), toolNamed(long)] })));
    expect(callsIn(increments).map(({ name }) => name)).toEqual(['a.b', long]);
    for (const tool of (server.lastRequest().body as unknown as Body).tools ?? [])
      expect(tool.function.name).toMatch(/^[\w-]{1,64}$/);
  });

  test.each<[Partial<ModelRequest>, unknown, string[]]>([
    [{ toolMode: 'auto' }, 'auto', ['a', 'b_c']],
    [{ toolMode: 'none' }, 'none', ['a', 'b_c']],
    [{ toolMode: 'any' }, 'required', ['a', 'b_c']],
    [{ toolMode: 'any', allowedTools: ['b.c'] }, { type: 'function', function: { name: 'b_c' } }, ['b_c']],
    [{ allowedTools: ['a'] }, undefined, ['a']],
  ])('%j limits the calls', async (rest, choice, declared) => {
    const body = await bodyOf(ask({ tools: [toolNamed('a'), toolNamed('b.c')], ...rest }));
    expect(body.tool_choice).toEqual(choice);
    expect(body.tools?.map((tool) => tool.function.name)).toEqual(declared);
  });

  test('without tools no tool mode is sent; an output schema is the response format', async () => {
    const body = await bodyOf(
      ask({ toolMode: 'any', outputSchema: { type: 'object', properties: { a: { type: 'number' } } } }),
    );
    expect(body).not.toHaveProperty('tool_choice');
    expect(body).not.toHaveProperty('tools');
    expect(body.response_format).toMatchObject({ type: 'json_schema', json_schema: { name: 'output', strict: false } });
  });

  test('the request is not touched', async () => {
    const request = ask({
      messages: [user('a'), user('b'), model(call('', 'f', { deep: [1] })), user(result('', 'f', 1))],
      tools: [toolNamed('a.b')],
    });
    const before = structuredClone(request);
    await bodyOf(request);
    expect(request).toEqual(before);
  });
});
