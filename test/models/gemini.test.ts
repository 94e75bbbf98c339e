import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelInterface, ModelRequest } from '../../src/contracts/index.js';
import { createHistory } from '../../src/kernel/history.js';
import { geminiModel } from '../../src/models/gemini.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ask, attempt, call, callsIn, collect, model, result, textIn, toolNamed, user } from './ask.js';

let server: ScriptedServer;
let gemini: ModelInterface;

beforeAll(async () => {
  server = await scriptedServer();
  gemini = geminiModel({ name: 'gemini-test', apiKey: 'key', baseUrl: server.url });
});
afterAll(() => server.close());

const frame = (parts: object[], finishReason?: string, usage?: [number, number]) => ({
  candidates: [{ content: { role: 'model', parts }, ...(finishReason ? { finishReason } : {}), index: 0 }],
  ...(usage ? { usageMetadata: { promptTokenCount: usage[0], candidatesTokenCount: usage[1] } } : {}),
});

/** The increments of one answer made of these frames. */
async function answerOf(frames: (object | string)[], request: ModelRequest = ask()) {
  server.answer({ chunks: [sse(...frames)] });
  return attempt(gemini.generateStream(request));
}

/** The body that a request is sent with. */
async function bodyOf(request: ModelRequest) {
  await answerOf([frame([{ text: 'ok' }], 'STOP')], request);
  return server.lastRequest().body as {
    contents: { role: string; parts: Record<string, unknown>[] }[];
    systemInstruction?: { parts: { text: string }[] };
    tools?: { functionDeclarations: { name: string; parameters?: object }[] }[];
    toolConfig?: object;
    generationConfig: object;
  };
}

