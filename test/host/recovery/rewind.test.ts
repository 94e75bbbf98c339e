import { expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/contracts/index.js';
import { agent, createHost, memoryStore, sequential, tool } from '../../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../../src/testing/index.js';
import { answersIn } from '../../support/broken-log.js';
import { deferred, leaf, logOf, ofType, readAll, settle, textIn } from '../../support/team.js';
import { until } from '../../support/teams.js';

const sessionId = 'the-session';

test('a session goes on from where it was taken back to', async () => {
  const store = memoryStore();
  const model = scriptedModel([{ text: 'one' }, { text: 'two' }, { text: 'other two' }]);
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  await host.run(leaf('a'), 'first', { sessionId }).result;
  const end = (await logOf(store, sessionId)).at(-1)?.seq as number;
  await host.run(leaf('a'), 'second', { sessionId }).result;
  const last = (await logOf(store, sessionId)).at(-1)?.seq as number;
  expect(await host.rewind(sessionId, { to: end })).toBeUndefined();
  const run = host.run(leaf('a'), 'instead', { sessionId });
  const events = await readAll(run);
  expect(model.requests.at(-1)?.messages.map(({ content }) => content[0])).toMatchObject([
    { text: 'first' },
    { text: 'one' },
    { text: 'instead' },
  ]);
  const log = await logOf(store, sessionId);
  expect(textIn(log)).toBe('oneother two');
  expect(validateLog(log, { finished: true })).toEqual([]);
  // No position is given out twice.
  expect(Math.min(...events.map((event) => event.seq))).toBeGreaterThan(last);
});

test('state and approvals for always that came later are withdrawn, and files written since are told', async () => {
  const store = memoryStore();
  const write = tool({
    name: 'write',
    description: '.',
    parameters: { type: 'object' },
    annotations: { category: 'edit' },
    describe: () => ({ locations: [{ path: 'notes.md' }] }),
    execute: (_, { state }) => {
      state.set('n', 1);
      return 'written';
    },
  });
  const team = agent({ name: 'a', tools: [write], instruction: 'n {state.n}', outputKey: 'last' });
  const stateful = sequential({
    name: 's',
    state: { n: { initial: 0, reducer: 'sum' } },
    children: [team],
  });
  const model = scriptedModel((request) =>
    answersIn(request).length === 0 ? { toolCalls: [{ name: 'write', args: {} }] } : { text: 'done' },
  );
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const asked = async () => {
    const run = host.run(stateful, 'go', { sessionId });
    let questions = 0;
    for await (const event of run) {
      if (event.type !== 'elicitation_request') continue;
      questions++;
      run.respond(event.requestId, { action: 'accept', content: { outcome: 'proceed_always_tool' } });
    }
    return questions;
  };
  expect(await asked()).toBe(1);
  const begin = ofType(await logOf(store, sessionId), 'message')[0]?.seq as number;
  expect(await asked()).toBe(0);
  const told = model.requests
    .filter(({ _meta }) => _meta?.agent === 'a')
    .map(({ systemInstruction }) => systemInstruction);
  expect(told).toEqual(['n 0', 'n 0', 'n 1', 'n 1']);
  await host.rewind(sessionId, { to: begin - 1 });
  expect((await logOf(store, sessionId)).at(-1)).toMatchObject({
    type: 'custom',
    kind: 'notice',
    data: { code: 'REWOUND', files: ['notes.md'], text: expect.stringContaining('notes.md') },
  });
  expect(await asked()).toBe(1);
  expect(model.requests.at(-1)?.systemInstruction).toBe('n 0');
});

test('a tool that runs when its past is cut off brings a stale result, and what was asked is withdrawn', async () => {
  const store = memoryStore();
  const held = deferred<string>();
  const started = deferred();
  const slow = tool({
    name: 'slow',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute() {
      started.resolve();
      return held.promise;
    },
  });
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => 'boom' });
  const team = agent({ name: 'a', tools: [slow, danger] });
  const model = scriptedModel((request) =>
    request.messages.length === 1 && JSON.stringify(request.messages).includes('first')
      ? { toolCalls: ['slow', 'danger'].map((name) => ({ name, args: {} })) }
      : { text: 'done' },
  );
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = host.run(team, 'first', { sessionId });
  const reading = readAll(run);
  await started.promise;
  await until(() => run.state().pending.length === 1);
  const pending = run.state().pending[0]?.requestId as string;
  const message = ofType(await logOf(store, sessionId), 'message')[0] as AgentEvent;
  await host.rewind(sessionId, { to: message.seq - 1 });
  const live = await reading;
  expect(validateLog(live, { finished: true })).toEqual([]);
  expect(live.at(-1)).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  expect(ofType(live, 'elicitation_response')).toMatchObject([{ requestId: pending, action: 'cancel' }]);
  expect(await run.result).toMatchObject({ ok: false, reason: 'aborted' });
  expect(() => run.respond(pending, { action: 'accept' })).toThrow(
    expect.objectContaining({ code: 'UNKNOWN_REQUEST' }),
  );

  held.resolve('too late');
  await settle();
  const log = await logOf(store, sessionId);
  expect(log.map((event) => (event.type === 'custom' ? event.kind : event.type))).toEqual([
    'initialize',
    'notice',
    'stale_result',
  ]);
  expect(log.at(-1)).toMatchObject({ data: { name: 'a.slow', result: { llmContent: [{ text: 'too late' }] } } });
  const again = host.run(team, 'second', { sessionId });
  expect(await again.result).toMatchObject({ ok: true, text: 'done' });
  expect(model.requests.at(-1)?.messages).toHaveLength(1);
  expect(validateLog(await logOf(store, sessionId), { finished: true })).toEqual([]);
});

