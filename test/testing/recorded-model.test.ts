import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentEvent, ModelInterface } from '../../src/contracts/index.js';
import { agent, createHost, loop, parallel, sequential, tool } from '../../src/index.js';
import { recordModel, replayModel, scriptedModel } from '../../src/testing/index.js';
import { collect, leaf } from '../support/team.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-recorded-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'a hill',
});
const looking = { toolCalls: [{ id: 'x1', name: 'look', args: {} }] };
const team = () =>
  sequential({
    name: 's',
    children: [
      parallel({ name: 'p', children: [agent({ name: 'a', tools: [look] }), leaf('b')] }),
      loop({ name: 'l', children: [leaf('c')], maxIterations: 2 }),
    ],
  });
const script = {
  a: [looking, { text: ['A', 'A'], usage: { inputTokens: 3, outputTokens: 2 } }],
  b: [{ error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 0 } }, { thought: 'hm', text: 'B' }],
  c: [{ text: 'C1' }, { text: 'C2' }],
};

/** All that a run said, without what differs from run to run. */
const told = (events: AgentEvent[]) =>
  events
    .filter(({ type }) => ['message', 'tool_request', 'tool_response', 'usage', 'stream_end'].includes(type))
    .map((event) => JSON.stringify([event.threadId, event.type, 'content' in event ? event.content : undefined]))
    .sort();

async function runWith(model: ModelInterface, definition: ReturnType<typeof team> | ReturnType<typeof leaf> = team()) {
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(definition as never, 'go' as never);
  const events = await collect(run as AsyncIterable<AgentEvent>);
  return { events, result: await run.result };
}

test('a whole run that was recorded is replayed without its model: same events, retries included', async () => {
  const file = join(folder, 'run.jsonl');
  const first = await runWith(recordModel(scriptedModel({ byAgent: script } as never), { file }));
  const replayed = replayModel({ file });
  const second = await runWith(replayed);
  expect(told(second.events)).toEqual(told(first.events));
  expect(second.result).toMatchObject({ ok: true, text: 'C2', usage: first.result.usage });
  replayed.assertConsumed();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('keys and tokens are not written, and what was replaced is still recognised', async () => {
  const file = join(folder, 'secret.jsonl');
  process.env.SOME_SERVICE_TOKEN = 'word-"of"-the-day';
  try {
    const secrets = ['sk-abcdefghijklmnopqrstuvwx', 'AIzaSyA-abcdefghijklmnopqrstuvwxyz01234', 'word-"of"-the-day'];
    const own = agent({ name: 'a', instruction: `Use ${secrets.join(' ')} and Bearer abcdefghijklmnopqrst.` });
    await runWith(recordModel(scriptedModel([{ text: secrets.join(',') }]), { file }), own as never);
    const written = readFileSync(file, 'utf8');
    for (const secret of [...secrets, 'abcdefghijklmnopqrst.'])
      expect(written).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect((await runWith(replayModel({ file }), own as never)).result.text).toBe('[secret],[secret],[secret]');
  } finally {
    delete process.env.SOME_SERVICE_TOKEN;
  }
});

test('a request that was not recorded fails, naming who asks and what; what was not replayed is told', async () => {
  const file = join(folder, 'other.jsonl');
  await runWith(recordModel(scriptedModel({ byAgent: script } as never), { file }));
  const replayed = replayModel({ file });
  expect(() => replayed.assertConsumed()).toThrow('no call was made');
  const { result } = await runWith(replayed, agent({ name: 'b', instruction: 'Be brief.' }) as never);
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'UNRECORDED_CALL' } });
  expect(result.data.message).toContain('what b asks');
  expect(() => replayed.assertConsumed()).toThrow(/not replayed: b: .*; a: .*; c: /);
});

test('what is no recording is refused, saying what it is not', async () => {
  const cases: [string, string][] = [
    ['', 'its first line'],
    ['{"format":"troupe-model-recording","version":9}\n', 'its version is 9'],
    ['{"format":"troupe-model-recording","version":1}\n{"agent":"a"}\n', 'line 2 is no call'],
    ['not json\n', 'its first line'],
  ];
  for (const [text, words] of cases) {
    const file = join(folder, 'bad.jsonl');
    writeFileSync(file, text);
    const { result } = await runWith(replayModel({ file }), leaf('a') as never);
    expect(result.data).toMatchObject({ code: 'INVALID_RECORDING', message: expect.stringContaining(words) });
  }
  const { result } = await runWith(replayModel({ file: join(folder, 'none.jsonl') }), leaf('a') as never);
  expect(result.data).toMatchObject({ code: 'INVALID_RECORDING' });
});

test('a recording that cannot be written fails the call, saying why', async () => {
  const model = recordModel(scriptedModel([{ text: 'A' }]), { file: join(folder, 'no', 'such', 'folder.jsonl') });
  const { result } = await runWith(model, leaf('a') as never);
  expect(result.data).toMatchObject({ code: 'RECORDING_FAILED' });
});

test('a run that was stopped in the middle of an answer is replayed as it was, up to the same stop and beyond', async () => {
  const file = join(folder, 'stopped.jsonl');
  const play = async (model: ModelInterface, stops = true) => {
    await using host = createHost({ models: { scripted: model } });
    const session = host.session(agent({ name: 'a' }));
    const { stream, controller } = session.stream({ kind: 'message', content: 'go' });
    const events: AgentEvent[] = [];
    for await (const event of stream) {
      events.push(event);
      if (stops && event.type === 'message' && event.role === 'agent') controller.abort('enough');
    }
    for await (const event of session.stream({ kind: 'message', content: 'more' }).stream) events.push(event);
    return events;
  };
  const endless: ModelInterface = {
    ...scriptedModel([]),
    async *generateStream({ messages, signal }) {
      yield { content: [{ type: 'text', text: `${messages.length} said` }] };
      if (messages.length > 1) return yield { content: [], finishReason: 'stop' };
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('cut'))));
    },
  };
  const first = await play(recordModel(endless, { file }));
  const ends = (events: AgentEvent[]) => events.flatMap((event) => (event.type === 'stream_end' ? [event.reason] : []));
  expect(ends(first)).toEqual(['aborted', 'completed']);
  const replayed = replayModel({ file });
  expect(told(await play(replayed))).toEqual(told(first));
  replayed.assertConsumed();
});

test('a model that says what its calls cost does so when it is recorded, and when it is replayed', async () => {
  const file = join(folder, 'priced.jsonl');
  const usage = { inputTokens: 1, outputTokens: 1, cost: { usd: 0.25 } };
  const priced: ModelInterface = { ...scriptedModel([{ text: 'x', usage }]), reportsCost: 'always' };
  for (const model of [recordModel(priced, { file }), replayModel({ file })]) {
    await using host = createHost({ models: { scripted: model } });
    expect(await host.run(leaf('a'), 'go', { maxBudgetUsd: 1 }).result).toMatchObject({
      ok: true,
      cost: { usd: 0.25 },
    });
  }
  expect(replayModel({ file: join(folder, 'nothing.jsonl') }).reportsCost).toBeUndefined();
});