describe('answers', () => {
  test('text is streamed as it comes, the finish reason stands last', async () => {
    const { increments } = await answerOf([
      frame([{ text: 'Hel' }], undefined, [7, 1]),
      frame([{ text: 'lo' }], 'STOP', [7, 2]),
    ]);
    expect(increments).toEqual([
      { content: [{ type: 'text', text: 'Hel' }], usage: { inputTokens: 7, outputTokens: 1 } },
      { content: [{ type: 'text', text: 'lo' }], usage: { inputTokens: 7, outputTokens: 2 } },
      { content: [], finishReason: 'stop', usage: { inputTokens: 7, outputTokens: 2 } },
    ]);
    expect(server.lastRequest().path).toBe('/v1beta/models/gemini-test:streamGenerateContent?alt=sse');
  });

  test('STOP in every chunk is one completion with every text (B090)', async () => {
    const { increments } = await answerOf(['a', 'b', 'c'].map((text) => frame([{ text }], 'STOP')));
    expect(textIn(increments)).toBe('abc');
    expect(increments.filter(({ finishReason }) => finishReason)).toEqual([{ content: [], finishReason: 'stop' }]);
  });

  test('usage is cumulative: the last one counts (B105)', async () => {
    server.answer({
      chunks: [
        sse(
          frame([{ text: 'a' }], undefined, [10, 5]),
          frame([{ text: 'b' }], undefined, [10, 9]),
          frame([{ text: 'c' }], 'STOP', [10, 12]),
        ),
      ],
    });
    expect((await gemini.generate(ask())).usage).toEqual({ inputTokens: 10, outputTokens: 12 });
  });

  test('cached and thought tokens are given where the provider gives them', async () => {
    const usageMetadata = {
      promptTokenCount: 9,
      candidatesTokenCount: 3,
      cachedContentTokenCount: 4,
      thoughtsTokenCount: 2,
      totalTokenCount: 14,
    };
    const { increments } = await answerOf([frame([{ text: 'a' }], 'STOP'), { usageMetadata }]);
    expect(increments.at(-1)?.usage).toEqual({ inputTokens: 9, outputTokens: 3, cachedTokens: 4, thoughtTokens: 2 });
  });

  test('no usage is absent, not 0 (B106)', async () => {
    server.answer({ chunks: [sse(frame([{ text: 'a' }], 'STOP'))] });
    expect(await gemini.generate(ask())).toEqual({ content: [{ type: 'text', text: 'a' }], finishReason: 'stop' });
  });

  test('thoughts are thought parts, code and files parts of their own, unknown parts are left out', async () => {
    server.answer({
      chunks: [
        sse(
          frame([
            { text: 'hm', thought: true },
            { text: ' yes', thought: true, thoughtSignature: 's1' },
          ]),
          frame(
            [
              { executableCode: { language: 'PYTHON', code: '1+1' } },
              { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no' } },
              { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
              { somethingNew: {} },
              { text: 'done' },
            ],
            'STOP',
          ),
        ),
      ],
    });
    expect((await gemini.generate(ask())).content).toEqual([
      { type: 'thought', thought: 'hm yes', thoughtSignature: 's1' },
      { type: 'code', language: 'python', code: '1+1', _meta: { providerExecuted: true } },
      { type: 'code_result', output: 'no', exitCode: 1, _meta: { providerExecuted: true } },
      { type: 'media', mimeType: 'image/png', data: 'AAAA' },
      { type: 'text', text: 'done' },
    ]);
  });

  test('parallel calls without ids keep none, and finish as tool calls (B100)', async () => {
    const { increments } = await answerOf([
      frame(
        [{ functionCall: { name: 'f', args: { n: 1 } }, thoughtSignature: 'sig==' }, { functionCall: { name: 'f' } }],
        'STOP',
      ),
    ]);
    expect(callsIn(increments)).toEqual([
      { name: 'f', args: { n: 1 }, thoughtSignature: 'sig==' },
      { name: 'f', args: {} },
    ]);
    expect(increments.at(-1)?.finishReason).toBe('tool_calls');
  });

  test('text between and behind calls keeps its place', async () => {
    const { increments } = await answerOf([
      frame([{ text: 'a' }, { functionCall: { name: 'f', id: 'x' } }, { text: 'b', thoughtSignature: 't' }]),
      frame([{ functionCall: { name: 'g' } }], 'STOP'),
    ]);
    expect(increments.slice(0, -1)).toEqual([
      { content: [{ type: 'text', text: 'a' }] },
      { content: [], toolCalls: [{ name: 'f', args: {}, id: 'x' }] },
      { content: [{ type: 'text', text: 'b', _meta: { thoughtSignature: 't' } }] },
      { content: [], toolCalls: [{ name: 'g', args: {} }] },
    ]);
  });

  test('a signature that comes alone is kept', async () => {
    const { increments } = await answerOf([
      frame([{ text: 'a' }]),
      frame([{ text: '', thoughtSignature: 'alone' }], 'STOP'),
    ]);
    expect(increments[1]?.content).toEqual([{ type: 'text', text: '', _meta: { thoughtSignature: 'alone' } }]);
  });
});

describe('finish reasons', () => {
  test.each(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'LANGUAGE', 'IMAGE_SAFETY'])(
    '%s is a refusal, and no call survives it',
    async (reason) => {
      const { increments } = await answerOf([
        frame([{ text: 'half' }, { functionCall: { name: 'f' } }]),
        { candidates: [{ finishReason: reason }] },
      ]);
      expect(increments.at(-1)).toEqual({
        content: [{ type: 'refusal', text: `The answer was withheld: ${reason}.` }],
        finishReason: 'refusal',
      });
      expect(callsIn(increments)).toEqual([]);
    },
  );

  test('a blocked prompt is a refusal', async () => {
    const { increments } = await answerOf([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }]);
    expect(increments).toEqual([
      { content: [{ type: 'refusal', text: 'The prompt was blocked: PROHIBITED_CONTENT.' }], finishReason: 'refusal' },
    ]);
  });

  test.each<[string, object]>([
    ['a malformed call', { candidates: [{ content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' }] }],
    ['no candidates', { candidates: [] }],
    ['STOP with no parts', { candidates: [{ content: { parts: [] }, finishReason: 'STOP' }] }],
    ['STOP with no content', { candidates: [{ finishReason: 'STOP' }] }],
    ['STOP with empty text', frame([{ text: '' }], 'STOP')],
    ['an unexpected call', frame([], 'UNEXPECTED_TOOL_CALL')],
    ['a call without a name', frame([{ functionCall: { args: {} } }], 'STOP')],
  ])('%s is malformed, with empty content (B103)', async (_, given) => {
    expect(await answerOf([given])).toEqual({ increments: [{ content: [], finishReason: 'malformed' }] });
  });

  test('MAX_TOKENS is length', async () => {
    const { increments } = await answerOf([frame([{ text: 'cut' }], 'MAX_TOKENS')]);
    expect(increments.at(-1)?.finishReason).toBe('length');
  });

  test.each(['OTHER', 'FINISH_REASON_UNSPECIFIED', 'CONTINUATION', 'SOMETHING_NEW'])(
    '%s is a failure that may be retried, by whoever asked',
    async (reason) => {
      const before = server.requests.length;
      const { increments, error } = await answerOf([
        { candidates: [{ content: { parts: [{ text: 'half' }] }, finishReason: reason, continuationToken: 't' }] },
      ]);
      expect(textIn(increments)).toBe('half');
      expect(error).toMatchObject({
        name: 'ModelError',
        code: 'UNAVAILABLE',
        retryable: true,
        message: expect.stringContaining(reason),
      });
      expect(server.requests.length - before).toBe(1);
    },
  );
});

describe('requests', () => {
  test('system text, settings and history are mapped', async () => {
    const body = await bodyOf(
      ask({
        systemInstruction: 'Be brief.',
        messages: [
          { role: 'system', content: [{ type: 'text', text: 'More.' }] },
          user(
            'q',
            { type: 'media', mimeType: 'image/png', data: 'AAAA' },
            { type: 'media', mimeType: 'application/pdf', uri: 'gs://f' },
          ),
          model(
            { type: 'thought', thought: 'unsigned' },
            { type: 'thought', thought: 'signed', thoughtSignature: 's' },
            'answer',
          ),
          user(
            { type: 'code', language: 'js', code: '1' },
            { type: 'new_kind', text: 'shown' } as never,
            { type: 'new_kind', x: 1 } as never,
          ),
        ],
        config: {
          temperature: 0.5,
          topP: 0.9,
          topK: 3,
          maxOutputTokens: 100,
          stopSequences: ['END'],
          seed: 7,
          thinking: { budget: 0, includeThoughts: true },
        },
      }),
    );
    expect(body.systemInstruction?.parts).toEqual([{ text: 'Be brief.\n\nMore.' }]);
    expect(body.contents).toEqual([
      {
        role: 'user',
        parts: [
          { text: 'q' },
          { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          { fileData: { mimeType: 'application/pdf', fileUri: 'gs://f' } },
        ],
      },
      { role: 'model', parts: [{ text: 'signed', thought: true, thoughtSignature: 's' }, { text: 'answer' }] },
      { role: 'user', parts: [{ text: '```js\n1\n```' }, { text: 'shown' }, { text: '{"type":"new_kind","x":1}' }] },
    ]);
    expect(body.generationConfig).toEqual({
      temperature: 0.5,
      topP: 0.9,
      topK: 3,
      maxOutputTokens: 100,
      stopSequences: ['END'],
      seed: 7,
      thinkingConfig: { thinkingBudget: 0, includeThoughts: true },
    });
  });

  test('three parallel calls with one signature go back as one content, verbatim, then one with three responses (B101)', async () => {
    const { increments } = await answerOf([
      frame(
        [
          { functionCall: { name: 'f', args: { n: 1 } }, thoughtSignature: 'EpkB+/==' },
          { functionCall: { name: 'f', args: { n: 2 } } },
          { functionCall: { name: 'f', args: { n: 3 } } },
        ],
        'STOP',
      ),
    ]);
    const history = createHistory();
    history.user([{ type: 'text', text: 'q' }]);
    const calls = callsIn(increments).map((each, index) => ({
      ...each,
      requestId: `r${index}`,
      messageId: 'm',
      index,
    }));
    for (const each of calls) history.call(each);
    for (const { requestId } of [...calls].reverse())
      history.response(requestId, { llmContent: [{ type: 'text', text: requestId }] });
    const body = await bodyOf(ask({ messages: history.messages() }));
    expect(body.contents.slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'r0', name: 'f', args: { n: 1 } }, thoughtSignature: 'EpkB+/==' },
          { functionCall: { id: 'r1', name: 'f', args: { n: 2 } } },
          { functionCall: { id: 'r2', name: 'f', args: { n: 3 } } },
        ],
      },
      {
        role: 'user',
        parts: [0, 1, 2].map((n) => ({ functionResponse: { id: `r${n}`, name: 'f', response: { output: `r${n}` } } })),
      },
    ]);
  });

  test('signatures of texts and thoughts survive a round trip byte for byte', async () => {
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: 'A+/=' },
      { text: 'so', thoughtSignature: 'B-_' },
      { text: '', thoughtSignature: 'C' },
    ];
    server.answer({ chunks: [sse(frame(parts, 'STOP'))] });
    const { content } = await gemini.generate(ask());
    const body = await bodyOf(ask({ messages: [user('q'), { role: 'model', content }, user('and?')] }));
    expect(body.contents[1]?.parts).toEqual(parts);
  });

  test("another provider's reasoning is not sent as a signature", async () => {
    const kept = { type: 'thought' as const, thought: '', thoughtSignature: '[{"type":"reasoning.text"}]' };
    const body = await bodyOf(ask({ messages: [user('q'), model(kept, 'a'), user('b')] }));
    expect(body.contents[1]?.parts).toEqual([{ text: 'a' }]);
  });

  test('tools are declared in its own schema language, names mapped there and back', async () => {
    server.answer({
      chunks: [sse(frame([{ functionCall: { name: 'researcher_search', args: { q: 'x' } } }], 'STOP'))],
    });
    const request = ask({
      tools: [toolNamed('researcher.search', { q: { type: ['string', 'null'] } }), toolNamed('now', {})],
    });
    const answer = await gemini.generate(request);
    expect(answer.toolCalls).toEqual([{ name: 'researcher.search', args: { q: 'x' } }]);
    expect(server.lastRequest().body.tools).toEqual([
      {
        functionDeclarations: [
          {
            name: 'researcher_search',
            description: 'runs researcher.search',
            parameters: { type: 'OBJECT', properties: { q: { type: 'STRING', nullable: true } } },
          },
          { name: 'now', description: 'runs now' },
        ],
      },
    ]);
  });

  test('a union is declared through the client as it was converted', async () => {
    const body = await bodyOf(
      ask({
        tools: [toolNamed('t', { x: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] }, y: {} })],
      }),
    );
    expect(body.tools?.[0]?.functionDeclarations[0]?.parameters).toMatchObject({
      properties: { x: { nullable: true, anyOf: [{ type: 'INTEGER' }, { type: 'STRING' }] }, y: { nullable: true } },
    });
  });

  test.each<[Partial<ModelRequest>, unknown, string[]]>([
    [{ toolMode: 'auto' }, { mode: 'AUTO' }, ['a', 'b_c']],
    [{ toolMode: 'none' }, { mode: 'NONE' }, ['a', 'b_c']],
    [{ toolMode: 'any' }, { mode: 'ANY' }, ['a', 'b_c']],
    [{ toolMode: 'any', allowedTools: ['b.c'] }, { mode: 'ANY', allowedFunctionNames: ['b_c'] }, ['b_c']],
    [{ allowedTools: ['a'] }, undefined, ['a']],
  ])('%j limits the calls', async (rest, functionCallingConfig, declared) => {
    const body = await bodyOf(ask({ tools: [toolNamed('a'), toolNamed('b.c')], ...rest }));
    expect(body.toolConfig).toEqual(functionCallingConfig && { functionCallingConfig });
    expect(body.tools?.[0]?.functionDeclarations.map(({ name }) => name)).toEqual(declared);
  });

  test('an output schema becomes the response schema, unless there are tools', async () => {
    const outputSchema = { type: 'object', properties: { a: { type: ['number', 'null'] } } };
    expect((await bodyOf(ask({ outputSchema }))).generationConfig).toEqual({
      responseMimeType: 'application/json',
      responseSchema: { type: 'OBJECT', properties: { a: { type: 'NUMBER', nullable: true } } },
    });
    expect((await bodyOf(ask({ outputSchema, tools: [toolNamed('a')] }))).generationConfig).toEqual({});
  });

  test.each<[string, unknown, object]>([
    ['text', 'x', { output: 'x' }],
    ['an object', { a: 1 }, { output: { a: 1 } }],
    ['a value with $ref inside', { $ref: '#/x' }, { output: '{"$ref":"#/x"}' }],
    ['a list with $ref deep inside', [{ a: { $ref: 1 } }], { output: '[{"a":{"$ref":1}}]' }],
    [
      'parts',
      [
        { type: 'text', text: 'a' },
        { type: 'reference', text: 'b', uri: 'c' },
      ],
      { output: 'a\nb (c)' },
    ],
  ])('a result that is %s is sent in an accepted shape', async (_, output, response) => {
    const messages = [user('q'), model(call('c', 'f')), user(result('c', 'f', output))];
    const before = structuredClone(messages);
    const body = await bodyOf(ask({ messages }));
    expect(body.contents[2]?.parts).toEqual([{ functionResponse: { id: 'c', name: 'f', response } }]);
    expect(messages).toEqual(before);
  });

  test('a response that is no object, or is a bare $ref, is wrapped (B113)', async () => {
    const responses = ['plain', [1], null, { $ref: '#/x' }].map((response, at) => ({
      type: 'function_response' as const,
      id: `c${at}`,
      name: 'f',
      response,
    }));
    const body = await bodyOf(
      ask({ messages: [user('q'), model(...responses.map(({ id }) => call(id, 'f'))), user(...responses)] }),
    );
    expect(body.contents[2]?.parts.map((part) => (part.functionResponse as { response: unknown }).response)).toEqual([
      { output: 'plain' },
      { output: [1] },
      { output: null },
      { output: '{"$ref":"#/x"}' },
    ]);
  });

  test('pictures that a tool gave stand behind the responses', async () => {
    const output = [
      { type: 'text', text: 'see' },
      { type: 'media', mimeType: 'image/png', data: 'AAAA' },
    ];
    const body = await bodyOf(
      ask({
        messages: [user('q'), model(call('c', 'f')), user(result('c', 'f', output), { type: 'text', text: 'and' })],
      }),
    );
    expect(body.contents[2]?.parts).toEqual([
      { functionResponse: { id: 'c', name: 'f', response: { output: 'see\n[image/png]' } } },
      { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
      { text: 'and' },
    ]);
  });

  test('the request is not touched', async () => {
    const request = ask({
      messages: [user('a'), user('b'), model(call('x', 'f', { deep: [1] })), user(result('x', 'f', { $ref: 1 }))],
      tools: [toolNamed('a.b')],
      config: { temperature: 1 },
    });
    const before = structuredClone(request);
    await bodyOf(request);
    expect(request).toEqual(before);
  });
});

