import { expect, test } from 'vitest';
import type { AgentEvent, ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, defineHook, type HostOptions, memoryStore, tool } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { type ScriptEntry, scriptedModel } from '../../src/testing/index.js';
import { collect, leaf, ofType } from '../support/team.js';

const LONG = 'word '.repeat(200);
const budget = (strategy?: string) => ({ maxTokens: 1000, ...(strategy !== undefined && { strategy }) });

/** A conversation of `turns` long exchanges with one agent; the model says what it is told to, summaries apart. */
async function converse(options: {
  turns?: number;
  strategy?: string;
  summary?: (request: ModelRequest, call: number) => ScriptEntry;
  host?: HostOptions;
}) {
  const { turns = 4, strategy, summary = () => ({ text: 'SHORT' }) } = options;
  let summaries = 0;
  const model = scriptedModel((request) =>
    request._meta?.purpose === 'summary' ? summary(request, ++summaries) : { text: `said ${LONG}` },
  );
  const host = createHost({ models: { scripted: model }, ...options.host });
  const session = host.session(leaf('a'), { contextBudget: budget(strategy) });
  const events: AgentEvent[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    for await (const event of session.stream({ kind: 'message', content: `ask ${turn}` }).stream) events.push(event);
  }
  const { sessionId } = session;
  await session.close();
  return { host, model, events, sessionId, asked: model.requests.filter((one) => one._meta?.purpose === 'turn') };
}

const boundaries = (events: readonly AgentEvent[]) =>
  ofType(events, 'custom')
    .filter(({ kind }) => kind === 'compact_boundary')
    .map(({ data }) => data as Record<string, unknown>);
const textOf = (request: ModelRequest | undefined) => JSON.stringify(request?.messages);

test('a history that passes 0.7 of its budget goes out as a summary and its newest part; the log keeps all', async () => {
  const { events, asked, host } = await converse({});
  const [first] = boundaries(events);
  expect(first).toMatchObject({ status: 'compacted', strategy: 'summarize', summary: 'SHORT' });
  expect(first?.tokensAfter as number).toBeLessThan(first?.tokensBefore as number);
  const last = asked.at(-1);
  expect(textOf(last)).toContain('SHORT');
  expect(textOf(last)).toContain('ask 4');
  expect(textOf(last)).not.toContain('ask 1');
  expect(asked.flatMap(({ messages }) => findBrokenPairs(messages))).toEqual([]);
  expect(ofType(events, 'message').filter((event) => event.role === 'user')).toHaveLength(4);
  await host.close();
});

test('an earlier summary is part of what is summarised next, not what it stood for', async () => {
  const { model, host } = await converse({ turns: 8, summary: (_, call) => ({ text: `SHORT ${call}` }) });
  const summaries = model.requests.filter((one) => one._meta?.purpose === 'summary');
  expect(summaries.length).toBeGreaterThan(1);
  expect(textOf(summaries[1])).toContain('SHORT 1');
  expect(textOf(summaries[1])).not.toContain('ask 1"');
  await host.close();
});

test('truncate and sliding_window ask no model; the window keeps as much as fits', async () => {
  const kept: Record<string, number> = {};
  for (const strategy of ['truncate', 'sliding_window']) {
    const { events, asked, model, host } = await converse({ strategy, turns: 6 });
    expect(model.requests.filter((one) => one._meta?.purpose === 'summary')).toEqual([]);
    expect(boundaries(events)[0]).toMatchObject({ status: 'compacted', strategy });
    expect(textOf(asked.at(-1))).toContain('left out');
    kept[strategy] = Math.max(...asked.slice(3).map(({ messages }) => messages.length));
    await host.close();
  }
  expect(kept.sliding_window).toBeGreaterThanOrEqual(kept.truncate as number);
});

test('a summary that is no shorter is tried once more, then dropped: the old history stays, and the log says so (B165)', async () => {
  const { events, asked, model, host } = await converse({ summary: () => ({ text: LONG.repeat(20) }) });
  expect(boundaries(events)[0]).toMatchObject({ status: 'dropped', reason: expect.stringContaining('no shorter') });
  expect(textOf(asked.at(-1))).toContain('ask 1');
  const summaries = model.requests.filter((one) => one._meta?.purpose === 'summary');
  // Twice per attempt, and not again at the very next turn.
  expect(summaries.length).toBe(2 * boundaries(events).length);
  expect(boundaries(events).length).toBeLessThan(3);
  await host.close();
});

test('a summary that cannot be had leaves the history whole, and the run goes on', async () => {
  const { events, asked, host } = await converse({
    summary: () => ({ error: { code: 'INVALID_ARGUMENT', message: 'no' } }),
  });
  expect(boundaries(events)[0]).toMatchObject({ status: 'dropped' });
  expect(textOf(asked.at(-1))).toContain('ask 1');
  expect(ofType(events, 'stream_end').map(({ reason }) => reason)).toEqual(Array(4).fill('completed'));
  await host.close();
});

