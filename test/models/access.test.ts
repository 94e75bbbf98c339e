import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ModelInterface } from '../../src/contracts/index.js';
import { geminiModel } from '../../src/models/gemini.js';
import { openaiModel } from '../../src/models/openai.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import { isLoopback, loadSdk } from '../../src/models/wire/sdk.js';
import { type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { ask } from './ask.js';

let server: ScriptedServer;
beforeAll(async () => {
  server = await scriptedServer();
});
afterAll(() => server.close());
afterEach(() => vi.unstubAllEnvs());

const geminiAnswer = {
  chunks: [sse({ candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] })],
};
const chatAnswer = { chunks: [sse({ choices: [{ delta: { content: 'ok' }, finish_reason: 'stop' }] })] };

function clearEnvironment() {
  for (const name of [
    'GEMINI_API_KEY',
    'GOOGLE_API_KEY',
    'GOOGLE_GEMINI_BASE_URL',
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENROUTER_API_KEY',
    'OPENROUTER_BASE_URL',
  ]) {
    vi.stubEnv(name, '');
  }
}

describe('keys and addresses', () => {
  test.each<[string, ModelInterface, string]>([
    [
      'gemini',
      geminiModel({ name: 'm', baseUrl: 'http://127.0.0.1:9' }),
      'the model gemini/m needs a key: set GEMINI_API_KEY, or pass apiKey',
    ],
    ['openai', openaiModel({ name: 'm' }), 'the model openai/m needs a key: set OPENAI_API_KEY, or pass apiKey'],
    [
      'openrouter',
      openrouterModel({ name: 'v/m' }),
      'the model openrouter/v/m needs a key: set OPENROUTER_API_KEY, or pass apiKey',
    ],
  ])('%s without a key says in one sentence which variable to set', async (_, model, message) => {
    clearEnvironment();
    await expect(model.generate(ask())).rejects.toMatchObject({ name: 'TroupeError', code: 'MISSING_KEY', message });
  });

  test('an OpenAI-compatible server on this machine needs no key, and is sent none', async () => {
    clearEnvironment();
    server.answer(chatAnswer, chatAnswer);
    await openaiModel({ name: 'm', baseUrl: server.url }).generate(ask());
    expect(server.lastRequest().headers).not.toHaveProperty('authorization');
    await openrouterModel({ name: 'm', baseUrl: server.url }).generate(ask());
    expect(server.lastRequest().headers).not.toHaveProperty('authorization');
  });

  test('keys and base URLs come from the environment when the model is called', async () => {
    clearEnvironment();
    const models = [
      geminiModel({ name: 'm' }),
      geminiModel({ name: 'm' }),
      openaiModel({ name: 'm' }),
      openrouterModel({ name: 'm' }),
    ] as const;
    server.answer(geminiAnswer, geminiAnswer, chatAnswer, chatAnswer);
    vi.stubEnv('GOOGLE_GEMINI_BASE_URL', server.url);
    vi.stubEnv('GOOGLE_API_KEY', 'google');
    await models[0].generate(ask());
    expect(server.lastRequest().headers['x-goog-api-key']).toBe('google');
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    vi.stubEnv('GEMINI_API_KEY', 'gemini');
    await models[1].generate(ask());
    vi.restoreAllMocks();
    expect(server.lastRequest().headers['x-goog-api-key']).toBe('gemini');
    vi.stubEnv('OPENAI_BASE_URL', `${server.url}/v1`);
    vi.stubEnv('OPENAI_API_KEY', 'openai');
    await models[2].generate(ask());
    expect(server.lastRequest()).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer openai' },
    });
    vi.stubEnv('OPENROUTER_BASE_URL', `${server.url}/api/v1`);
    vi.stubEnv('OPENROUTER_API_KEY', 'router');
    vi.stubEnv('OPENAI_ORG_ID', 'org');
    await models[3].generate(ask());
    expect(server.lastRequest()).toMatchObject({
      path: '/api/v1/chat/completions',
      headers: { authorization: 'Bearer router' },
    });
    expect(server.lastRequest().headers).not.toHaveProperty('openai-organization');
  });

  test('a path in the base URL of Gemini is kept', async () => {
    server.answer(geminiAnswer);
    await geminiModel({ name: 'm', apiKey: 'k', baseUrl: `${server.url}/proxy` }).generate(ask());
    expect(server.lastRequest().path).toBe('/proxy/v1beta/models/m:streamGenerateContent?alt=sse');
  });

  test.each([
    ['http://localhost:1', true],
    ['http://127.1.2.3:1/v1', true],
    ['http://[::1]:1', true],
    ['http://127.0.0.1.example.com', false],
    ['https://api.openai.com/v1', false],
    ['nonsense', false],
  ])('%s is on this machine: %s', (url, expected) => {
    expect(isLoopback(url)).toBe(expected);
  });
});

