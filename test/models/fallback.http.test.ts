import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AgentEvent, Host, HostOptions } from '../../src/index.js';
import { agent, createHost, memoryStore, tool } from '../../src/index.js';
import { type VirtualClock, virtualClock } from '../../src/testing/index.js';
import { callPiece, chatFrame, geminiFrame, modelsAt } from '../support/providers.js';
import { type ScriptedAnswer, type ScriptedServer, scriptedServer, sse } from '../support/scripted-server.js';
import { collect, logOf, ofType } from '../support/team.js';

let server: ScriptedServer;
let before = 0;
beforeAll(async () => {
  server = await scriptedServer();
});
beforeEach(() => {
  before = server.requests.length;
});
afterAll(() => server.close());

const stream = (...frames: object[]): ScriptedAnswer => ({ chunks: [sse(...frames)] });
const status = (code: number, error: object = {}, headers: Record<string, string> = {}): ScriptedAnswer => ({
  status: code,
  headers: { 'content-type': 'application/json', ...headers },
  chunks: [JSON.stringify({ error: { code, message: `it was ${code}`, ...error } })],
});
const retryInfo = (retryDelay: string) => ({
  status: 'RESOURCE_EXHAUSTED',
  details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
});
const geminiSays = (text: string) => stream(geminiFrame([{ text }], 'STOP'));
const chatSays = (text: string) => stream(chatFrame({ content: text }, 'stop'));
const paths = () => server.requests.slice(before).map(({ path }) => (path.includes('/chat/') ? 'openai' : 'gemini'));

function hostAt(options: HostOptions = {}): { host: Host; clock: VirtualClock } {
  const clock = virtualClock();
  return { host: createHost({ models: modelsAt(server), clock, ...options }), clock };
}

const worker = agent({ name: 'a', model: 'gemini/test' });

/** Reads a run over real sockets, whose waits pass when the log says that one has begun. */
async function read(run: AsyncIterable<AgentEvent>, onRetry: (event: AgentEvent) => void): Promise<AgentEvent[]> {
  return collect(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'custom' && (event.data as { code?: string }).code === 'MODEL_RETRY') onRetry(event);
        yield event;
      }
    })(),
  );
}

const healthOf = (host: Host, name: string) => host.models.list().find((one) => one.name === name)?.health;

describe.each([
  ['Retry-After in seconds', status(429, {}, { 'retry-after': '7' }), 7_000],
  ['retry-after-ms', status(503, {}, { 'retry-after-ms': '1500' }), 1_500],
  ['RetryInfo', status(429, retryInfo('2.5s')), 2_500],
  ['RetryInfo of a 503', status(503, retryInfo('1s')), 1_000],
] as const)('%s', (_, answer, ms) => {
  test(`is waited for: ${ms} ms, and not a moment less`, async () => {
    server.answer(answer, geminiSays('rested'));
    const { host, clock } = hostAt();
    const waits: string[] = [];
    const events = await read(host.run(worker, 'go'), (event) => {
      waits.push((event as AgentEvent<'custom'> & { data: { text: string } }).data.text);
      void clock.advance(ms - 1).then(() => {
        expect(server.requests).toHaveLength(before + 1);
        return clock.advance(1);
      });
    });
    expect(waits).toEqual([expect.stringContaining(`again in ${ms} ms`)]);
    expect(events.at(-1)).toMatchObject({ reason: 'completed', data: { result: 'rested' } });
    await host.close();
  });
});

test('a wait of over five minutes is terminal: the other provider is asked, now and in the next run', async () => {
  server.answer(status(429, {}, { 'retry-after': '301' }), chatSays('one'), chatSays('two'));
  const { host, clock } = hostAt({ fallbacks: { 'gemini/test': ['openai/test'] } });
  expect((await host.run(worker, 'go').result).text).toBe('one');
  expect(healthOf(host, 'gemini/test')).toEqual({ state: 'terminal', reason: 'RESOURCE_EXHAUSTED', until: 301_000 });
  expect((await host.run(worker, 'go').result).text).toBe('two');
  expect(paths()).toEqual(['gemini', 'openai', 'openai']);
  await clock.advance(301_000);
  expect(healthOf(host, 'gemini/test')).toEqual({ state: 'healthy' });
  await host.close();
});

test('an error inside a stream counts as a failed call: sticky_retry (B083)', async () => {
  for (const code of [400, 502]) {
    server.answer(
      stream(geminiFrame([{ text: 'half' }]), { error: { code, message: 'upstream' }, candidates: [] }),
      geminiSays('fine'),
    );
    const { host } = hostAt();
    expect((await host.run(worker, 'go').result).reason).toBe('failed');
    expect(healthOf(host, 'gemini/test')?.state).toBe('sticky_retry');
    expect((await host.run(worker, 'go').result).text).toBe('fine');
    expect(healthOf(host, 'gemini/test')?.state).toBe('healthy');
    await host.close();
  }
});

