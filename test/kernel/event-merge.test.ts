import { expect, test } from 'vitest';
import type { AgentEvent, AgentEventDraft } from '../../src/contracts/index.js';
import { createEventMerge, type EventMergeOptions, type Origin } from '../../src/kernel/event-merge.js';
import type { MergeReader } from '../../src/kernel/merge-reader.js';
import { createStamp } from '../../src/kernel/stamp.js';
import { virtualClock } from '../../src/testing/index.js';
import { settle } from '../support/team.js';
import { createOrigin } from './origin.js';

function merge(options: Partial<EventMergeOptions<Origin>> = {}) {
  const clock = virtualClock();
  const log: AgentEvent[] = [];
  const made = createEventMerge<Origin>({
    stamp: createStamp(clock, 't-'),
    log: { append: (event) => void log.push(event) },
    ...options,
  });
  return { merge: made, log, clock };
}

const text = (messageId: string, said: string, role = 'agent'): AgentEventDraft => ({
  type: 'message',
  messageId,
  role,
  content: [{ type: 'text', text: said }],
});
const note = (at: number): AgentEventDraft => ({ type: 'custom', kind: 'note', data: at });

async function drain(reader: MergeReader): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  reader.finish();
  for (let step = await reader.next(); !step.done; step = await reader.next()) events.push(step.value);
  return events;
}

const root = () => createOrigin(undefined, 'root');

test('an event is stamped with id, time, place and origin; what its draft says of a thread stands', () => {
  const { merge: one, log, clock } = merge({ seq: 7 });
  const origin = createOrigin('a_1', 'a');
  one.publish(origin, note(1));
  origin.runId = 'run';
  origin.streamId = 'stream';
  void clock.advance(0);
  one.publish(origin, { type: 'agent_started', agentName: 'b', threadId: 'a_1.b_1' });
  expect(log).toEqual([
    {
      id: 't-1',
      timestamp: '1970-01-01T00:00:00.000Z',
      seq: 8,
      agentId: 'a',
      threadId: 'a_1',
      type: 'custom',
      kind: 'note',
      data: 1,
    },
    {
      id: 't-2',
      timestamp: '1970-01-01T00:00:00.000Z',
      seq: 9,
      agentId: 'a',
      threadId: 'a_1.b_1',
      runId: 'run',
      streamId: 'stream',
      type: 'agent_started',
      agentName: 'b',
    },
  ]);
});

test('the root has no thread id, not even an undefined one', () => {
  const { merge: one, log } = merge();
  const origin = root();
  origin.runId = 'r';
  origin.streamId = 's';
  one.publish(origin, note(1));
  one.publishMessage(origin, 'm', 'agent', [{ type: 'text', text: 'x' }]);
  one.completeMessage(origin);
  for (const event of log) expect(Object.keys(event)).not.toContain('threadId');
});

test('publishing waits for nobody while nobody reads, and at the mark while somebody does', async () => {
  const { merge: one } = merge({ highWater: 4 });
  const origin = root();
  for (let at = 0; at < 100; at++) expect(one.publish(origin, note(at))).toBeUndefined();
  const { reader } = one.consume()!;
  for (let at = 0; at < 3; at++) expect(one.publish(origin, note(at))).toBeUndefined();
  const full = one.publish(origin, note(3));
  expect(full).toBeInstanceOf(Promise);
  let isFree = false;
  void full?.then(() => {
    isFree = true;
  });
  await reader.next();
  await settle(1);
  expect(isFree).toBe(false);
  // Half of its room must be free again, so that it does not stop at every event.
  await reader.next();
  await settle(1);
  expect(isFree).toBe(true);
});

test('a full thread suspends itself alone', () => {
  const { merge: one } = merge({ highWater: 2 });
  const [a, b] = [createOrigin('a_1', 'a'), createOrigin('b_2', 'b')];
  one.consume();
  one.publish(a, note(1));
  expect(one.publish(a, note(2))).toBeInstanceOf(Promise);
  expect(one.publish(b, note(1))).toBeUndefined();
});