test('a stale result that comes while the session goes on stands in its log, and in no history', async () => {
  const store = memoryStore();
  const held = deferred<string>();
  const started = deferred();
  const slow = tool({
    name: 'slow',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute() {
      started.resolve();
      return held.promise;
    },
  });
  const again = deferred<{ text: string }>();
  const model = scriptedModel((request) =>
    JSON.stringify(request.messages).includes('second') ? again.promise : { toolCalls: [{ name: 'slow', args: {} }] },
  );
  await using host = createHost({ models: { scripted: model }, store, clock: virtualClock() });
  const run = host.run(agent({ name: 'a', tools: [slow] }), 'first', { sessionId });
  await started.promise;
  await host.rewind(sessionId, { to: 1 });
  await run.result;
  const next = host.run(agent({ name: 'a', tools: [slow] }), 'second', { sessionId });
  await settle();
  held.resolve('too late');
  await settle();
  again.resolve({ text: 'done' });
  expect(await next.result).toMatchObject({ ok: true, text: 'done' });
  const log = await logOf(store, sessionId);
  expect(log.filter((event) => event.type === 'custom' && event.kind === 'stale_result')).toHaveLength(1);
  expect(validateLog(log, { finished: true })).toEqual([]);
});

test('while a model call is in flight nothing is taken back', async () => {
  const store = memoryStore();
  const answer = deferred<{ text: string }>();
  await using host = createHost({ models: { scripted: scriptedModel(() => answer.promise) }, store });
  const run = host.run(leaf('a'), 'go', { sessionId });
  await settle();
  await expect(host.rewind(sessionId, { to: 1 })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  answer.resolve({ text: 'done' });
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
});

test('a position that the log does not have is refused, and nothing changes', async () => {
  const store = memoryStore();
  await using host = createHost({ models: { scripted: scriptedModel([{ text: 'x' }]) }, store });
  await host.run(leaf('a'), 'go', { sessionId }).result;
  const before = await logOf(store, sessionId);
  for (const to of [0, -1, 1.5, Number.NaN, 10_000]) {
    await expect(host.rewind(sessionId, { to })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  }
  await expect(host.rewind('nosuch', { to: 1 })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  expect(await logOf(store, sessionId)).toEqual(before);
});
