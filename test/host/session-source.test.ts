import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/contracts/index.js';
import { memoryStore } from '../../src/index.js';
import { leaf, logOf, readAll, refusalOf } from '../support/team.js';
import { hostWith } from '../support/teams.js';

async function spoken() {
  const store = memoryStore();
  const one = hostWith({ a: [{ text: 'first' }, { text: 'second' }, { text: 'third' }] }, { store });
  const { sessionId } = await one.host.run(leaf('a'), 'one').result;
  return { ...one, store, sessionId };
}

const say = (content: string) => ({ kind: 'message' as const, content });

test('forkSession goes on with a copy: it knows the past, and the source stays as it is', async () => {
  const { host, model, store, sessionId } = await spoken();
  const before = await logOf(store, sessionId);
  const session = host.session(leaf('a'));
  const events = await readAll(session.stream(say('two'), { sessionRef: sessionId, forkSession: true }).stream);
  expect(session.sessionId).not.toBe(sessionId);
  expect(events[0]).toMatchObject({ type: 'initialize', resumed: true });
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('first');
  expect(await logOf(store, sessionId)).toEqual(before);
  // What comes next goes on with the copy.
  await readAll(session.stream(say('three')).stream);
  expect(JSON.stringify(model.requests[2]?.messages)).toContain('second');
  await host.close();
});

test('a snapshot as sessionRef is a session of its own with that past, in another store too', async () => {
  const { host, store, sessionId } = await spoken();
  const snapshot = JSON.parse(JSON.stringify(await (await store.load(sessionId)).snapshot()));
  await host.close();
  const other = hostWith({ a: [{ text: 'again' }] });
  const session = other.host.session(leaf('a'));
  await readAll(session.stream(say('two'), { sessionRef: snapshot }).stream);
  expect(JSON.stringify(other.model.requests[0]?.messages)).toContain('first');
  await other.host.close();
});

test('the copy is for the user of the source only; of a snapshot, for whoever makes it', async () => {
  const { host, store, sessionId } = await spoken();
  const own = host.session(leaf('a'), { userId: 'ann' });
  await readAll(own.stream(say('hers')).stream);
  const refused = host.session(leaf('a'), { userId: 'bob' });
  const fork = { sessionRef: own.sessionId, forkSession: true };
  expect(await refusalOf(refused.stream(say('two'), fork).stream)).toBe('SESSION_NOT_FOUND');
  expect((await host.list()).map(({ id }) => id).sort()).toEqual([sessionId, own.sessionId].sort());
  const snapshot = await (await store.load(sessionId)).snapshot();
  const copy = host.session(leaf('a'), { userId: 'bob' });
  await readAll(copy.stream(say('two'), { sessionRef: snapshot }).stream);
  expect((await store.load(copy.sessionId)).head?.metadata.userId).toBe('bob');
  await host.close();
});

test('what is no source is refused, and nothing is made', async () => {
  const { host, store, sessionId } = await spoken();
  const session = () => host.session(leaf('a'));
  const bad = { id: 'x', agentName: 'a', events: [{ type: 'message' }], state: {} };
  for (const [options, code] of [
    [{ forkSession: true }, 'INVALID_OPTION'],
    [{ sessionRef: bad }, 'INVALID_OPTION'],
    [{ sessionRef: { id: 'x' } }, 'INVALID_OPTION'],
    [{ sessionRef: 'nobody', forkSession: true }, 'SESSION_NOT_FOUND'],
  ] as const) {
    expect(await refusalOf(session().stream(say('x'), options as never).stream as AsyncGenerator<AgentEvent>)).toBe(
      code,
    );
  }
  expect((await store.list()).map(({ id }) => id)).toEqual([sessionId]);
  await host.close();
});
