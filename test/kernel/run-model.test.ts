import { expect, test } from 'vitest';
import type { OpenAgentEvent } from '../../src/contracts/index.js';
import { createRunModel } from '../../src/kernel/run-model.js';
import { asked, asks, calls, ends, eventList, initialize, returns, says } from '../cli/event-list.js';
import { fc } from '../support/fast-check.js';

function viewOf(events: readonly OpenAgentEvent[]) {
  const { model: view, fold } = createRunModel();
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
  expect([...Object.keys(view.threads)]).toEqual(['', 'gather_1', 'gather_1.researcher_2']);
  expect(view.threads['']?.children).toEqual(['gather_1']);
  expect(view.threads.gather_1?.children).toEqual(['gather_1.researcher_2']);
  expect(view.threads['gather_1.researcher_2']).toMatchObject({ agentName: 'researcher', parentId: 'gather_1' });
});

test('a thread whose parents were never seen brings them with it', () => {
  const view = viewOf(eventList({ ...says('hi'), thread: 'a_1.b_1', by: 'b' }));
  expect([...Object.values(view.threads)].map(({ threadId, agentName }) => [threadId, agentName])).toEqual(
    expect.arrayContaining([
      ['', 'root'],
      ['a_1', 'a'],
      ['a_1.b_1', 'b'],
    ]),
  );
});

test('the status follows open calls and questions, and goes back when they are answered', () => {
  const { model: view, fold } = createRunModel();
  const status = () => view.threads['']?.status;
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
  expect(Object.keys(view.questions).length).toBe(0);
  expect(view.reason).toBe('completed');
});

test('increments of one message add up, a new message replaces them', () => {
  const events = eventList(initialize('solo'), says('Hel'), says('lo'), says('Bye', 'm2'));
  expect(viewOf(events.slice(0, 3)).threads['']?.lastText).toBe('Hello');
  expect(viewOf(events).threads['']?.lastText).toBe('Bye');
});

test('a message given again from its start replaces what was shown', () => {
  const again = { ...says('Hello'), _meta: { replace: true } };
  expect(viewOf(eventList(says('Hel'), again, says(' you'))).threads['']?.lastText).toBe('Hello you');
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
  expect(view.threads.a_1?.usage).toMatchObject({
    inputTokens: 15,
    outputTokens: 2,
    usd: 0.75,
    costIncomplete: false,
  });
  expect(view.threads.b_1?.usage.usd).toBeUndefined();
  expect(view.totals).toMatchObject({ inputTokens: 17, usd: 0.75, costIncomplete: true });
});

test('a failed end keeps its code, and the next message to the thread clears it', () => {
  const failed = { type: 'stream_end', reason: 'failed', data: { code: 'UNAVAILABLE', message: 'down' } } as const;
  const events = eventList(initialize('solo'), failed, asked('again'));
  expect(viewOf(events.slice(0, 2)).threads['']).toMatchObject({
    status: 'ended',
    reason: 'failed',
    lastError: { code: 'UNAVAILABLE' },
  });
  expect(viewOf(events).threads['']).toMatchObject({ status: 'running', reason: undefined, lastError: undefined });
  expect(viewOf(events).reason).toBeUndefined();
});

test('an event of an unknown type changes nothing but the time', () => {
  const { model: view, fold } = createRunModel();
  for (const event of eventList(initialize('solo'), ends('completed'))) fold(event);
  fold({ id: 'x', seq: 9, timestamp: '2026-01-01T01:00:00.000Z', type: 'from_the_future', whatever: 1 });
  expect(view.threadCount).toBe(1);
  expect(view.reason).toBe('completed');
  expect(view.lastAt).toBe('2026-01-01T01:00:00.000Z');
});

test('the last text is bounded, however long a message streams', () => {
  const view = viewOf(Array.from({ length: 500 }, () => eventList(says('0123456789'))[0]!));
  expect(view.threads['']?.lastText).toHaveLength(2_000);
});

