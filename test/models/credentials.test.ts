import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ModelInterface } from '../../src/contracts/index.js';
import { agent, createHost } from '../../src/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { googleAuthHeaders } from '../../src/models/google-auth.js';
import { openaiModel } from '../../src/models/openai.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import type { HeadersProvider } from '../../src/models/wire/clean-fetch.js';
import { chatFrame, geminiFrame } from '../support/providers.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { collect } from '../support/team.js';

let server: ScriptedServer;
beforeAll(async () => {
  server = await scriptedServer();
});
afterAll(() => server.close());
afterEach(() => {
  vi.unstubAllEnvs();
});

const json = { 'content-type': 'application/json' };
const refused = { status: 401, headers: json, chunks: ['{"error":{"code":401,"message":"expired"}}'] };
const chatAnswer = { chunks: [sse(chatFrame({ content: 'ok' }, 'stop'), '[DONE]')] };
const geminiAnswer = { chunks: [sse(geminiFrame([{ text: 'ok' }], 'STOP'))] };

type Make = (options: { baseUrl: string; headers: HeadersProvider }) => ModelInterface;
const providers: [string, Make, typeof chatAnswer][] = [
  ['gemini', (options) => geminiModel({ name: 'm', ...options }), geminiAnswer],
  ['openai', (options) => openaiModel({ name: 'm', ...options }), chatAnswer],
  ['openrouter', (options) => openrouterModel({ name: 'm', ...options }), chatAnswer],
];

/** Gives `token 1`, until it is told that it was refused. */
function tokens() {
  const asked: (boolean | undefined)[] = [];
  let token = 1;
  const headers: HeadersProvider = async (state) => {
    asked.push(state?.refused);
    if (state?.refused) token++;
    return { authorization: `Bearer ${token}` };
  };
  return { headers, asked };
}

const sentTokens = (from: number) => server.requests.slice(from).map((request) => request.headers.authorization);

describe.each(providers)('%s', (_, make, answer) => {
  test('a provider that repeats a credential in an error is not quoted with it, be it of a response or of a stream', async () => {
    const secrets = ['own-form-of-a-key-1', 'sid=of-a-session-22', 'goog-key-333333'];
    const headers = async () => ({
      authorization: `Bearer ${secrets[0]}`,
      cookie: String(secrets[1]),
      'x-goog-api-key': String(secrets[2]),
    });
    const error = { code: 400, status: 'INVALID_ARGUMENT', message: `bad credentials: ${secrets.join(', ')}` };
    for (const reply of [
      { status: 400, headers: json, chunks: [JSON.stringify({ error })] },
      { chunks: [sse({ error })] },
    ]) {
      server.answer(reply);
      await using host = createHost({ models: { own: make({ baseUrl: `${server.url}/v1`, headers }) } });
      const run = host.run(agent({ name: 'a', model: 'own' }), 'go');
      const events = await collect(run);
      expect((await run.result).data.message).toBe('bad credentials: [secret], [secret], [secret]');
      for (const secret of secrets) expect(JSON.stringify(events)).not.toContain(secret);
    }
  });

  test('a 401 asks for new headers once, and the session goes on as if nothing had been', async () => {
    const { headers, asked } = tokens();
    const before = server.requests.length;
    server.answer(answer, refused, answer, answer);
    await using host = createHost({ models: { m: make({ baseUrl: server.url, headers }) } });
    const session = host.session(agent({ name: 'a' }));
    const reasons: string[] = [];
    for (const content of ['one', 'two', 'three']) {
      for await (const event of session.stream({ kind: 'message', content }).stream) {
        if (event.type === 'stream_end') reasons.push(event.reason);
        expect(event.type).not.toBe('error');
        expect(event.type).not.toBe('custom');
      }
    }
    expect(reasons).toEqual(['completed', 'completed', 'completed']);
    expect(asked).toEqual([false, false, true, false]);
    expect(sentTokens(before)).toEqual(['Bearer 1', 'Bearer 1', 'Bearer 2', 'Bearer 2']);
    // The same request, sent again.
    expect(server.requests[before + 1]?.body).toEqual(server.requests[before + 2]?.body);
  });

  test('a second 401 is the failure of the call', async () => {
    const { headers } = tokens();
    const before = server.requests.length;
    server.answer(refused, refused);
    await using host = createHost({ models: { m: make({ baseUrl: server.url, headers }) } });
    const run = host.run(agent({ name: 'a' }), 'go');
    await collect(run);
    expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'UNAUTHENTICATED', message: 'expired' } });
    expect(sentTokens(before)).toEqual(['Bearer 1', 'Bearer 2']);
  });
});

test('without headers of one’s own a 401 is final', async () => {
  const before = server.requests.length;
  server.answer(refused);
  await using host = createHost({ models: { m: openaiModel({ name: 'm', apiKey: 'k', baseUrl: server.url }) } });
  await collect(host.run(agent({ name: 'a' }), 'go'));
  expect(server.requests.length - before).toBe(1);
});

describe('a Google identity', () => {
  const credentials = { type: 'authorized_user', client_id: 'id', client_secret: 'secret', refresh_token: 'refresh' };
  const token = (access_token: string) => ({
    headers: json,
    chunks: [JSON.stringify({ access_token, expires_in: 3600, token_type: 'Bearer' })],
  });

  test('gives its token with every request, keeps it while it holds, and renews it when it was refused', async () => {
    const before = server.requests.length;
    server.answer(token('first'), geminiAnswer, geminiAnswer, refused, token('second'), geminiAnswer);
    const headers = googleAuthHeaders({
      credentials,
      clientOptions: { endpoints: { oauth2TokenUrl: `${server.url}/token` } },
    });
    const model = geminiModel({ name: 'm', baseUrl: server.url, headers });
    const request = { messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] }] };
    for (let at = 0; at < 3; at++) expect((await model.generate(request)).finishReason).toBe('stop');
    const sent = server.requests
      .slice(before)
      .map(({ path, headers: { authorization } }) => (path === '/token' ? 'token' : authorization));
    expect(sent).toEqual(['token', 'Bearer first', 'Bearer first', 'Bearer first', 'token', 'Bearer second']);
  });
});
