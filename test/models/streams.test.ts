import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelInterface, ModelResponse } from '../../src/contracts/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { openaiModel } from '../../src/models/openai.js';
import type { Fetch } from '../../src/models/wire/clean-fetch.js';
import { fc } from '../support/fast-check.js';
import { type ScriptedAnswer, type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ask, attempt, textIn } from './ask.js';

let server: ScriptedServer;
beforeAll(async () => {
  server = await scriptedServer();
});
afterAll(() => server.close());

interface Provider {
  name: string;
  model(options: { baseUrl: string; fetch?: Fetch }): ModelInterface;
  /** A whole answer with text of 2, 3 and 4 bytes, comments, a call and a signature. */
  stream: string;
  whole: ModelResponse;
  text(text: string, finish?: boolean): object;
}

const geminiText = (text: string, finish = false) => ({
  candidates: [{ content: { parts: [{ text }] }, ...(finish ? { finishReason: 'STOP' } : {}) }],
});
const chatText = (content: string, finish = false) => ({
  choices: [{ index: 0, delta: { content }, finish_reason: finish ? 'stop' : null }],
});

const providers: Provider[] = [
  {
    name: 'gemini',
    model: (options) => geminiModel({ name: 'g', apiKey: 'k', ...options }),
    stream:
      ': hi\r\n\r\n' +
      'data: {"candidates":[{"content":{"parts":[{"text":"é漢🙂"}]}}]}\r\n\r\n' +
      'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"🙂"}},\r\ndata: "thoughtSignature":"Ab+/9=="}]},"finishReason":"STOP"}],\r\ndata: "usageMetadata":{"promptTokenCount":3}}\r\n\r\n',
    whole: {
      content: [{ type: 'text', text: 'é漢🙂' }],
      toolCalls: [{ name: 'f', args: { a: '🙂' }, thoughtSignature: 'Ab+/9==' }],
      usage: { inputTokens: 3 },
      finishReason: 'tool_calls',
    },
    text: geminiText,
  },
  {
    name: 'openai',
    model: (options) => openaiModel({ name: 'o', apiKey: 'k', ...options }),
    stream:
      ': PROCESSING\n\n' +
      'data: {"choices":[{"delta":{"content":"é漢🙂"}}]}\r\r' +
      'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c","function":{"name":"f","arguments":"{\\"a\\""}}]}}]}\r\n\r\n' +
      'data: {"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":":\\"🙂\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n' +
      'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\ndata: [DONE]\n\n',
    whole: {
      content: [{ type: 'text', text: 'é漢🙂' }],
      toolCalls: [{ id: 'c', name: 'f', args: { a: '🙂' } }],
      usage: { inputTokens: 3 },
      finishReason: 'tool_calls',
    },
    text: chatText,
  },
];

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Runs `task` for each item, some at a time: real requests, many of them. */
async function each<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await task(item);
    }),
  );
}