test('all threads together have room for so much', async () => {
  const { merge: one } = merge({ highWater: 100, totalHighWater: 6 });
  const { reader } = one.consume()!;
  const origins = Array.from({ length: 6 }, (_, at) => createOrigin(`a_${at + 1}`, 'a'));
  const given = origins.map((origin) => one.publish(origin, note(0)));
  expect(given.slice(0, 5)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(given[5]).toBeInstanceOf(Promise);
  for (let at = 0; at < 3; at++) await reader.next();
  await given[5];
});

test('ends pass although the buffers are full', () => {
  const { merge: one } = merge({ highWater: 1 });
  const origin = root();
  one.consume();
  expect(one.publish(origin, note(1))).toBeInstanceOf(Promise);
  const ends: AgentEventDraft[] = [
    { type: 'tool_response', requestId: 'x', name: 't', llmContent: [] },
    { type: 'elicitation_response', requestId: 'q', action: 'cancel' },
    { type: 'error', code: 'X', message: 'x', fatal: false },
    { type: 'stream_end', reason: 'aborted' },
    { type: 'agent_completed', agentName: 'a', threadId: 'a_1', reason: 'aborted' },
  ];
  for (const draft of ends) expect(one.publish(origin, draft)).toBeUndefined();
});

test('what ends a reader, and what ends a thread, lets its publishers go', async () => {
  const end: ((one: ReturnType<typeof merge>['merge'], reader: MergeReader, origin: Origin) => void)[] = [
    (_, reader) => reader.close(),
    (_, reader) => reader.finish(),
    (one, _, origin) => one.relieve(origin),
  ];
  for (const [at, letGo] of end.entries()) {
    for (const room of [{ highWater: 1 }, { totalHighWater: 1 }]) {
      const { merge: one } = merge(room);
      const origin = root();
      const { reader } = one.consume()!;
      const full = one.publish(origin, note(at));
      expect(full).toBeInstanceOf(Promise);
      letGo(one, reader, origin);
      await full;
    }
  }
});

test('one consumer at a time; the next begins where it is told to keep from', async () => {
  const { merge: one } = merge();
  const origin = root();
  const first = one.consume()!;
  expect(first.complete).toBe(false);
  expect(one.consume()).toBeUndefined();
  one.publish(origin, note(1));
  expect((await drain(first.reader)).map((event) => event.seq)).toEqual([1]);
  one.publish(origin, note(2));
  one.hold();
  one.publish(origin, note(3));
  const second = one.consume()!;
  expect(second.complete).toBe(true);
  one.publish(origin, note(4));
  expect((await drain(second.reader)).map((event) => event.seq)).toEqual([3, 4]);
});

test('too much is not kept: then the next reader is told that it begins in the middle', async () => {
  const { merge: one } = merge({ holdLimit: 3 });
  const origin = root();
  one.hold();
  for (let at = 0; at < 3; at++) one.publish(origin, note(at));
  const kept = one.consume()!;
  expect(kept.complete).toBe(true);
  kept.reader.close();
  one.hold();
  for (let at = 0; at < 4; at++) one.publish(origin, note(at));
  const late = one.consume()!;
  expect(late.complete).toBe(false);
  expect(await drain(late.reader)).toEqual([]);
});

test('a reader that is finished gives what was published by then, and nothing of what comes after', async () => {
  const { merge: one } = merge();
  const origin = root();
  const { reader } = one.consume()!;
  one.publish(origin, note(1));
  reader.finish();
  one.publish(origin, note(2));
  expect((await reader.next()).value).toMatchObject({ seq: 1 });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test('a reader that waits is woken by an event, by its end, and by its closing', async () => {
  const { merge: one } = merge();
  const { reader } = one.consume()!;
  const first = reader.next();
  one.publish(root(), note(1));
  expect((await first).value).toMatchObject({ seq: 1 });
  const second = reader.next();
  reader.finish();
  expect((await second).done).toBe(true);
  const { reader: other } = one.consume()!;
  const third = other.next();
  other.close();
  expect((await third).done).toBe(true);
});

test('observers see the same as the consumer and hold nobody up; the last one ends with the merge', async () => {
  const { merge: one } = merge({ highWater: 2 });
  const origin = root();
  expect(one.watched).toBe(false);
  const observers = Array.from({ length: 3 }, () => one.observe(() => {}));
  expect(one.watched).toBe(true);
  for (let at = 0; at < 10; at++) expect(one.publish(origin, note(at))).toBeUndefined();
  observers[0]!.close();
  one.end();
  for (const observer of observers.slice(1)) {
    const seqs: number[] = [];
    for (let step = await observer.next(); !step.done; step = await observer.next()) seqs.push(step.value.seq);
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  }
  expect((await observers[0]!.next()).done).toBe(true);
  expect((await one.observe(() => {}).next()).done).toBe(true);
});

test('an observer that falls too far behind is told, and ends, whether it waits or not', async () => {
  const { merge: one } = merge({ observerLag: 2_000 });
  const origin = root();
  const lost: string[] = [];
  const idle = one.observe(() => lost.push('idle'));
  const waiting = one.observe(() => lost.push('waiting'));
  const step = waiting.next();
  for (let at = 0; at < 5_000; at++) one.publish(origin, note(at));
  expect(lost).toEqual(['idle', 'waiting']);
  expect((await step).done).toBe(true);
  expect((await idle.next()).done).toBe(true);
  expect(one.watched).toBe(false);
});

test('the log has each message whole, where its last piece stood; what is for display only it has not', () => {
  const { merge: one, log } = merge();
  const origin = root();
  one.publish(origin, text('m', 'Hel'));
  one.publish(origin, { type: 'tool_update', requestId: 'x' });
  one.publish(origin, { type: 'session_update', title: 'T' });
  one.publish(origin, text('m', 'lo'));
  one.publish(origin, text('n', 'next'));
  one.completeMessage(origin);
  expect(log.map((event) => [event.type, event.seq])).toEqual([
    ['session_update', 3],
    ['message', 4],
    ['message', 5],
  ]);
  expect(log[1]).toMatchObject({ messageId: 'm', content: [{ text: 'Hello' }], _meta: { firstSeq: 1 } });
  expect(log[2]).not.toHaveProperty('_meta');
});

test('a message that was cut says so; an event with a call or an end closes it', () => {
  const { merge: one, log } = merge();
  const origin = root();
  one.publish(origin, text('m', 'Hel'));
  one.completeMessage(origin, true);
  one.completeMessage(origin, true);
  one.publish(origin, text('n', 'x'));
  one.publish(origin, { type: 'stream_end', reason: 'aborted' });
  expect(log).toMatchObject([
    { messageId: 'm', _meta: { interrupted: true, firstSeq: 1 } },
    { messageId: 'n' },
    { type: 'stream_end' },
  ]);
});

test('a record is in the log and nowhere else', async () => {
  const { merge: one, log } = merge();
  const { reader } = one.consume()!;
  one.record(root(), note(1));
  expect(log).toHaveLength(1);
  expect(await drain(reader)).toEqual([]);
});

test('messages in flight are copies that replace what was shown', () => {
  const { merge: one } = merge();
  const [a, b] = [createOrigin('a_1', 'a'), createOrigin('b_2', 'b')];
  one.publish(a, text('m', 'Hel'));
  one.publish(b, text('n', 'x'));
  one.publish(a, text('m', 'lo'));
  const flying = one.inFlight();
  expect(flying).toMatchObject([
    { threadId: 'a_1', seq: 3, content: [{ text: 'Hello' }], _meta: { replace: true, firstSeq: 1 } },
    { threadId: 'b_2', seq: 2, content: [{ text: 'x' }], _meta: { replace: true, firstSeq: 2 } },
  ]);
  one.publish(a, text('m', '!'));
  expect(flying[0]!.content).toEqual([{ type: 'text', text: 'Hello' }]);
  one.completeMessage(a);
  expect(one.inFlight()).toHaveLength(1);
});

test('what an executor hands in is not changed by joining its pieces', () => {
  const { merge: one, log } = merge();
  const origin = root();
  const first = [{ type: 'text' as const, text: 'a' }];
  one.publishMessage(origin, 'm', 'agent', first);
  one.publishMessage(origin, 'm', 'agent', [{ type: 'text', text: 'b' }]);
  one.completeMessage(origin);
  expect(first).toEqual([{ type: 'text', text: 'a' }]);
  expect(log[0]).toMatchObject({ content: [{ text: 'ab' }] });
});

test('progress that does not wait for room is shown as far as there is room, and is no part of the log', async () => {
  const { merge: one, log } = merge({ highWater: 4 });
  const origin = root();
  const { reader } = one.consume()!;
  for (let at = 0; at < 1_000; at++) one.publish(origin, { type: 'tool_update', requestId: 'x', progress: at / 1_000 });
  one.publish(origin, { type: 'tool_response', requestId: 'x', name: 't', llmContent: [] });
  const events = await drain(reader);
  expect(events.length).toBeLessThanOrEqual(6);
  expect(events.at(-1)?.type).toBe('tool_response');
  expect(log).toHaveLength(1);
});

test('a stream that never waits gives the event loop its turn now and then, read or not', async () => {
  for (const isRead of [true, false]) {
    const { merge: one } = merge();
    const origin = root();
    const reader = isRead ? one.consume()!.reader : undefined;
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const reading = (async () => {
      for (let at = 0; reader !== undefined && at < 5_000; at++) await reader.next();
    })();
    for (let at = 0; at < 5_000; at++) {
      const full = one.publish(origin, note(at));
      if (full !== undefined) await full;
      else await Promise.resolve();
    }
    await reading;
    isOver = true;
    expect(turns).toBeGreaterThan(5);
  }
});

test('of what a busy run publishes its observers see a part meanwhile, and all of it after', async () => {
  const { merge: one } = merge();
  const origin = root();
  const round = () => new Promise((resolve) => setImmediate(resolve));
  const seen = [0, 0];
  const reading = seen.map(async (_, at) => {
    const observer = one.observe(() => {});
    for (let step = await observer.next(); !step.done; step = await observer.next()) seen[at]!++;
  });
  for (let part = 0; part < 4; part++) {
    for (let at = 0; at < 500; at++) one.publish(origin, note(at));
    await round();
  }
  // Otherwise the run itself would wait for them: together they are shown a tenth.
  expect(seen[0]! + seen[1]!).toBeGreaterThan(0);
  expect(seen[0]! + seen[1]!).toBeLessThanOrEqual(200);
  one.end();
  await Promise.all(reading);
  expect(seen).toEqual([2_000, 2_000]);
  expect(one.watched).toBe(false);
});

test('what is published at an ordinary pace an observer has by the next round of the event loop', async () => {
  const { merge: one } = merge();
  const observer = one.observe(() => {});
  for (let at = 0; at < 100; at++) one.publish(root(), note(at));
  await new Promise((resolve) => setImmediate(resolve));
  const given = await Promise.race([
    (async () => {
      for (let at = 0; at < 100; at++) await observer.next();
      return 'all';
    })(),
    new Promise((resolve) => setImmediate(() => resolve('not all'))),
  ]);
  expect(given).toBe('all');
});
