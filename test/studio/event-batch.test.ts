import { expect, test } from 'vitest';
import type { AgentEvent, ContentPart } from '../../src/contracts/index.js';
import { EventBatch } from '../../src/studio/event-batch.js';

const said = (seq: number, threadId: string, content: ContentPart[], more: object = {}) =>
  ({
    type: 'message',
    id: `e${seq}`,
    seq,
    timestamp: `t${seq}`,
    threadId,
    messageId: `m-${threadId}`,
    role: 'agent',
    content,
    ...more,
  }) as AgentEvent;
const words = (text: string): ContentPart[] => [{ type: 'text', text }];
const other = (seq: number, threadId: string) => ({ type: 'usage', id: `e${seq}`, seq, threadId }) as AgentEvent;

function batched(events: readonly AgentEvent[]): AgentEvent[] {
  const batch = new EventBatch();
  for (const event of events) batch.add(event);
  return batch.take();
}

const shown = (events: readonly AgentEvent[]) =>
  events.map((event) => [
    event.seq,
    event.type === 'message' ? (event.content[0] as { text: string }).text : event.type,
  ]);

test('increments of one message become one, at the place of the last, also where threads speak at once', () => {
  const events = [1, 2, 3, 4, 5, 6].map((seq) => said(seq, seq % 2 ? 'a' : 'b', words(`${seq}`)));
  const given = structuredClone(events);
  expect(shown(batched(events))).toEqual([
    [5, '135'],
    [6, '246'],
  ]);
  expect(events).toEqual(given);
});

test('what stands between increments of a thread parts them, and what is no plain text stays as it is', () => {
  const events = [
    said(1, 'a', words('1')),
    other(2, 'a'),
    said(3, 'a', words('3')),
    other(4, 'b'),
    said(5, 'a', words('5')),
    said(6, 'a', [{ type: 'text', text: '6', _meta: { cited: true } }]),
    said(7, 'a', words('7')),
    said(8, 'a', words('8'), { messageId: 'm2' }),
    said(9, 'a', words('9'), { messageId: 'm2', _meta: { sum: 1 } }),
    said(10, 'a', words('10'), { role: 'user' }),
  ];
  expect(shown(batched(events))).toEqual([
    [1, '1'],
    [2, 'usage'],
    [4, 'usage'],
    [5, '35'],
    [6, '6'],
    [7, '7'],
    [8, '8'],
    [9, '9'],
    [10, '10'],
  ]);
});

test('a batch that was taken is empty, and what comes then begins anew', () => {
  const batch = new EventBatch();
  batch.add(said(1, 'a', words('1')));
  expect(batch.isEmpty).toBe(false);
  expect(shown(batch.take())).toEqual([[1, '1']]);
  expect(batch.isEmpty).toBe(true);
  batch.add(said(2, 'a', words('2')));
  expect(shown(batch.take())).toEqual([[2, '2']]);
});
