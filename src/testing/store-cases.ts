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

async function readAll(handle: Pick<SessionHandle, 'events'>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of handle.events) events.push(event);
  return events;
}

const hasCode = (code: string) => (thrown: unknown) => {
  strictEqual((thrown as { code?: unknown } | null)?.code, code);
  return true;
};

/** As a promise, whether the store answers at once or later, throws or rejects. */
const of = async <T>(act: () => T | Promise<T>): Promise<T> => act();

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
      deepStrictEqual(
        (await readAll(handle)).map(({ seq }) => seq),
        [1, 2, 3, 5, 9],
      );
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
    name: 'appends that are not waited for are kept in order',
    async run(make) {
      const handle = await (await make()).create('desk', { id: 's1' });
      const all = Array.from({ length: 100 }, (_, index) => of(() => handle.append(note(index + 1))));
      await Promise.all(all);
      deepStrictEqual(
        (await readAll(handle)).map(({ seq }) => seq),
        Array.from({ length: 100 }, (_, index) => index + 1),
      );
      await handle.close();
    },
  },
  {
    name: 'an unknown session is SESSION_NOT_FOUND, to load and to delete',
    async run(make) {
      const store = await make();
      await rejects(
        of(() => store.load('nobody')),
        hasCode('SESSION_NOT_FOUND'),
      );
      await rejects(
        of(() => store.delete('nobody')),
        hasCode('SESSION_NOT_FOUND'),
      );
    },
  },
  {
    name: 'an id that exists is refused with SESSION_EXISTS, and what it holds stays',
    async run(make) {
      const store = await make();
      const handle = await store.create('desk', { id: 's1' });
      await handle.append(note(1));
      await rejects(
        of(() => store.create('other', { id: 's1' })),
        hasCode('SESSION_EXISTS'),
      );
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
      await rejects(
        of(() => store.load('s1')),
        hasCode('SESSION_NOT_FOUND'),
      );
      const anew = await store.create('desk', { id: 's1' });
      deepStrictEqual(await readAll(anew), []);
      await anew.close();
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
      const update = (seq: number, stateDelta: object, more: object = {}): AgentEvent =>
        ({ ...note(seq), type: 'session_update', stateDelta, ...more }) as AgentEvent;
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
]);