describe.each(providers)('$name', (provider) => {
  const { stream, whole, text } = provider;
  const bytes = bytesOf(stream);
  const overHttp = () => provider.model({ baseUrl: server.url });

  /** The model behind a transport that hands out these pieces. */
  const inMemory = (pieces: readonly Uint8Array[]) =>
    provider.model({
      baseUrl: 'http://127.0.0.1:9',
      fetch: async () => {
        const queue = [...pieces];
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            const piece = queue.shift();
            if (piece === undefined) controller.close();
            else controller.enqueue(piece);
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
      },
    });

  async function of(answer: ScriptedAnswer) {
    server.answer(answer);
    return attempt(overHttp().generateStream(ask()));
  }

  test('a body cut in two anywhere gives the same answer, over HTTP (B085)', async () => {
    const cuts = Array.from({ length: bytes.length - 1 }, (_, at) => at + 1);
    await each(cuts, async (at) => {
      server.answer({ chunks: [bytes.subarray(0, at), bytes.subarray(at)] });
      expect(await overHttp().generate(ask())).toEqual(whole);
    });
  });

  test('a body fed one byte at a time gives the same answer, over HTTP (B085)', async () => {
    server.answer({ chunks: [...bytes].map((byte) => Uint8Array.of(byte)) });
    const answer = await overHttp().generate(ask());
    expect(answer).toEqual(whole);
    expect(JSON.stringify(answer)).not.toContain('\uFFFD');
  });

  test('any pieces give the same answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 12 }), async (cuts) => {
        const edges = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(await inMemory(pieces).generate(ask())).toEqual(whole);
      }),
      { numRuns: 150 },
    );
  });

  test('a socket cut at any byte is a failure, never an answer', async () => {
    const cuts = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, at) => at * 3);
    await each(cuts, async (at) => {
      server.answer({ chunks: [bytes.subarray(0, at)], ending: 'cut' });
      const { increments, error } = await attempt(overHttp().generateStream(ask()));
      expect(error, `cut at ${at}`).toMatchObject({ name: 'ModelError', code: 'UNAVAILABLE', retryable: true });
      expect(increments.every((increment) => !increment.toolCalls && !increment.finishReason)).toBe(true);
    });
  });

  test('a stream that ends before its finish reason is a failure', async () => {
    for (const chunks of [[], [': only a comment\n\n'], [sse(text('half'))]]) {
      const { error } = await of({ chunks });
      expect(error).toMatchObject({
        code: 'UNAVAILABLE',
        retryable: true,
        message: expect.stringContaining('finish reason'),
      });
    }
  });

  test('a frame that is not JSON fails the call; what came before it was delivered, what comes after is not (B088)', async () => {
    const { increments, error } = await of({ chunks: [sse(text('before'), '{bad', text('after', true))] });
    expect(textIn(increments)).toBe('before');
    expect(error).toMatchObject({
      name: 'ModelError',
      code: 'UNAVAILABLE',
      message: 'the provider sent a frame that is not JSON',
    });
  });

  test('a last frame without its empty line counts when it is whole', async () => {
    expect((await of({ chunks: [sse(text('a', true)).trimEnd()] })).increments.at(-1)?.finishReason).toBe('stop');
    expect((await of({ chunks: [sse(text('a', true)).trimEnd().slice(0, -1)] })).error).toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  test('frames behind [DONE] are not read, and the call does not wait for the socket', async () => {
    const { increments } = await of({ chunks: [sse(text('a', true), '[DONE]', '{bad')], ending: 'hang' });
    expect(textIn(increments)).toBe('a');
    expect(increments.at(-1)?.finishReason).toBe('stop');
  });

  test.each([
    [400, 'INVALID_ARGUMENT', false],
    [401, 'UNAUTHENTICATED', false],
    [429, 'RESOURCE_EXHAUSTED', true],
    [500, 'INTERNAL', true],
    [503, 'UNAVAILABLE', true],
  ])('status %i is %s, and is asked once', async (status, code, retryable) => {
    const before = server.requests.length;
    const { error } = await of({
      status,
      headers: { 'content-type': 'application/json' },
      chunks: [JSON.stringify({ error: { message: 'because' } })],
    });
    expect(error).toMatchObject({ name: 'ModelError', code, retryable, status, message: 'because' });
    expect(server.requests.length - before).toBe(1);
  });

  test('429 with RetryInfo says how long, 0 is 0 (B108)', async () => {
    const answer = (retryDelay: string) => ({
      status: 429,
      headers: { 'content-type': 'application/json' },
      chunks: [
        JSON.stringify({
          error: {
            code: 429,
            status: 'RESOURCE_EXHAUSTED',
            message: 'slow',
            details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
          },
        }),
      ],
    });
    expect((await of(answer('0s'))).error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryAfterMs: 0 });
    expect((await of(answer('2.5s'))).error).toMatchObject({ retryAfterMs: 2500 });
    expect((await of({ status: 429, headers: { 'retry-after': '3' }, chunks: ['timed out'] })).error).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      retryAfterMs: 3000,
      message: 'timed out',
    });
    expect((await of({ status: 503, headers: {}, chunks: ['<h1>Busy</h1>'] })).error).toMatchObject({
      retryAfterMs: undefined,
      message: 'Busy',
    });
  });

  test('an error inside a 200 is a failure with its code, whatever its shape (B081)', async () => {
    const error = { code: 503, status: 'UNAVAILABLE', message: 'busy' };
    for (const answer of [
      { chunks: [sse(text('half'), { error })] },
      { chunks: [sse(text('half')), 'event: error\n', `data: ${JSON.stringify(error)}\n\n`] },
      { chunks: [sse(text('half')), JSON.stringify({ error }, null, 2)] },
      { chunks: [sse(text('half')), JSON.stringify({ error }), '\n\n', sse(text('more', true))] },
    ]) {
      const { increments, error: thrown } = await of(answer);
      expect(textIn(increments)).toBe('half');
      expect(thrown).toMatchObject({ code: 'UNAVAILABLE', status: 503, retryable: true, message: 'busy' });
    }
    for (const body of [{ error }, [{ error }], [text('half'), { error }]]) {
      const plain = await of({ headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify(body)] });
      expect(plain.error).toMatchObject({ code: 'UNAVAILABLE', message: 'busy' });
    }
  });

  test('a web page in place of an answer says so, and is not tried again; events under that name are read', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8' };
    const page = await of({ headers, chunks: ['<!doctype html>\n<html><body>Sign in</body></html>'] });
    expect(page).toMatchObject({ increments: [], error: { code: 'NOT_FOUND', retryable: false } });
    expect(page.error?.message).toMatch(/web page.*127\.0\.0\.1.*base URL/);
    const answer = await of({ headers, chunks: [sse(text('a', true))] });
    expect(answer.error).toBeUndefined();
  });

  test('a server that cannot be reached is UNAVAILABLE', async () => {
    const gone = await scriptedServer();
    await gone.close();
    const { error } = await attempt(provider.model({ baseUrl: gone.url }).generateStream(ask()));
    expect(error).toMatchObject({ name: 'ModelError', code: 'UNAVAILABLE', retryable: true });
  });
});

