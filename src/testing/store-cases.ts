import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';
import type { AgentEvent, SessionHandle, SessionProvider } from '../contracts/index.js';
import { bounded, type ConformanceCase } from './conformance.js';

/** Makes an empty store. */
export type MakeStore = () => SessionProvider | Promise<SessionProvider>;
export type StoreCase = ConformanceCase<MakeStore>;

const note = (seq: number, more: object = {}): AgentEvent => ({
  id: `e${seq}`,
  timestamp: new Date(Date.UTC(2026, 0, 1) + seq).toISOString(),
  seq,
  type: 'custom',
  kind: 'note',
  data: { seq },
  ...more,
});

const update = (seq: number, stateDelta: object, more: object = {}): AgentEvent =>
  ({ ...note(seq), type: 'session_update', stateDelta, ...more }) as AgentEvent;

async function readAll(handle: Pick<SessionHandle, 'events'>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of handle.events) events.push(event);
  return events;
}

const seqsOf = async (handle: Pick<SessionHandle, 'events'>) => (await readAll(handle)).map(({ seq }) => seq);

const hasCode = (code: string) => (thrown: unknown) => {
  strictEqual((thrown as { code?: unknown } | null)?.code, code);
  return true;
};

/** As a promise, whether the store answers at once or later, throws or rejects. */
const of = async <T>(act: () => T | Promise<T>): Promise<T> => act();

const refused = (code: string, act: () => unknown): Promise<void> => rejects(of(act), hasCode(code));

