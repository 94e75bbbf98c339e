import { afterEach, expect, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import type { AgentEvent } from '../../src/contracts/index.js';
import { agent, createHost, graph, type HostOptions, parallel, sequential, tool } from '../../src/index.js';
import { toJson } from '../../src/studio/inspection-messages.js';
import type { InspectionMessage } from '../../src/studio/wire.js';
import { scriptedModel } from '../../src/testing/index.js';
import { readEventStream } from '../support/event-stream.js';
import { leaf } from '../support/team.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function newHost(byAgent: Record<string, unknown>, options: HostOptions = {}) {
  const host = createHost({
    models: { scripted: scriptedModel({ byAgent } as never) },
    elicitation: async () => ({ action: 'accept' }),
    ...options,
  });
  closing.push(() => host.close());
  return host;
}

const danger = tool({ name: 'danger', description: 'd', parameters: { type: 'object' }, execute: () => 'x' });
const team = sequential({
  name: 's',
  children: [parallel({ name: 'p', children: [agent({ name: 'a', tools: [danger] }), leaf('b')] }), leaf('c')],
});
const script = () => ({
  a: [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'A' }],
  b: [{ text: 'B' }],
  c: [{ text: 'C' }],
});

const machineOf = (event: InspectionEvent) =>
  (event.actorRef as { logic?: { config?: { id?: string } } }).logic?.config?.id ?? '';

test('the inspect option gets every event of XState of sessions, compositions and questions, unchanged', async () => {
  const seen: InspectionEvent[] = [];
  const host = newHost(script(), { inspect: (event) => seen.push(event) });
  expect((await host.run(team, 'go').result).ok).toBe(true);
  const of = (type: string) => new Set(seen.filter((event) => event.type === type).map(machineOf));
  for (const type of ['@xstate.actor', '@xstate.event', '@xstate.snapshot', '@xstate.microstep'])
    for (const machine of ['session', 'sequential', 'parallel', 'elicitation']) expect(of(type)).toContain(machine);
  const taken = seen.flatMap((event) =>
    event.type === '@xstate.microstep' && machineOf(event) === 'session' ? event._transitions : [],
  );
  expect(taken.map(({ eventType, source }) => `${source.key} ${eventType}`)).toContain('running turn.needsTools');
  expect(new Set(seen.map(({ rootId }) => rootId)).size).toBe(1);
});

test('an observer is an inspector too, such as one of Stately', async () => {
  const types: string[] = [];
  const host = newHost({ a: [{ text: 'A' }] }, { inspect: { next: ({ type }) => types.push(type) } });
  await host.run(leaf('a'), 'go').result;
  expect(types).toContain('@xstate.actor');
});

test('an inspector that throws breaks no run, and is left out with a notice', async () => {
  let calls = 0;
  const inspect = ({ type }: InspectionEvent) => {
    if (type !== '@xstate.microstep') return;
    calls++;
    throw new Error('no more');
  };
  const host = newHost(script(), { inspect });
  const run = host.run(team, 'go');
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  expect((await run.result).ok).toBe(true);
  expect(calls).toBe(1);
  const notices = events.flatMap((event) => (event.type === 'custom' && event.kind === 'notice' ? [event.data] : []));
  expect(notices).toContainEqual(expect.objectContaining({ code: 'INSPECT_FAILED' }));
});

async function inspected(host: ReturnType<typeof createHost>, query = '') {
  const { url } = await host.inspectServer();
  const at = new URL(url);
  const address = new URL(`/api/inspection/1?token=${at.searchParams.get('token')}${query}`, at);
  const stream = await readEventStream<InspectionMessage[]>(address);
  closing.push(async () => stream.close());
  return stream;
}

/** Reads until a root session has come to its end. */
async function untilEnded({ messages }: Awaited<ReturnType<typeof inspected>>, all: InspectionMessage[] = []) {
  for await (const { name, data } of messages) {
    expect(name).toBe('inspection');
    all.push(...data);
    if (all.some(({ type, snapshot, sessionId }) => type === '@xstate.snapshot' && isRootEnd(all, sessionId, snapshot)))
      return all;
  }
  return all;
}

const isRootEnd = (all: InspectionMessage[], id: string, snapshot: unknown) =>
  (snapshot as { value?: unknown }).value === 'ended' &&
  all.some(
    ({ type, sessionId, parentId, rootId }) => type === '@xstate.actor' && sessionId === id && parentId === rootId,
  );