describe.each(providers)('$name and abort', (provider) => {
  const begin = () => {
    server.answer({ chunks: [sse(provider.text('first'))], ending: 'hang' });
    const controller = new AbortController();
    return {
      controller,
      stream: provider.model({ baseUrl: server.url }).generateStream(ask({ signal: controller.signal })),
    };
  };

  test('a signal that has fired makes no call', async () => {
    const before = server.requests.length;
    const { error } = await attempt(
      provider.model({ baseUrl: server.url }).generateStream(ask({ signal: AbortSignal.abort() })),
    );
    expect(error).toMatchObject({ name: 'ModelError', code: 'CANCELLED', retryable: false });
    expect(server.requests).toHaveLength(before);
  });

  test('an abort between increments closes the socket and ends the stream (B065)', async () => {
    const { controller, stream } = begin();
    expect((await stream.next()).value).toMatchObject({ content: [{ type: 'text', text: 'first' }] });
    const next = stream.next();
    controller.abort();
    await expect(next).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await server.lastRequest().closed).toBe('cut');
  });

  test('an abort before the first byte closes the socket', async () => {
    server.answer({ ending: 'hang' });
    const controller = new AbortController();
    const next = provider
      .model({ baseUrl: server.url })
      .generateStream(ask({ signal: controller.signal }))
      .next();
    const arrived = server.requests.length;
    while (server.requests.length === arrived) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error('enough'));
    await expect(next).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await server.lastRequest().closed).toBe('cut');
  });

  test('a consumer that leaves early closes the socket', async () => {
    const { stream } = begin();
    await stream.next();
    await stream.return(undefined);
    expect(await server.lastRequest().closed).toBe('cut');
  });

  test('a stream that ended leaves no listener on the signal', async () => {
    const controller = new AbortController();
    const listeners = new Set<unknown>();
    const { signal } = controller;
    const { addEventListener, removeEventListener } = signal;
    let added = 0;
    signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      added++;
      listeners.add(given[1]);
      addEventListener.apply(signal, given);
    };
    signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
      listeners.delete(given[1]);
      removeEventListener.apply(signal, given);
    };
    server.answer({ chunks: [sse(provider.text('a', true))] });
    await provider.model({ baseUrl: server.url }).generate(ask({ signal }));
    expect(listeners.size).toBe(0);
    expect(added).toBe(1);
  });
});

test('one Gemini event cut inside its signature is one event, the signature equal (B086)', async () => {
  const signature = 'EpwBCpkB0e2Kb/+='.repeat(40);
  const whole = sse({
    candidates: [{ content: { parts: [{ text: 'a', thoughtSignature: signature }] }, finishReason: 'STOP' }],
  });
  const at = whole.indexOf(signature) + 300;
  server.answer({ chunks: [whole.slice(0, at), whole.slice(at)] });
  const { increments } = await attempt(
    geminiModel({ name: 'g', apiKey: 'k', baseUrl: server.url }).generateStream(ask()),
  );
  expect(increments.flatMap(({ content }) => content)).toEqual([
    { type: 'text', text: 'a', _meta: { thoughtSignature: signature } },
  ]);
});
