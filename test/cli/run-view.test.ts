import { expect, test } from 'vitest';
import { createRunView } from '../../src/cli/run-view.js';
import type { OpenAgentEvent } from '../../src/contracts/index.js';
import { asked, asks, calls, ends, eventList, initialize, returns, says } from './event-list.js';

function viewOf(events: readonly OpenAgentEvent[]) {
  const { view, fold } = createRunView();
  for (const event of events) fold(event);
  return view;
}

const started = (agentName: string, thread: string) =>
  ({ type: 'agent_started', agentName, threadId: thread, thread }) as const;

test('threads form a tree by their dotted ids, whether or not their start was seen', () => {
  const view = viewOf(
    eventList(initialize('report'), started('gather', 'gather_1'), {
      ...says('hello'),
      thread: 'gather_1.researcher_2',
      by: 'researcher',
    }),
  );
  expect([...view.threads.keys()]).toEqual(['', 'gather_1', 'gather_1.researcher_2']);
  expect(view.threads.get('')?.children).toEqual(['gather_1']);
  expect(view.threads.get('gather_1')?.children).toEqual(['gather_1.researcher_2']);
  expect(view.threads.get('gather_1.researcher_2')).toMatchObject({ agentName: 'researcher', parentId: 'gather_1' });
});

test('a thread whose parents were never seen brings them with it', () => {
  const view = viewOf(eventList({ ...says('hi'), thread: 'a_1.b_1', by: 'b' }));
  expect([...view.threads.values()].map(({ threadId, agentName }) => [threadId, agentName])).toEqual(
    expect.arrayContaining([
      ['', 'root'],
      ['a_1', 'a'],
      ['a_1.b_1', 'b'],
    ]),
  );
});

test('the status follows open calls and questions, and goes back when they are answered', () => {
  const { view, fold } = createRunView();
  const status = () => view.threads.get('')?.status;
  const [first, user, call, question, answer, response, end] = eventList(
    initialize('solo'),
    asked('go'),
    calls('search', { query: 'x' }),
    asks('Which one?'),
    { type: 'elicitation_response', requestId: 'q1', action: 'accept' },
    returns('search'),
    ends('completed'),
  );
  const seen: unknown[] = [];
  for (const event of [first, user, call, question, answer, response, end]) {
    fold(event!);
    seen.push(status());
  }
  expect(seen).toEqual([
    'running',
    'running',
    'awaiting_tool',
    'awaiting_elicitation',
    'awaiting_tool',
    'running',
    'ended',
  ]);
  expect(view.questions.size).toBe(0);
  expect(view.reason).toBe('completed');
});

test('increments of one message add up, a new message replaces them', () => {
  const events = eventList(initialize('solo'), says('Hel'), says('lo'), says('Bye', 'm2'));
  expect(viewOf(events.slice(0, 3)).threads.get('')?.lastText).toBe('Hello');
  expect(viewOf(events).threads.get('')?.lastText).toBe('Bye');
});

test('a message given again from its start replaces what was shown', () => {
  const again = { ...says('Hello'), _meta: { replace: true } };
  expect(viewOf(eventList(says('Hel'), again, says(' you'))).threads.get('')?.lastText).toBe('Hello you');
});

test('usage is summed per thread and over the tree, and cost stays unknown without a price', () => {
  const usage = (inputTokens: number, usd?: number) =>
    ({ type: 'usage', inputTokens, outputTokens: 1, ...(usd === undefined ? {} : { cost: { usd } }) }) as const;
  const view = viewOf(
    eventList(
      { ...usage(10, 0.5), thread: 'a_1' },
      { ...usage(5, 0.25), thread: 'a_1' },
      { ...usage(2), thread: 'b_1' },
    ),
  );
  expect(view.threads.get('a_1')?.usage).toMatchObject({
    inputTokens: 15,
    outputTokens: 2,
    usd: 0.75,
    costIncomplete: false,
  });
  expect(view.threads.get('b_1')?.usage.usd).toBeUndefined();
  expect(view.totals).toMatchObject({ inputTokens: 17, usd: 0.75, costIncomplete: true });
});

test('a failed end keeps its code, and the next message to the thread clears it', () => {
  const failed = { type: 'stream_end', reason: 'failed', data: { code: 'UNAVAILABLE', message: 'down' } } as const;
  const events = eventList(initialize('solo'), failed, asked('again'));
  expect(viewOf(events.slice(0, 2)).threads.get('')).toMatchObject({
    status: 'ended',
    reason: 'failed',
    lastError: { code: 'UNAVAILABLE' },
  });
  expect(viewOf(events).threads.get('')).toMatchObject({ status: 'running', reason: undefined, lastError: undefined });
  expect(viewOf(events).reason).toBeUndefined();
});

test('an event of an unknown type changes nothing but the time', () => {
  const { view, fold } = createRunView();
  for (const event of eventList(initialize('solo'), ends('completed'))) fold(event);
  fold({ id: 'x', seq: 9, timestamp: '2026-01-01T01:00:00.000Z', type: 'from_the_future', whatever: 1 });
  expect(view.threads.size).toBe(1);
  expect(view.reason).toBe('completed');
  expect(view.lastAt).toBe('2026-01-01T01:00:00.000Z');
});

test('the last text is bounded, however long a message streams', () => {
  const view = viewOf(Array.from({ length: 500 }, () => eventList(says('0123456789'))[0]!));
  expect(view.threads.get('')?.lastText).toHaveLength(2_000);
});