test('a session that is taken up again sends what it sent before: the summary, not what it stands for (B166)', async () => {
  const store = memoryStore();
  const first = await converse({ host: { store } });
  await first.host.close();
  const model = scriptedModel([{ text: 'again' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(leaf('a'), 'ask 5', { sessionId: first.sessionId, contextBudget: { maxTokens: 100_000 } });
  await collect(run);
  expect(textOf(model.requests[0])).toContain('SHORT');
  expect(textOf(model.requests[0])).not.toContain('ask 1');
  expect(model.requests).toHaveLength(1);
});

test('within one run of many calls the request stays, and so does every pair', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    annotations: { readOnly: true },
    execute: () => LONG,
  });
  let calls = 0;
  const model = scriptedModel((request) => {
    if (request._meta?.purpose === 'summary') return { text: 'SHORT' };
    calls++;
    if (calls > 8) return { text: 'done' };
    return { toolCalls: [1, 2].map((n) => ({ name: 'look', args: { n: calls * 10 + n } })) };
  });
  await using host = createHost({ models: { scripted: model } });
  const own = agent({ name: 'a', tools: [look], contextBudget: { maxTokens: 3000 } });
  const run = host.run(own, 'the request');
  const events = await collect(run);
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(boundaries(events).length).toBeGreaterThan(0);
  for (const { messages, _meta } of model.requests) {
    if (_meta?.purpose === 'summary') continue;
    expect(findBrokenPairs(messages)).toEqual([]);
    expect(JSON.stringify(messages)).toContain('the request');
  }
});

test('what is left of a budget that nothing fits into is told, not tried at every turn', async () => {
  const model = scriptedModel(() => ({ text: 'x' }));
  await using host = createHost({ models: { scripted: model } });
  const own = agent({ name: 'a', instruction: LONG });
  const session = host.session(own, { contextBudget: { maxTokens: 50, strategy: 'truncate' } });
  const events: AgentEvent[] = [];
  for (let turn = 1; turn <= 5; turn++)
    for await (const event of session.stream({ kind: 'message', content: 'y' }).stream) events.push(event);
  expect(boundaries(events).length).toBeGreaterThan(0);
  expect(boundaries(events).length).toBeLessThan(5);
  await session.close();
});

test('a budget of the run goes before that of the agent', async () => {
  const model = scriptedModel(() => ({ text: 'x' }));
  await using host = createHost({ models: { scripted: model } });
  const own = agent({ name: 'a', contextBudget: { maxTokens: 10, strategy: 'truncate' } });
  const session = host.session(own, { contextBudget: { maxTokens: 100_000 } });
  const events: AgentEvent[] = [];
  for (let turn = 1; turn <= 3; turn++)
    for await (const event of session.stream({ kind: 'message', content: LONG }).stream) events.push(event);
  expect(boundaries(events)).toEqual([]);
  await session.close();
});

test('hooks may veto', async () => {
  const seen: unknown[] = [];
  const hook = defineHook('pre_compress', ({ trigger }) => {
    seen.push(trigger);
    return { action: 'proceed', modifications: { suppress: true } };
  });
  const { events, host } = await converse({ host: { hooks: [hook] } });
  expect(seen).toContain('auto');
  expect(boundaries(events)[0]).toMatchObject({ status: 'vetoed' });
  await host.close();
});

/** Counts `perMessage` tokens for every message it is asked about. */
function countingModel(perMessage: number | (() => number)) {
  const asked: number[] = [];
  const scripted = scriptedModel((request) =>
    request._meta?.purpose === 'summary' ? { text: 'SHORT' } : { text: `said ${LONG}` },
  );
  const model = Object.assign(scripted, {
    async countTokens({ messages }: Pick<ModelRequest, 'messages'>) {
      asked.push(messages.length);
      return messages.length * (typeof perMessage === 'number' ? perMessage : perMessage());
    },
  });
  return { model, asked };
}

async function boundariesWith(model: ReturnType<typeof scriptedModel>, turns: number) {
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { contextBudget: budget() });
  const events: AgentEvent[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    for await (const event of session.stream({ kind: 'message', content: `ask ${turn}` }).stream) events.push(event);
  }
  return boundaries(events);
}

test('where the provider counts, its count decides when a history is compacted, and stands in the boundary', async () => {
  const much = countingModel(400);
  const [first] = await boundariesWith(much.model, 2);
  expect(first).toBeUndefined();
  const [second] = await boundariesWith(countingModel(400).model, 3);
  expect(second).toMatchObject({ status: 'compacted' });
  expect(second?.tokensBefore as number).toBeGreaterThanOrEqual(5 * 400);
  const little = countingModel(10);
  expect(await boundariesWith(little.model, 6)).toEqual([]);
  expect(little.asked.length).toBeGreaterThan(0);
});

test('a provider is asked to count only near the budget, and again only when the history has grown', async () => {
  const { model, asked } = countingModel(10);
  await boundariesWith(model, 1);
  expect(asked).toEqual([]);
  await boundariesWith(model, 30);
  expect(asked.length).toBeLessThan(15);
});

test('a provider that fails to count, or counts nonsense, leaves the estimate', async () => {
  for (const perMessage of [
    () => Number.NaN,
    () => -1,
    () => {
      throw new Error('503');
    },
  ]) {
    const { model } = countingModel(perMessage);
    expect((await boundariesWith(model, 4))[0]).toMatchObject({ status: 'compacted' });
  }
});

test('an agent of the executor openrouter is summarised like a local one', async () => {
  const model = scriptedModel((request) =>
    request._meta?.purpose === 'summary' ? { text: 'SHORT' } : { text: `said ${LONG}` },
  );
  await using host = createHost({ models: { scripted: model } });
  const one = agent({ name: 'a', description: 'a', model: 'scripted', executor: 'openrouter' });
  const session = host.session(one, { contextBudget: budget() });
  const events: AgentEvent[] = [];
  for (let turn = 1; turn <= 4; turn++) {
    for await (const event of session.stream({ kind: 'message', content: `ask ${turn}` }).stream) events.push(event);
  }
  expect(boundaries(events)[0]).toMatchObject({ status: 'compacted', summary: 'SHORT' });
});
