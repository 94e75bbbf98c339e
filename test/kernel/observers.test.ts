import { expect, test } from 'vitest';
import type { AgentEvent, AgentEventDraft, ContentPart } from '../../src/contracts/index.js';
import { createEventMerge, type EventMergeOptions, type Origin } from '../../src/kernel/event-merge.js';
import type { MergeReader } from '../../src/kernel/merge-reader.js';
import { createStamp } from '../../src/kernel/stamp.js';
import { virtualClock } from '../../src/testing/index.js';
import { settle } from '../support/team.js';
import { createOrigin } from './origin.js';

function merge(options: Partial<EventMergeOptions<Origin>> = {}) {
  const clock = virtualClock();
  return {
    merge: createEventMerge<Origin>({ stamp: createStamp(clock, 't-'), log: { append() {} }, ...options }),
    clock,
  };
}

function origin(threadId?: string): Origin {
  const made = createOrigin(threadId, threadId ?? 'root');
  made.runId = 'run';
  made.streamId = 'stream';
  return made;
}

const note = (at: number): AgentEventDraft => ({ type: 'custom', kind: 'note', data: at });
const text = (said: string): ContentPart[] => [{ type: 'text', text: said }];

async function readAll(reader: MergeReader): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for (let step = await reader.next(); !step.done; step = await reader.next()) events.push(step.value);
  return events;
}

test('pieces that an observer reads late are the events that the consumer was given, key by key', async () => {
  const { merge: one, clock } = merge();
  const [a, b] = [origin('a_1'), origin('b_2')];
  one.hold();
  const { reader } = one.consume()!;
  const late = one.observe(() => {});
  // Another host's session takes ids of the same stamp; time goes on; threads take turns; a message says more than text.
  const says: (() => unknown)[] = [
    () => one.publishMessage(a, 'm', 'agent', text('one ')),
    () => one.publishMessage(a, 'm', 'agent', text('two ')),
    () => one.publishMessage(a, 'm', 'agent', text('three ')),
    () => one.publishMessage(b, 'm', 'agent', text('the same id elsewhere')),
    () => one.publishMessage(a, 'm', 'agent', text('four ')),
    () => clock.advance(7),
    () => one.publishMessage(a, 'm', 'agent', text('five ')),
    () => one.publishMessage(a, 'm', 'user', text('by somebody else ')),
    () => one.publishMessage(a, 'm', 'agent', [{ type: 'text', text: 'marked ', _meta: { index: 2 } }]),
    () => one.publishMessage(a, 'm', 'agent', [{ type: 'text', text: 'with more ', mark: 1 } as ContentPart]),
    () => one.publishMessage(a, 'm', 'agent', text('six ')),
    () => one.publishMessage(a, 'm', 'agent', [{ type: 'thought', thought: 'hm' }]),
    () => one.publishMessage(a, 'm', 'agent', text('seven ')),
    () => one.publishMessage(a, 'm', 'agent', text('eight ')),
    () => one.publishMessage(a, 'm', 'agent', [...text('two '), ...text('parts ')]),
    () => one.publishMessage(a, 'm', 'agent', []),
    () => one.publishMessage(a, 'n', 'agent', text('next ')),
    () => one.publish(a, note(1)),
    () => one.publishMessage(a, 'n', 'agent', text('goes on ')),
    () => one.publish(a, { type: 'error', code: 'X', message: 'x', fatal: false }),
    () => one.publishMessage(a, 'n', 'agent', text('begins again ')),
    () => one.publishMessage(a, 'n', 'agent', text('and goes on')),
  ];
  for (const say of says) await say();
  one.completeMessage(a);
  reader.finish();
  one.end();
  const given = await readAll(reader);
  expect(given.length).toBe(says.length - 1);
  const read = await readAll(late);
  expect(read).toStrictEqual(given);
  expect(read.map((event) => JSON.stringify(event))).toEqual(given.map((event) => JSON.stringify(event)));
});

test('what one observer does with an event, and how far it is, others do not see', async () => {
  const { merge: one } = merge();
  const from = origin();
  const [first, second] = [one.observe(() => {}), one.observe(() => {})];
  for (let at = 0; at < 50; at++) one.publishMessage(from, 'm', 'agent', text(`${at} `));
  const third = one.observe(() => {});
  for (let at = 50; at < 100; at++) one.publishMessage(from, 'm', 'agent', text(`${at} `));
  one.end();
  await settle(1);
  const seqs = (events: readonly AgentEvent[]) => events.map((event) => event.seq);
  const all = Array.from({ length: 100 }, (_, at) => at + 1);
  const begun = [(await second.next()).value as AgentEvent, (await second.next()).value as AgentEvent];
  expect(seqs(await readAll(first))).toEqual(all);
  expect(seqs([...begun, ...(await readAll(second))])).toEqual(all);
  expect(seqs(await readAll(third))).toEqual(all.slice(50));
});

test('of the pieces of messages an observer may lag four times as far as of other events', () => {
  const pieces = (count: number) => (one: ReturnType<typeof merge>['merge'], from: Origin) => {
    for (let at = 0; at < count; at++) one.publishMessage(from, 'm', 'agent', text('x'));
  };
  const notes = (count: number) => (one: ReturnType<typeof merge>['merge'], from: Origin) => {
    for (let at = 0; at < count; at++) one.publish(from, note(at));
  };
  const isLost = (publish: ReturnType<typeof notes>) => {
    const { merge: one } = merge({ observerLag: 2_000 });
    let lost = false;
    const from = origin();
    one.observe(() => {
      lost = true;
    });
    publish(one, from);
    // It is looked at when an event of its own comes.
    one.publish(from, note(0));
    return lost;
  };
  expect(isLost(notes(1_500))).toBe(false);
  expect(isLost(notes(4_000))).toBe(true);
  expect(isLost(pieces(4_000))).toBe(false);
  expect(isLost(pieces(7_900))).toBe(false);
  expect(isLost(pieces(10_000))).toBe(true);
});

test('of a busy run a hundred observers together are shown no more than ten are', async () => {
  const shownTo = async (count: number) => {
    const { merge: one } = merge();
    const from = origin();
    let seen = 0;
    const reading = Array.from({ length: count }, async () => {
      const observer = one.observe(() => {});
      for (let step = await observer.next(); !step.done; step = await observer.next()) seen++;
    });
    for (let round = 0; round < 20; round++) {
      for (let at = 0; at < 500; at++) one.publishMessage(from, 'm', 'agent', text('x'));
      await settle(1);
    }
    const meanwhile = seen;
    one.end();
    await Promise.all(reading);
    expect(seen).toBe(count * 10_000);
    return meanwhile;
  };
  const [few, many] = [await shownTo(10), await shownTo(100)];
  expect(few).toBeGreaterThan(0);
  expect(Math.max(few, many)).toBeLessThanOrEqual(300);
});