describe('headers of one’s own', () => {
  test.each<
    [string, (options: { baseUrl: string; headers: () => Promise<Record<string, string>> }) => ModelInterface, object]
  >([
    ['gemini', (options) => geminiModel({ name: 'm', ...options }), geminiAnswer],
    ['openai', (options) => openaiModel({ name: 'm', ...options }), chatAnswer],
    ['openrouter', (options) => openrouterModel({ name: 'm', ...options }), chatAnswer],
  ])('%s asks for them before every request and needs no key beside them', async (_, make, answer) => {
    vi.stubEnv('GEMINI_API_KEY', 'must not be sent');
    vi.stubEnv('OPENAI_API_KEY', 'must not be sent');
    let token = 0;
    const model = make({
      baseUrl: server.url,
      headers: async () => ({ Authorization: `Bearer ${++token}`, 'x-own': 'yes' }),
    });
    server.answer(answer, answer);
    await model.generate(ask());
    await model.generate(ask());
    const [first, second] = server.requests.slice(-2);
    expect(first?.headers).toMatchObject({ authorization: 'Bearer 1', 'x-own': 'yes' });
    expect(second?.headers).toMatchObject({ authorization: 'Bearer 2', 'x-own': 'yes' });
    expect(JSON.stringify([first?.headers, second?.headers])).not.toMatch(/must not be sent|from-headers|none/);
  });

  test('that cannot be had are a failure of the call', async () => {
    const headers = () => Promise.reject(new Error('token expired'));
    for (const model of [
      geminiModel({ name: 'm', baseUrl: server.url, headers }),
      openaiModel({ name: 'm', baseUrl: server.url, headers }),
    ]) {
      await expect(model.generate(ask())).rejects.toMatchObject({
        name: 'ModelError',
        code: 'UNAUTHENTICATED',
        retryable: false,
        message: 'headers() of the model failed: token expired',
      });
    }
  });
});

describe('another transport', () => {
  test('takes the place of the network', async () => {
    const urls: string[] = [];
    const fetch = async (input: string | URL | Request) => {
      urls.push(String(input));
      return new Response(
        sse({
          candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
          choices: [{ delta: { content: 'ok' }, finish_reason: 'stop' }],
        }),
      );
    };
    await geminiModel({ name: 'm', apiKey: 'k', baseUrl: 'https://gemini.invalid', fetch }).generate(ask());
    await openaiModel({ name: 'm', apiKey: 'k', baseUrl: 'https://openai.invalid/v1', fetch }).generate(ask());
    expect(urls).toEqual([
      'https://gemini.invalid/v1beta/models/m:streamGenerateContent?alt=sse',
      'https://openai.invalid/v1/chat/completions',
    ]);
  });
});

describe('a client that is not installed', () => {
  const missing = (code: string, message: string) => () => Promise.reject(Object.assign(new Error(message), { code }));

  test('is named, with the command that installs it', async () => {
    const load = missing('ERR_MODULE_NOT_FOUND', "Cannot find package '@google/genai' imported from there");
    await expect(loadSdk('@google/genai', '2.32.0', load)).rejects.toMatchObject({
      name: 'TroupeError',
      code: 'MISSING_PACKAGE',
      message: 'this model needs the package @google/genai, which is not installed: npm i @google/genai@2.32.0',
    });
  });

  test('is not confused with one that is broken', async () => {
    await expect(
      loadSdk('openai', '6.49.0', missing('ERR_MODULE_NOT_FOUND', "Cannot find package 'other'")),
    ).rejects.toThrow('other');
    await expect(loadSdk('openai', '6.49.0', missing('ERR_SYNTAX', 'openai is broken'))).rejects.toThrow(
      'openai is broken',
    );
  });
});