test('who listens on the wire gets the same events in the form of an inspector of Stately, microsteps too', async () => {
  const host = newHost(script());
  const stream = await inspected(host);
  host.run(team, 'go');
  const all = await untilEnded(stream);
  const actors = all.filter(({ type }) => type === '@xstate.actor');
  const ids = new Set(actors.map(({ sessionId }) => sessionId));
  // A parent is known before its children, and an actor before what it does; the root was there before.
  for (const { parentId, rootId } of actors) expect(parentId === rootId || ids.has(parentId ?? '')).toBe(true);
  for (const message of all) {
    expect(message).toMatchObject({
      _version: expect.any(String),
      createdAt: expect.stringMatching(/^\d+$/),
      id: expect.any(String),
      rootId: expect.any(String),
    });
  }
  const definitions = actors.map(({ definition }) => JSON.parse(definition ?? '') as { id: string; states?: object });
  expect(definitions.find(({ id }) => id === 'session')?.states).toHaveProperty('awaitingElicitation');
  expect(definitions.map(({ id }) => id)).toEqual(expect.arrayContaining(['sequential', 'parallel', 'elicitation']));
  const steps = all.filter(({ type }) => type === '@xstate.microstep').flatMap(({ transitions }) => transitions ?? []);
  expect(steps).toContainEqual({
    eventType: 'turn.needsTools',
    source: 'session.running',
    target: ['session.awaitingTool'],
  });
  expect(all.some(({ type, event }) => type === '@xstate.event' && hasType(event, 'child.settled'))).toBe(true);
  expect(all.some(({ type }) => type === '@xstate.action')).toBe(true);
});

const hasType = (event: unknown, type: string) => (event as { type?: string } | undefined)?.type === type;

test('who comes in the middle is told first which actors there are', async () => {
  const waiting = agent({ name: 'a', tools: [danger] });
  const within = sequential({ name: 's', children: [parallel({ name: 'p', children: [waiting] })] });
  const host = newHost(
    { a: [{ toolCalls: [{ name: 'danger', args: {} }] }, { text: 'A' }] },
    { elicitation: 'respond' },
  );
  const run = host.run(within, 'go');
  for await (const event of host.attach(run.sessionId)) if (event.type === 'elicitation_request') break;
  for (const query of ['', `&session=${run.sessionId}`]) {
    const { messages } = await inspected(host, query);
    const { data } = (await messages.next()).value as { data: InspectionMessage[] };
    expect(data.every(({ type }) => type === '@xstate.actor')).toBe(true);
    const values = data.map(({ name, snapshot }) => [name, (snapshot as { value?: unknown }).value]);
    expect(values).toContainEqual([`${run.sessionId}/p_1.a_1`, 'awaitingElicitation']);
    const known = new Set<string>();
    for (const { sessionId, parentId } of data) {
      expect(parentId === undefined || known.has(parentId)).toBe(true);
      known.add(sessionId);
    }
  }
  const other = await inspected(host, '&session=another');
  run.abort('enough');
  await run.result;
  await host.run(leaf('a'), 'go', { sessionId: 'another' }).result;
  const { data } = (await other.messages.next()).value as { data: InspectionMessage[] };
  expect(data[0]).toMatchObject({ type: '@xstate.actor', name: 'another' });
});

test('a graph is inspected as the machine of its own that it is', async () => {
  const host = newHost({ a: [{ text: 'A' }], b: [{ text: 'B' }] });
  const stream = await inspected(host);
  const edges = [{ from: 'a', to: 'b' }];
  host.run(graph({ name: 'g', nodes: [leaf('a'), leaf('b')], edges, start: 'a', end: 'b' } as never), 'go');
  const all = await untilEnded(stream);
  const states = all.flatMap(({ definition = '{}' }) => {
    const { states: own = {} } = JSON.parse(definition) as { states?: { running?: { states?: object } } };
    return Object.keys((own as { running?: { states?: object } }).running?.states ?? {});
  });
  expect(states).toEqual(['a', 'b']);
});

test('what is said in JSON is cut, whatever it is made of', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const text = JSON.stringify(
    toJson({
      circle,
      long: 'x'.repeat(100_000),
      wide: Array.from({ length: 10_000 }, (_, at) => at),
      when: new Date(0),
      call() {},
      error: new TypeError('no'),
      big: 1n,
      not: Number.NaN,
      live: new Map([[1, 2]]),
      broken: {
        get now(): never {
          throw new Error('no');
        },
      },
    }),
  );
  expect(text.length).toBeLessThan(30_000);
  expect(JSON.parse(text)).toMatchObject({
    when: '1970-01-01T00:00:00.000Z',
    call: { type: 'call' },
    error: { name: 'TypeError', message: 'no' },
    big: '1',
    not: 'NaN',
    live: {},
    broken: '…',
  });
});