test('it is plain JSON, also where names and ids are those of an object', () => {
  const hostile = { ...says('hi'), thread: '__proto__.constructor_1', by: 'constructor' };
  const model = viewOf(eventList(hostile, { ...asks('Sure?'), thread: 'toString_1', requestId: '__proto__' } as never));
  expect(JSON.parse(JSON.stringify(model)).threads).toHaveProperty(
    ['__proto__.constructor_1', 'agentName'],
    'constructor',
  );
  expect(Object.keys(model.questions)).toEqual(['__proto__']);
  expect(({} as Record<string, unknown>).status).toBeUndefined();
});

test('what the threads of one agent came to stands under its name', () => {
  const at = (timestamp: string, event: OpenAgentEvent) => ({ ...event, timestamp });
  const [one, two, oneEnds, twoAsks, twoUsage] = eventList(
    started('worker', 'worker_1'),
    started('worker', 'worker_2'),
    { type: 'stream_end', reason: 'failed', thread: 'worker_1' },
    { ...asks('Which?'), thread: 'worker_2' },
    { type: 'usage', inputTokens: 3, outputTokens: 1, cost: { usd: 0.5 }, thread: 'worker_2' },
  ) as OpenAgentEvent[];
  const model = viewOf([
    at('2026-01-01T00:00:00.000Z', one!),
    at('2026-01-01T00:00:01.000Z', two!),
    at('2026-01-01T00:00:04.000Z', oneEnds!),
    at('2026-01-01T00:00:05.000Z', twoAsks!),
    at('2026-01-01T00:00:06.000Z', twoUsage!),
  ]);
  expect(model.agents.worker).toEqual({
    runs: 2,
    running: 0,
    waiting: 1,
    completed: 0,
    failed: 1,
    stopped: 0,
    usage: { inputTokens: 3, outputTokens: 1, usd: 0.5, costIncomplete: false },
    ms: 4_000,
  });
  expect(Object.keys(model.live).sort()).toEqual(['', 'worker_2']);
});

test('a thread that goes on with a new message has run once more', () => {
  const model = viewOf(
    eventList(initialize('solo'), asked('go'), ends('completed'), asked('again'), ends('aborted'), ends('aborted')),
  );
  expect(model.agents.solo).toMatchObject({ runs: 2, running: 0, waiting: 0, completed: 1, failed: 0, stopped: 1 });
  expect(Object.keys(model.agents)).toEqual(['solo']);
});

test('the figures of agents are those that counting the threads gives, whatever the events', () => {
  const kinds = [
    () => says('x'),
    () => asked('go'),
    () => asks('Which?'),
    () => ({ type: 'elicitation_response', requestId: 'q1', action: 'accept' }) as const,
    () => ends('completed'),
    () => ends('failed'),
    () =>
      ({
        type: 'initialize',
        sessionId: 's',
        agent: { name: 'b', description: '' },
        interfaceVersion: '1',
        capabilities: [],
      }) as const,
  ];
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(kinds.length - 1), fc.constantFrom(undefined, 'a_1', 'b_1', 'a_1.b_2'))),
      (steps) => {
        const model = viewOf(
          steps.map(([kind, thread]) => eventList({ ...kinds[kind]?.(), ...(thread && { thread }) } as never)[0]!),
        );
        const threads = Object.values(model.threads);
        const live = threads.filter(({ status }) => status !== 'ended');
        expect(Object.keys(model.live).sort()).toEqual(live.map(({ threadId }) => threadId).sort());
        for (const [name, figures] of Object.entries(model.agents)) {
          const own = live.filter(({ agentName }) => agentName === name);
          const waiting = own.filter(({ status }) => status === 'awaiting_elicitation').length;
          expect([figures.waiting, figures.running]).toEqual([waiting, own.length - waiting]);
          const ended = figures.completed + figures.failed + figures.stopped;
          expect(figures.runs).toBe(ended + own.length);
        }
        for (const { threadId, openQuestions } of threads)
          expect(Object.values(model.questions).filter((one) => one.threadId === threadId)).toHaveLength(openQuestions);
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});