test('ids that one provider used again are unique for the one that takes over, and the log stays as it was (B098)', async () => {
  const given: unknown[] = [];
  const spy = tool({
    name: 'f',
    description: 'f',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (args) => {
      given.push(args);
      return `result of ${JSON.stringify(args)}`;
    },
  });
  const call = (n: number) =>
    stream(geminiFrame([{ functionCall: { id: 'same', name: 'f', args: { n } }, thoughtSignature: 'c2ln' }], 'STOP'));
  server.answer(call(1), call(2), status(404), chatSays('done'));
  const store = memoryStore();
  const { host } = hostAt({ fallbacks: ['openai/test'], store });
  const run = host.run(agent({ name: 'a', model: 'gemini/test', tools: [spy] }), 'go');
  const events = await collect(run);
  expect((await run.result).text).toBe('done');
  expect(given).toEqual([{ n: 1 }, { n: 2 }]);
  const sent = server.requests.at(-1)?.body.messages as {
    role: string;
    tool_calls?: { id: string; function: { arguments: string } }[];
    tool_call_id?: string;
    content: unknown;
  }[];
  const calls = sent.flatMap((message) => message.tool_calls ?? []);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
  for (const { id, function: called } of calls) {
    const results = sent.filter((message) => message.tool_call_id === id).map(({ content }) => content);
    expect(results).toEqual([`result of ${called.arguments}`]);
  }
  // What the log holds of the calls is as the first provider said it.
  const log = await logOf(store, run.sessionId);
  const requests = ofType(log, 'tool_request');
  expect(requests).toEqual(ofType(events, 'tool_request'));
  expect(requests.map((request) => request.thoughtSignature)).toEqual(['c2ln', 'c2ln']);
  expect(requests.map((request) => request._meta?.providerId)).toEqual(['same', 'same']);
  await host.close();
});

test('a call that broke off in the middle of its arguments is not made up by the one that takes over', async () => {
  let ran = 0;
  const write = tool({ name: 'w', description: 'w', parameters: { type: 'object' }, execute: () => ++ran });
  const { host, clock } = hostAt({ fallbacks: ['gemini/test'] });
  server.answer(
    { ...stream(callPiece(0, 'c', 'w', '{"path":"a')), ending: 'cut' },
    { ...stream(callPiece(0, 'c', 'w', '{"path":"a')), ending: 'cut' },
    geminiSays('took over'),
  );
  const run = host.run(agent({ name: 'a', model: 'openai/test', tools: [write] }), 'go', {
    permissionMode: 'autonomous',
  });
  await read(run, () => void clock.advance(10_000));
  expect((await run.result).text).toBe('took over');
  expect(ran).toBe(0);
  expect(paths()).toEqual(['openai', 'openai', 'gemini']);
  await host.close();
});

test('a price makes a cost of what the provider says, taken once from its last value (B105)', async () => {
  server.answer(
    stream(
      ...[5, 9, 12].map((candidatesTokenCount, at) =>
        geminiFrame([{ text: 'x' }], at === 2 ? 'STOP' : undefined, {
          usageMetadata: {
            promptTokenCount: 10,
            candidatesTokenCount,
            cachedContentTokenCount: 4,
            thoughtsTokenCount: 3,
          },
        }),
      ),
    ),
  );
  const { host } = hostAt({ prices: { 'gemini/test': { input: 1, output: 10, cached: 0.5 } } });
  const { usage, cost } = await host.run(worker, 'go').result;
  expect(usage).toEqual({ inputTokens: 10, outputTokens: 12, cachedTokens: 4, thoughtTokens: 3 });
  expect(cost?.usd).toBeCloseTo((6 * 1 + 4 * 0.5 + 15 * 10) / 1e6, 12);
  await host.close();
});

test('reasoning that is part of the output is paid once, and what no usage was given for has no cost (B106)', async () => {
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 20,
    completion_tokens_details: { reasoning_tokens: 15 },
  };
  server.answer(stream(chatFrame({ content: 'x' }, 'stop'), { choices: [], usage }), chatSays('y'));
  const { host } = hostAt({ prices: { 'openai/test': { input: 1, output: 10 } } });
  const asker = agent({ name: 'a', model: 'openai/test' });
  expect((await host.run(asker, 'go').result).cost?.usd).toBeCloseTo((10 + 200) / 1e6, 12);
  expect(await host.run(asker, 'go').result).not.toHaveProperty('cost');
  await host.close();
});

test('what a budget leaves goes out as the provider’s own limit', async () => {
  server.answer(chatSays('short'), geminiSays('short'));
  const { host } = hostAt({ prices: { 'openai/*': { input: 0, output: 1e6 }, 'gemini/*': { input: 0, output: 1e6 } } });
  await host.run(agent({ name: 'a', model: 'openai/test' }), 'go', { maxBudgetUsd: 33 }).result;
  expect(server.lastRequest().body.max_tokens).toBe(33);
  await host.run(worker, 'go', { maxBudgetUsd: 44 }).result;
  expect(server.lastRequest().body.generationConfig).toMatchObject({ maxOutputTokens: 44 });
  await host.close();
});