describe('a schema that cannot be sent', () => {
  test('is refused with the reason before anything is sent', async () => {
    const sent = server.requests.length;
    const tools = [
      { ...toolNamed('t'), parametersSchema: { type: 'object', properties: { a: { $ref: 'https://elsewhere' } } } },
    ];
    await expect(collect(gemini.generateStream(ask({ tools })))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      retryable: false,
      message: expect.stringContaining('tool "t"'),
    });
    expect(server.requests).toHaveLength(sent);
  });
});

describe('counting', () => {
  test('messages are counted by the provider, with the headers of every request', async () => {
    const counting = geminiModel({
      name: 'gemini-test',
      baseUrl: server.url,
      headers: () => ({ authorization: 'Bearer t1' }),
    });
    server.answer({ headers: { 'content-type': 'application/json' }, chunks: ['{"totalTokens": 1234}'] });
    expect(await counting.countTokens?.({ messages: [user('how much?')] })).toBe(1234);
    const { path, headers, body } = server.lastRequest();
    expect(path).toBe('/v1beta/models/gemini-test:countTokens');
    expect(headers.authorization).toBe('Bearer t1');
    expect(headers['x-goog-api-key']).toBeUndefined();
    expect(body.contents).toEqual([{ role: 'user', parts: [{ text: 'how much?' }] }]);
  });

  test('a refusal, and an answer without a count, are errors', async () => {
    server.answer({ status: 429, headers: {}, chunks: ['{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}'] });
    await expect(gemini.countTokens?.({ messages: [user('a')] })).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    server.answer({ headers: { 'content-type': 'application/json' }, chunks: ['{}'] });
    await expect(gemini.countTokens?.({ messages: [user('a')] })).rejects.toMatchObject({ code: 'INTERNAL' });
  });
});
