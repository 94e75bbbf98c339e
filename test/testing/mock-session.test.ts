import { expect, test } from 'vitest';
import type { AgentEvent, AgentResponse } from '../../src/contracts/index.js';
import { type MockEvent, mockSession } from '../../src/testing/index.js';

const text = (said: string) => [{ type: 'text' as const, text: said }];
const says = (said: string): MockEvent => ({ type: 'message', messageId: 'm', role: 'agent', content: text(said) });
const asks = (requestId: string): MockEvent => ({
  type: 'tool_request',
  requestId,
  name: 'look',
  args: {},
  messageId: 'm',
  index: 0,
});
const question: MockEvent = { type: 'elicitation_request', requestId: 'q', kind: 'clarification', message: 'which?' };
const end: MockEvent = { type: 'stream_end', reason: 'completed' };
const hello = { kind: 'message', content: 'hi' } as const;
const result = (requestId: string, said = 'seen') =>
  ({ kind: 'tool_result', requestId, result: { llmContent: text(said) } }) as const;

const read = async ({ stream }: AgentResponse): Promise<AgentEvent[]> => {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
};
const typesOf = async (response: AgentResponse) => (await read(response)).map(({ type }) => type);

test('it replays events in order, with what a host would stamp filled in, and keeps what it was given', async () => {
  const session = mockSession([says('one'), { type: 'odd' } as never, end]);
  const events = await read(session.stream(hello, { permissionMode: 'plan' }));
  expect(events.map(({ type }) => type)).toEqual(['message', 'odd', 'stream_end']);
  expect(events.map(({ id, seq }) => [id, seq])).toEqual([
    ['mock-1', 1],
    ['mock-2', 2],
    ['mock-3', 3],
  ]);
  expect(session.received).toEqual([hello]);
  expect(session.options).toEqual([{ permissionMode: 'plan' }]);
  session.assertConsumed();
});

test('a recorded event keeps its own id, time and place', async () => {
  const recorded = { ...says('one'), id: 'e7', timestamp: '2026-01-01T00:00:00.000Z', seq: 7 } as AgentEvent;
  expect(await read(mockSession([recorded, end]).stream(hello))).toMatchObject([recorded, { type: 'stream_end' }]);
});

test('it pauses behind its requests until each has its answer, and yields the answers as events', async () => {
  const session = mockSession([
    says('let me look'),
    asks('c1'),
    { type: 'usage', inputTokens: 1 },
    asks('c2'),
    question,
    says('done'),
    end,
  ]);
  expect(await typesOf(session.stream(hello))).toEqual([
    'message',
    'tool_request',
    'usage',
    'tool_request',
    'elicitation_request',
  ]);
  expect(await read(session.stream(result('c2')))).toMatchObject([
    { type: 'tool_response', requestId: 'c2', name: 'look' },
  ]);
  expect(await typesOf(session.stream(result('c1')))).toEqual(['tool_response']);
  const answer = { kind: 'elicitation_response', requestId: 'q', response: { action: 'accept' } } as const;
  expect(await read(session.stream(answer))).toMatchObject([
    { type: 'elicitation_response', requestId: 'q', action: 'accept' },
    { type: 'message' },
    { type: 'stream_end' },
  ]);
});

test('of a recording with answers the given ones stand in for the recorded', async () => {
  const recorded: MockEvent = { type: 'tool_response', requestId: 'c1', name: 'look', llmContent: text('then') };
  const session = mockSession([asks('c1'), recorded, says('done'), end]);
  expect(await typesOf(session.stream(hello))).toEqual(['tool_request']);
  const events = await read(session.stream(result('c1', 'now')));
  expect(events).toMatchObject([{ type: 'tool_response', llmContent: text('now') }, { type: 'message' }, end]);
});

test('several results at once', async () => {
  const session = mockSession([asks('c1'), asks('c2'), end]);
  await read(session.stream(hello));
  const results = ['c1', 'c2'].map((requestId) => ({ requestId, result: { llmContent: text('x') } }));
  expect(await typesOf(session.stream({ kind: 'tool_results', results }))).toEqual([
    'tool_response',
    'tool_response',
    'stream_end',
  ]);
});