/** What every session store must do. */
export const storeCases: readonly StoreCase[] = bounded([
  {
    name: 'what was appended is read back, event by event, unchanged',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      const events = [
        note(1),
        note(2, { data: { text: 'ünï\u2028cödé\u0000"\\', list: [1, null, { deep: true }] } }),
        note(3),
      ];
      for (const event of events) await handle.append(event);
      deepStrictEqual(await readAll(handle), events);
      await handle.close();
      const again = await store.load('s1');
      strictEqual(again.lastUpdateTime, note(3).timestamp);
      deepStrictEqual(await readAll(again), events);
      deepStrictEqual([again.id, again.agentName], ['s1', 'desk']);
      await again.close();
    },
  },
  {
    name: 'events are read in the order of seq, in whatever order they came',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      for (const seq of [2, 5, 3, 9, 1]) await handle.append(note(seq));
      deepStrictEqual(await seqsOf(handle), [1, 2, 3, 5, 9]);
      await handle.close();
    },
  },
  {
    name: 'an event that is appended twice is stored once, side by side too',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      await Promise.all([of(() => handle.append(note(1))), of(() => handle.append(note(1)))]);
      await handle.append(note(2));
      await handle.append(note(1));
      deepStrictEqual(
        (await readAll(handle)).map(({ id }) => id),
        ['e1', 'e2'],
      );
      await handle.close();
    },
  },
  {
    name: 'an event with no place in a log is refused, alone: its seq is a whole number above 0',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      for (const seq of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, undefined, '2']) {
        await rejects(
          of(() => handle.append(note(2, { seq }))),
          hasCode('INVALID_OPTION'),
        );
      }
      await handle.append(note(2));
      await handle.close();
      deepStrictEqual(
        (await readAll(await store.load('s1'))).map(({ seq }) => seq),
        [1, 2],
      );
    },
  },
  {
    name: 'appends that are not waited for are kept in order',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      const all = Array.from({ length: 100 }, (_, index) => of(() => handle.append(note(index + 1))));
      await Promise.all(all);
      deepStrictEqual(
        await seqsOf(handle),
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
      await handle.close();
    },
  },
  {
    name: 'behind an append that failed every other fails, until the session is opened anew: a log has no holes',
    async run(make) {
      const store = await make();
      const first = await store.create('desk', { id: 's1' });
      await first.append(note(1));
      await first.close();
      const handle = await store.load('s1');
      const endless: { again?: unknown } = {};
      endless.again = endless;
      // As text it has no end: what stores text fails here, and what keeps objects need not.
      const appends = [note(2, { data: endless }), note(3), note(4)].map((event) => of(() => handle.append(event)));
      const outcomes = (await Promise.allSettled(appends)).map(({ status }) => status);
      const hasFailed = outcomes[0] === 'rejected';
      deepStrictEqual(outcomes, Array(3).fill(outcomes[0]));
      if (hasFailed) await rejects(of(() => handle.append(note(2))));
      await of(() => handle.close()).catch(() => {});
      const again = await store.load('s1');
      deepStrictEqual(await seqsOf(again), hasFailed ? [1] : [1, 2, 3, 4]);
      if (hasFailed) await again.append(note(2));
      await again.close();
    },
  },
  {
    name: 'an unknown session is SESSION_NOT_FOUND, to load and to delete',
    async run(make) {
      const store = await make();
      await refused('SESSION_NOT_FOUND', () => store.load('nobody'));
      await refused('SESSION_NOT_FOUND', () => store.delete('nobody'));
    },
  },
  {
    name: 'what is no session id is refused with INVALID_SESSION_ID, whatever is asked for by it',
    async run(make) {
      const store = await make();
      await (await store.create('desk', { id: 's1' })).close();
      for (const id of ['../x', 'a/b', 'C:\\x', 'CON', 'nul.txt', '.', '..', 'a..b', '', 'x'.repeat(200), 'a\u0000b']) {
        const asked = [
          () => store.create('desk', { id }),
          () => store.load(id),
          () => store.delete(id),
          ...(store.fork === undefined ? [] : [() => store.fork?.(id), () => store.fork?.('s1', { id })]),
        ];
        for (const ask of asked) await refused('INVALID_SESSION_ID', ask);
      }
    },
  },
  {
    name: 'an id that exists is refused with SESSION_EXISTS, and what it holds stays',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      await refused('SESSION_EXISTS', () => store.create('other', { id: 's1' }));
      strictEqual((await readAll(handle)).length, 1);
      await handle.close();
    },
  },
  {
    name: 'ids are made where none is given, each another',
    async run(make) {
      const store = await make();
      const handles = [await store.create('desk'), await store.create('desk')];
      strictEqual(new Set(handles.map(({ id }) => id)).size, 2);
      for (const handle of handles) await handle.close();
    },
  },
  {
    name: 'the list is newest first, with names, times and counts, scoped by agent, application and user',
    async run(make) {
      const store = await make();
      const add = async (id: string, agentName: string, seq: number, more: object) => {
        const handle = await store.create(agentName, { id, ...more });
        await handle.append(note(seq));
        await handle.append(note(seq + 1));
        await handle.close();
      };
      await add('s1', 'desk', 10, { appName: 'one', userId: 'ann', title: 'First' });
      await add('s2', 'desk', 30, { appName: 'one', userId: 'bob' });
      await add('s3', 'other', 20, { appName: 'two', userId: 'ann' });
      const ids = async (...scope: Parameters<SessionProvider['list']>) =>
        (await store.list(...scope)).map(({ id }) => id);
      deepStrictEqual(await ids(), ['s2', 's3', 's1']);
      deepStrictEqual(await ids('desk'), ['s2', 's1']);
      deepStrictEqual(await ids(undefined, { appName: 'one' }), ['s2', 's1']);
      deepStrictEqual(await ids(undefined, { userId: 'ann' }), ['s3', 's1']);
      deepStrictEqual(await ids('desk', { appName: 'one', userId: 'ann' }), ['s1']);
      const [summary] = await store.list('desk', { userId: 'ann' });
      deepStrictEqual(
        [summary?.agentName, summary?.title, summary?.eventCount, summary?.lastUpdateTime],
        ['desk', 'First', 2, note(11).timestamp],
      );
    },
  },
  {
    name: 'a deleted session is gone; its id can be used anew, empty',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      await handle.close();
      await store.delete('s1');
      deepStrictEqual(await store.list(), []);
      await refused('SESSION_NOT_FOUND', () => store.load('s1'));
      const anew = await store.create('desk', { id: 's1' });
      deepStrictEqual(await readAll(anew), []);
      await anew.close();
    },
  },
  {
    name: 'a handle of a session that was deleted writes nothing, not in the one that took its id either',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      await handle.close();
      await store.delete('s1');
      await refused('SESSION_NOT_FOUND', () => handle.append(note(2)));
      const anew = await store.create('desk', { id: 's1' });
      for (const seq of [5, 6]) await anew.append(note(seq));
      await anew.close();
      await rejects(of(() => handle.append(note(2))));
      deepStrictEqual(await seqsOf(await store.load('s1')), [5, 6]);
    },
  },
  {
    name: 'a snapshot is a copy: nothing of the store changes with it',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      await handle.append(note(1));
      const snapshot = await handle.snapshot();
      deepStrictEqual([snapshot.id, snapshot.agentName, snapshot.events.length], ['s1', 'desk', 1]);
      (snapshot.events[0] as { data?: unknown }).data = 'changed';
      snapshot.events.push(note(2));
      deepStrictEqual(await readAll(handle), [note(1)]);
      await handle.close();
    },
  },
  {
    name: 'state is what the last updates of the root say',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      await handle.append(update(1, { a: 1, b: 1 }));
      await handle.append(update(2, { a: 2 }, { threadId: 'child_1' }));
      await handle.append(update(3, { b: 3 }));
      deepStrictEqual({ ...handle.state }, { a: 1, b: 3 });
      await handle.close();
    },
  },
  {
    name: 'sessions do not see each other, nor do two stores',
    async run(make) {
      const [one, two] = [await make(), await make()];
      const [s1, s2] = [await one.create('desk', { id: 's1' }), await one.create('desk', { id: 's2' })];
      await s1.append(note(1));
      await s2.append(note(1));
      await s2.append(note(2));
      strictEqual((await readAll(s1)).length, 1);
      deepStrictEqual(await two.list(), []);
      ok((await one.list()).length === 2);
      await s1.close();
      await s2.close();
    },
  },
  {
    name: 'a session has one writer until that one closes; readers are never refused',
    async run(make) {
      const store = await make();
      const first = await store.create('desk', { id: 's1' });
      await first.append(note(1));
      const second = await store.load('s1');
      deepStrictEqual(await readAll(second), [note(1)]);
      const isNamed = (thrown: unknown) => hasCode('SESSION_LOCKED')(thrown) && /\d/.test((thrown as Error).message);
      await rejects(
        of(() => second.append(note(2))),
        isNamed,
      );
      await refused('SESSION_LOCKED', () => store.delete('s1'));
      await first.append(note(2));
      deepStrictEqual((await readAll(second)).length, 2);
      await first.close();
      await first.close();
      await second.append(note(3));
      await refused('SESSION_LOCKED', () => first.append(note(4)));
      await second.close();
      deepStrictEqual((await readAll(await store.load('s1'))).length, 3);
    },
  },
  {
    name: 'a handle that has not read what others wrote is refused with SESSION_STALE, and has written nothing',
    async run(make) {
      const store = await make();
      const first = await store.create('desk', { id: 's1' });
      await first.append(note(1));
      await first.close();
      const [one, two] = [await store.load('s1'), await store.load('s1')];
      await one.append(note(2));
      await one.close();
      await refused('SESSION_STALE', () => two.append(note(2, { id: 'another' })));
      deepStrictEqual((await readAll(two)).length, 2);
      await two.append(note(3));
      await two.close();
      deepStrictEqual(
        (await readAll(await store.load('s1'))).map(({ id }) => id),
        ['e1', 'e2', 'e3'],
      );
    },
  },
  {
    name: 'the head says where the log ends, and positions that were reserved stay taken',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1', userId: 'ann', plan: 'gold' });
      await handle.reserve?.(100);
      await handle.append(note(1));
      await handle.append(note(7));
      await handle.append(note(5));
      await handle.close();
      const again = await store.load('s1');
      deepStrictEqual([again.head?.lastSeq, again.head?.reservedSeq, again.head?.eventCount], [7, 100, 3]);
      deepStrictEqual([again.head?.metadata.userId, again.head?.metadata.plan], ['ann', 'gold']);
      await again.append(note(101));
      deepStrictEqual([again.head?.lastSeq, again.head?.reservedSeq], [101, 101]);
      deepStrictEqual(again.gaps, []);
      await again.close();
    },
  },
  {
    name: 'what is truncated is gone, and what is written then stands behind the rest',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      for (const event of [update(1, { a: 1 }), note(2), note(4), note(3), update(5, { a: 2 }), note(6)])
        await handle.append(event);
      await handle.truncate?.(3);
      deepStrictEqual(await seqsOf(handle), [1, 2, 3]);
      deepStrictEqual({ ...handle.state }, { a: 1 });
      await handle.append(note(9));
      await handle.close();
      const again = await store.load('s1');
      deepStrictEqual(await seqsOf(again), [1, 2, 3, 9]);
      deepStrictEqual({ ...again.state }, { a: 1 });
      deepStrictEqual([again.head?.lastSeq, again.head?.eventCount], [9, 4]);
      strictEqual((await store.list())[0]?.eventCount, 4);
      await again.close();
    },
  },
  {
    name: 'positions that were cut off are not given out again',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      for (const seq of [1, 2, 3]) await handle.append(note(seq));
      await handle.truncate?.(1);
      await handle.close();
      const again = await store.load('s1');
      deepStrictEqual([again.head?.lastSeq, again.head?.reservedSeq], [1, 3]);
      await again.close();
    },
  },
  {
    name: 'a fork holds the past up to its point; from there on the two share nothing',
    async run(make) {
      const store = await make();
      const source = await store.create('desk', { id: 's1', appName: 'one', userId: 'ann', title: 'First' });
      for (const event of [update(1, { a: 1 }), note(3), note(2), update(4, { a: 2 })]) await source.append(event);
      const before = await readAll(source);
      const fork = (await store.fork?.('s1', { at: 3, id: 's2' })) as SessionHandle;
      deepStrictEqual([fork.id, fork.agentName], ['s2', 'desk']);
      deepStrictEqual(await readAll(fork), before.slice(0, 3));
      deepStrictEqual({ ...fork.state }, { a: 1 });
      deepStrictEqual(fork.head?.forkedFrom, { id: 's1', at: 3 });
      deepStrictEqual([fork.head?.lastSeq, fork.head?.metadata.userId], [3, 'ann']);
      await fork.append(update(10, { a: 10 }));
      await source.append(note(5));
      await fork.truncate?.(2);
      await source.truncate?.(4);
      await fork.append(note(11));
      deepStrictEqual(await readAll(source), before);
      deepStrictEqual(await seqsOf(fork), [1, 2, 11]);
      deepStrictEqual({ ...source.state }, { a: 2 });
      await source.close();
      await fork.close();
      await store.delete('s1');
      strictEqual((await readAll(await store.load('s2'))).length, 3);
      deepStrictEqual((await store.list())[0]?.forkedFrom, { id: 's1', at: 3 });
    },
  },
  {
    name: 'a fork without a point or an id holds everything under an id of its own; a taken id is refused',
    async run(make) {
      const store = await make();
      const source = await store.create('desk', { id: 's1' });
      for (const seq of [1, 2]) await source.append(note(seq));
      const fork = (await store.fork?.('s1')) as SessionHandle;
      deepStrictEqual([fork.id === 's1', (await readAll(fork)).length], [false, 2]);
      await refused('SESSION_EXISTS', () => store.fork?.('s1', { id: 's1' }));
      await refused('SESSION_NOT_FOUND', () => store.fork?.('nobody'));
      await source.close();
      await fork.close();
    },
  },
  {
    name: 'a whole log is repaired by doing nothing',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      await handle.close();
      deepStrictEqual(await store.repair?.('s1'), { gaps: [], lastSeq: 1, eventCount: 1 });
      await refused('SESSION_NOT_FOUND', () => store.repair?.('nobody'));
    },
  },
  {
    name: 'keys of the application and of the user are shared by their sessions, those marked temporary are nobody’s',
    async run(make) {
      const store = await make();
      const s1 = await store.create('desk', { id: 's1', appName: 'one', userId: 'ann' });
      const s2 = await store.create('desk', { id: 's2', appName: 'one', userId: 'bob' });
      const s3 = await store.create('desk', { id: 's3', appName: 'two', userId: 'ann' });
      await s1.append(update(1, { 'app:n': 1, 'user:n': 1, n: 1, 'temp:n': 1 }));
      await s2.append(update(1, { 'app:n': 2, n: 2 }));
      deepStrictEqual({ ...s1.state }, { 'app:n': 2, 'user:n': 1, n: 1 });
      deepStrictEqual({ ...s2.state }, { 'app:n': 2, n: 2 });
      deepStrictEqual({ ...s3.state }, {});
      for (const handle of [s1, s2, s3]) await handle.close();
      deepStrictEqual({ ...(await store.load('s1')).state }, { 'app:n': 2, 'user:n': 1, n: 1 });
      const fourth = await store.create('desk', { id: 's4', appName: 'one', userId: 'ann' });
      deepStrictEqual({ ...fourth.state }, { 'app:n': 2, 'user:n': 1 });
      await fourth.close();
    },
  },
]);
