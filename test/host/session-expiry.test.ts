import { expect, test } from 'vitest';
import type { ModelInterface } from '../../src/contracts/index.js';
import { agent, createHost, tool } from '../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import {
  collect,
  consumerTool,
  loggedTypes,
  ofType,
  readAll,
  refusalOf,
  textIn,
  textResult,
  typesOf,
} from '../support/team.js';
import { until } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });
const answer = (requestId: string, action = 'accept') => ({
  kind: 'elicitation_response' as const,
  requestId,
  response: { action },
});

/** Asks, and waits so many milliseconds for the answer. */
const asking = (clock: { now(): number }, name: string, waitMs: number) =>
  tool({
    name,
    description: 'Asks.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: async (_, { elicit }) =>
      (await elicit({ message: name, expiresAt: new Date(clock.now() + waitMs) })).action,
  });

const calls = (...names: string[]) => ({
  toolCalls: names.map((name, at) => ({ id: `${name}${at}`, name, args: {} })),
});

test('B078: a question expires once, at its time, and is cancelled', async () => {
  const clock = virtualClock();
  const model = scriptedModel([calls('ask'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, clock });
  const run = host.run(agent({ name: 'a', tools: [asking(clock, 'ask', 60_000)] }), 'go');
  const reading = collect(run);
  await until(() => run.state().pending.length === 1);
  await clock.advance(59_999);
  expect(run.state().root.type).toBe('awaiting_elicitation');
  await clock.advance(1);
  const events = await reading;
  const [request] = ofType(events, 'elicitation_request');
  expect(request!.expiresAt).toBe(new Date(60_000).toISOString());
  expect(ofType(events, 'elicitation_response')).toMatchObject([
    {
      action: 'cancel',
      source: 'host',
      timestamp: new Date(60_000).toISOString(),
      _meta: { reason: 'it has expired' },
    },
  ]);
  expect(clock.pending).toBe(0);
});

test('a time that has passed already is over at once (B078)', async () => {
  const clock = virtualClock(1_000_000);
  const model = scriptedModel([calls('ask'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, clock });
  const run = host.run(agent({ name: 'a', tools: [asking(clock, 'ask', -1)] }), 'go');
  // Nobody moves the clock.
  expect(ofType(await collect(run), 'elicitation_response')).toMatchObject([{ action: 'cancel' }]);
});

test('after an expiry in a pause the run goes on by itself, and what happened opens the next stream', async () => {
  const clock = virtualClock();
  const model = scriptedModel([calls('ask'), { text: 'went on' }, { text: 'again' }]);
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(agent({ name: 'a', tools: [asking(clock, 'ask', 60_000)] }));
  const paused = await readAll(session.stream(message()).stream);
  expect(session.state().type).toBe('awaiting_elicitation');
  const observed = readAll(host.attach(session.sessionId, { after: paused.at(-1)!.seq }));
  await clock.advance(60_000);
  expect(session.state().type).toBe('idle');
  // An observer sees it at once.
  expect(loggedTypes(await observed)).toEqual(['elicitation_response', 'tool_response', 'message', 'stream_end']);
  const next = await readAll(session.stream(message('more')).stream);
  expect(loggedTypes(next)).toEqual([
    'elicitation_response',
    'tool_response',
    'message',
    'stream_end',
    'message',
    'message',
    'stream_end',
  ]);
  expect(validateLog([...paused, ...next], { finished: true })).toEqual([]);
});

test('one question expires while others wait: it opens the stream that answers them, and an answer too late changes nothing', async () => {
  const clock = virtualClock();
  const model = scriptedModel([calls('soon', 'later', 'mine'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, clock });
  const tools = [asking(clock, 'soon', 1_000), asking(clock, 'later', 60_000)];
  const session = host.session(agent({ name: 'a', tools }), {
    tools: [consumerTool('mine')],
    permissionMode: 'autonomous',
  });
  const paused = await readAll(session.stream(message()).stream);
  const [soon, later] = ofType(paused, 'elicitation_request');
  await clock.advance(1_000);
  expect(session.state()).toMatchObject({
    type: 'awaiting_elicitation',
    pending: [{ requestId: later!.requestId }, {}],
  });
  expect(await refusalOf(session.stream(answer(soon!.requestId)).stream)).toBe('UNKNOWN_REQUEST');
  const second = await readAll(session.stream(answer(later!.requestId)).stream);
  expect(loggedTypes(second)).toEqual([
    'elicitation_response',
    'tool_response',
    'elicitation_response',
    'tool_response',
  ]);
  expect(ofType(second, 'elicitation_response').map((event) => [event.requestId, event.action])).toEqual([
    [soon!.requestId, 'cancel'],
    [later!.requestId, 'accept'],
  ]);
  const last = await readAll(
    session.stream({ kind: 'tool_result', requestId: 'mine2', result: textResult('M') }).stream,
  );
  expect(validateLog([...paused, ...second, ...last], { finished: true })).toEqual([]);
});

test('whatever happens after an expiry is kept for the next stream, also when it is more than fits in memory', async () => {
  const clock = virtualClock();
  const pieces = 3_000;
  let turns = 0;
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      if (++turns === 1) {
        yield { content: [], toolCalls: [{ id: 'q', name: 'ask', args: {} }], finishReason: 'tool_calls' };
        return;
      }
      for (let at = 0; at < (turns === 2 ? pieces : 1); at++) yield { content: [{ type: 'text', text: 'x' }] };
      yield { content: [], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(agent({ name: 'a', tools: [asking(clock, 'ask', 1_000)] }));
  const paused = await readAll(session.stream(message()).stream);
  await clock.advance(1_000);
  const next = await readAll(session.stream(message('more')).stream);
  expect(textIn(next)).toHaveLength(pieces + 1);
  expect(ofType(next, 'stream_end')).toHaveLength(2);
  expect(validateLog([...paused, ...next], { finished: true })).toEqual([]);
});

test('a question that comes up while nobody is there is denied, and the run goes on', async () => {
  const clock = virtualClock();
  const model = scriptedModel([calls('ask'), calls('ask'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(agent({ name: 'a', tools: [asking(clock, 'ask', 1_000)] }));
  const paused = await readAll(session.stream(message()).stream);
  await clock.advance(1_000);
  expect(session.state().type).toBe('idle');
  const next = await readAll(session.stream(message('more')).stream);
  expect(ofType(next, 'elicitation_request')).toEqual([]);
  expect(typesOf(next)).toContain('custom');
  expect(validateLog([...paused, ...next])).toEqual([]);
});

test('an expiry in the middle of an open stream shows on it', async () => {
  const clock = virtualClock();
  const model = scriptedModel([{ ...calls('ask') }, { text: 'done' }], { clock });
  await using host = createHost({ models: { scripted: model }, clock });
  const run = host.run(agent({ name: 'a', tools: [asking(clock, 'ask', 10)] }), 'go');
  const reading = collect(run);
  await until(() => run.state().pending.length === 1);
  await clock.advance(10);
  expect(loggedTypes(await reading).slice(-4)).toEqual([
    'elicitation_response',
    'tool_response',
    'message',
    'stream_end',
  ]);
});