test('each message goes on behind the last stream_end', async () => {
  const session = mockSession([says('one'), end, says('two'), end]);
  expect(await typesOf(session.stream(hello))).toEqual(['message', 'stream_end']);
  expect(() => session.assertConsumed()).toThrow('2 events were not replayed; the next is #3 message');
  expect(await typesOf(session.stream(hello))).toEqual(['message', 'stream_end']);
  session.assertConsumed();
  await expect(read(session.stream(hello))).rejects.toMatchObject({ code: 'SCRIPT_EXHAUSTED' });
});

test('wrong use rejects the first next() and changes nothing', async () => {
  const session = mockSession([asks('c1'), end]);
  await read(session.stream(hello));
  await expect(read(session.stream(hello))).rejects.toMatchObject({ code: 'SESSION_BUSY' });
  await expect(read(session.stream(result('c9')))).rejects.toMatchObject({ code: 'UNKNOWN_REQUEST' });
  const answer = { kind: 'elicitation_response', requestId: 'c1', response: { action: 'accept' } } as const;
  await expect(read(session.stream(answer))).rejects.toMatchObject({ code: 'UNKNOWN_REQUEST' });
  expect(await typesOf(session.stream(result('c1')))).toEqual(['tool_response', 'stream_end']);
  await expect(read(session.stream(result('c1')))).rejects.toMatchObject({ code: 'UNKNOWN_REQUEST' });
});

test('an aborted run answers what is open and ends; the next message goes on behind it', async () => {
  const session = mockSession([says('one'), asks('c1'), question, says('never'), end, says('two'), end]);
  const response = session.stream(hello);
  const events: AgentEvent[] = [];
  for await (const event of response.stream) {
    events.push(event);
    if (event.type === 'elicitation_request') response.controller.abort('enough');
  }
  expect(events.slice(3)).toMatchObject([
    { type: 'tool_response', requestId: 'c1', errorType: 'cancelled' },
    { type: 'elicitation_response', requestId: 'q', action: 'cancel' },
    { type: 'stream_end', reason: 'aborted', data: { reason: 'enough' } },
  ]);
  expect(session.aborts).toEqual(['enough']);
  expect(await read(session.stream(hello))).toMatchObject([{ content: text('two') }, { type: 'stream_end' }]);
});

test('a paused run that is aborted is over; so is one whose stream was left, read or not', async () => {
  const session = mockSession([asks('c1'), end, says('two'), end, says('three'), end, says('four'), end]);
  const first = session.stream(hello);
  await read(first);
  first.controller.abort();
  await session.stream(hello).stream.return(undefined);
  for await (const event of session.stream(hello).stream) {
    expect(event).toMatchObject({ content: text('three') });
    break;
  }
  expect(session.aborts).toEqual(['aborted', 'the consumer left', 'the consumer left']);
  expect(await read(session.stream(hello))).toMatchObject([{ content: text('four') }, { type: 'stream_end' }]);
});

test('a signal aborts the run; abort() ends the session', async () => {
  const controller = new AbortController();
  const session = mockSession([says('one'), says('more'), end, says('two'), end]);
  const { stream } = session.stream(hello, { signal: controller.signal });
  await stream.next();
  controller.abort();
  expect((await stream.next()).value).toMatchObject({ type: 'stream_end', reason: 'aborted' });
  session.abort('closing');
  session.abort('again');
  expect(session.aborts).toEqual(['the signal has fired', 'closing']);
  await expect(read(session.stream(hello))).rejects.toMatchObject({ code: 'SESSION_ENDED' });
});

test('a function is asked at every stream for what it yields', async () => {
  const session = mockSession(async function* (data, call) {
    if (data.kind === 'message') yield asks('c1');
    else {
      yield says(`${data.kind} ${call}`);
      yield end;
    }
  });
  expect(await typesOf(session.stream(hello))).toEqual(['tool_request']);
  expect(await read(session.stream(result('c1')))).toMatchObject([
    { type: 'tool_response' },
    { content: text('tool_result 1') },
    { type: 'stream_end' },
  ]);
});

test('update and steer are kept', () => {
  const session = mockSession([end]);
  session.update({ permissionMode: 'plan' });
  session.steer({ message: 'faster' });
  expect([session.updates, session.steers]).toEqual([[{ permissionMode: 'plan' }], [{ message: 'faster' }]]);
});
