import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { memoryStore } from '../../src/stores/memory.js';

const event = (seq: number, rest: object = {}): AgentEvent =>
  ({ id: `e${seq}`, seq, timestamp: '2026-01-01T00:00:00.000Z', type: 'custom', kind: 'x', ...rest }) as AgentEvent;
const update = (seq: number, stateDelta: object) => event(seq, { type: 'session_update', stateDelta });
const all = async (events: AsyncIterable<AgentEvent>) => {
  const list: AgentEvent[] = [];
  for await (const one of events) list.push(one);
  return list;
};

test('the same event appended twice is in the log once (B021)', async () => {
  const session = await memoryStore().create('a', { id: 's' });
  await Promise.all([session.append(event(1)), session.append(event(1))]);
  session.append(event(3));
  session.append(event(2));
  session.append(event(2));
  session.append(event(3));
  expect((await all(session.events)).map(({ seq }) => seq)).toEqual([1, 2, 3]);
});

test('an event whose place is further up is read there', async () => {
  const session = await memoryStore().create('a', { id: 's' });
  for (const seq of [1, 5, 3, 4, 2]) session.append(event(seq));
  expect((await all(session.events)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
});

test('reading goes on to where the log ends by then', async () => {
  const session = await memoryStore().create('a', { id: 's' });
  session.append(event(1));
  const seen: number[] = [];
  for await (const { seq } of session.events) {
    seen.push(seq);
    if (seq < 3) session.append(event(seq + 1));
  }
  expect(seen).toEqual([1, 2, 3]);
});

test('keys of the application and of the user are shared, all others are the session’s own (B023)', async () => {
  const store = memoryStore();
  const [s1, s2, other] = await Promise.all([
    store.create('a', { id: 's1', appName: 'app', userId: 'ann' }),
    store.create('a', { id: 's2', appName: 'app', userId: 'bob' }),
    store.create('a', { id: 's3', appName: 'another', userId: 'ann' }),
  ]);
  s1.append(update(1, { 'app:n': 1, 'user:n': 1, n: 1, 'temp:n': 1 }));
  s2.append(update(1, { 'app:n': 2, n: 2 }));
  expect((await store.load('s1')).state).toEqual({ 'app:n': 2, 'user:n': 1, n: 1 });
  expect(s2.state).toEqual({ 'app:n': 2, n: 2 });
  expect(other.state).toEqual({});
});

test('sessions are listed newest first within their application and user, and without their logs', async () => {
  const store = memoryStore();
  const older = await store.create('a', { id: 'older', appName: 'app', userId: 'ann', title: 'One' });
  const newer = await store.create('b', { id: 'newer', appName: 'app', userId: 'ann' });
  await store.create('a', { id: 'foreign', appName: 'another', userId: 'ann' });
  older.append(event(1));
  newer.append(event(1, { timestamp: '2026-01-02T00:00:00.000Z' }));
  expect(await store.list(undefined, { appName: 'app', userId: 'ann' })).toEqual([
    { id: 'newer', agentName: 'b', lastUpdateTime: '2026-01-02T00:00:00.000Z', eventCount: 1 },
    { id: 'older', agentName: 'a', lastUpdateTime: '2026-01-01T00:00:00.000Z', eventCount: 1, title: 'One' },
  ]);
  expect((await store.list('a', { appName: 'app' })).map(({ id }) => id)).toEqual(['older']);
});

test('an id that is taken, and one that nobody has, are refused by name', async () => {
  const store = memoryStore();
  await store.create('a', { id: 's' });
  expect(() => store.create('a', { id: 's' })).toThrow(/"s" exists/);
  expect(() => store.load('none')).toThrow(/no session "none"/);
  await store.delete('s');
  expect(() => store.load('s')).toThrow(/no session "s"/);
});

test('a snapshot is a copy', async () => {
  const session = await memoryStore().create('a', { id: 's' });
  session.append(update(1, { list: [1] }));
  const snapshot = await session.snapshot();
  (snapshot.state.list as number[]).push(2);
  snapshot.events.pop();
  expect(session.state).toEqual({ list: [1] });
  expect(await all(session.events)).toHaveLength(1);
});
