import { afterEach, expect, test } from 'vitest';
import type { AgentEvent, SessionProvider, SessionSummary } from '../../src/contracts/index.js';
import { createHost } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { watchingStore } from '../../src/studio/store-watch.js';
import type { LogPage, Overview } from '../../src/studio/wire.js';
import { scriptedModel, virtualClock } from '../../src/testing/index.js';
import { readEventStream } from '../support/event-stream.js';
import { leaf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function newHost(store: SessionProvider, text: string) {
  const host = createHost({ models: { scripted: scriptedModel(() => ({ text })) }, store, agents: [leaf('a')] });
  closing.push(() => host.close());
  return host;
}

/** A host that only looks, and another one that writes the same store, as one of another process does. */
async function twoHosts() {
  const store = memoryStore();
  const { url } = await newHost(store, 'here').inspectServer();
  const at = (path: string) => {
    const address = new URL(path, url);
    address.searchParams.set('token', new URL(url).searchParams.get('token') ?? '');
    return address;
  };
  const get = async <Data>(path: string) => (await (await fetch(at(path))).json()) as Data;
  const read = async <Data>(path: string) => {
    const stream = await readEventStream<Data>(at(path));
    closing.push(() => stream.close());
    return stream;
  };
  return { other: newHost(store, 'elsewhere'), get, read };
}

test('sessions that others begin, go on with, fork and delete are told to whoever looks at the list', async () => {
  const { other, read } = await twoHosts();
  const { messages } = await read<Overview>('/api/overview/stream');
  type Sessions = Overview['hosts'][0]['sessions'];
  const until = async (holds: (sessions: Sessions) => boolean) => {
    for (;;) {
      const step = await messages.next();
      if (step.done) throw new Error('the stream has ended');
      const [host] = step.value.data.hosts;
      if (host !== undefined && holds(host.sessions)) return host.sessions;
    }
  };
  await until((sessions) => sessions.length === 0);
  const { sessionId } = await other.run(leaf('a'), 'go').result;
  const { eventCount: before = 0 } = (await until((sessions) => sessions.length === 1))[0] ?? {};
  await other.run(leaf('a'), 'more', { sessionId }).result;
  await until(([session]) => (session?.eventCount ?? 0) > before);
  const fork = await other.fork(sessionId);
  await until((sessions) => sessions.length === 2);
  await other.delete(sessionId);
  await until((sessions) => sessions.length === 1 && sessions[0]?.id === fork.sessionId);
});

test('a session that others go on with, take back and delete is followed: nothing is left out, nothing comes twice', async () => {
  const { other, get, read } = await twoHosts();
  const { sessionId } = await other.run(leaf('a'), 'one').result;
  const { messages } = await read<readonly AgentEvent[]>(`/api/sessions/1/${sessionId}/stream`);
  const events: AgentEvent[] = [];
  const untilRuns = async (count: number) => {
    while (events.filter(({ type }) => type === 'stream_end').length < count) {
      const step = await messages.next();
      if (step.done) throw new Error('the stream has ended');
      expect(step.value.name).toBe('events');
      events.push(...step.value.data);
    }
    const seqs = events.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
  };
  await untilRuns(1);
  const end = events.at(-1)?.seq ?? 0;
  await other.run(leaf('a'), 'two', { sessionId }).result;
  await untilRuns(2);
  expect(JSON.stringify(events)).toContain('two');
  await other.rewind(sessionId, { to: end });
  await other.run(leaf('a'), 'three', { sessionId }).result;
  for await (const { name } of messages) if (name === 'resync') break;
  const { events: logged } = await get<LogPage>(`/api/sessions/1/${sessionId}/log`);
  expect(logged.slice(0, 2)).toEqual(events.slice(0, 2));
  expect(JSON.stringify(logged)).toContain('three');
  expect(JSON.stringify(logged)).not.toContain('two');
  await other.delete(sessionId);
  for await (const { name, data } of messages) {
    if (name !== 'resync') continue;
    expect(data).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    break;
  }
});

test('the store is looked into while somebody listens, the more rarely the longer a look takes, and not after', async () => {
  const clock = virtualClock();
  let looks = 0;
  let [lookMs, lateMs] = [0, 0];
  const sessions: SessionSummary[] = [];
  const list = async () => {
    looks++;
    lateMs += lookMs;
    return [...sessions];
  };
  const inspection = watchingStore({ host: { list }, open: () => [], onChange: () => () => {} } as never, {
    now: () => clock.now() + lateMs,
    schedule: (task, ms) => clock.schedule(task, ms),
  });
  const told: string[] = [];
  const off = inspection.onChange((id) => told.push(id));
  const offOther = inspection.onChange(() => {});
  const pass = async (seconds: number) => {
    for (let at = 0; at < seconds; at++) await clock.advance(1_000);
    return looks;
  };
  expect(await pass(5)).toBe(6);
  sessions.push({ id: 's', agentName: 'a', lastUpdateTime: 't', eventCount: 1 });
  await pass(5);
  expect(told).toEqual(['s']);
  lookMs = 200;
  await pass(1);
  looks = 0;
  expect(await pass(12)).toBe(2);
  off();
  expect(await pass(12)).toBe(4);
  offOther();
  expect(await pass(60)).toBe(4);
});
