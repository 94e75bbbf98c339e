import { expect, test } from 'vitest';
import type { AgentEvent, ModelInterface } from '../../src/contracts/index.js';
import { agent, createHost, memoryStore, parallel, sequential } from '../../src/index.js';
import { scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import {
  collect,
  consumerTool,
  deferred,
  leaf,
  logOf,
  ofType,
  readAll,
  settle,
  textIn,
  textResult,
  typesOf,
} from '../support/team.js';
import { asker, call, until } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

/** What a reader shows that keeps the pieces of each message, and starts it again where it is told to. */
function shown(events: readonly AgentEvent[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const event of ofType(events, 'message')) {
    if (event.role !== 'agent') continue;
    const key = `${event.threadId ?? '-'} ${event.messageId}`;
    const text = event.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    texts.set(key, event._meta?.replace === true ? text : (texts.get(key) ?? '') + text);
  }
  return texts;
}

/** Without what is live only, or in the log only. */
const inBoth = (events: readonly AgentEvent[]) =>
  events.filter((event) => event.type !== 'tool_update' && event.type !== 'custom');

/** Text piece by piece, a macrotask between two. */
const slowly = (...pieces: string[]): ModelInterface => ({
  generate: () => Promise.reject(new Error('streams only')),
  async *generateStream() {
    for (const piece of pieces) {
      yield { content: [{ type: 'text', text: piece }] };
      await settle(1);
    }
    yield { content: [], finishReason: 'stop' };
  },
});

test('attaching at any position of a streaming run leaves no gap and doubles nothing', async () => {
  const pieces = ['a', 'b', 'c', 'd', 'e', 'f'];
  const team = () =>
    sequential({
      name: 's',
      children: [
        parallel({ name: 'p', children: [agent({ name: 'x', model: 'slow' }), agent({ name: 'y', model: 'slow' })] }),
        agent({ name: 'z', model: 'slow' }),
      ],
    });
  const whole = await (async () => {
    await using host = createHost({ models: { slow: slowly(...pieces) } });
    return collect(host.run(team(), 'go'));
  })();
  // One attaches once so many events have been published, another knows as many of them already.
  for (let at = 0; at <= whole.length; at++) {
    await using host = createHost({ models: { slow: slowly(...pieces) } });
    const run = host.run(team(), 'go');
    const seen: AgentEvent[] = [];
    const attached: Promise<AgentEvent[]>[] = [];
    let known: AgentEvent[] = [];
    const join = () => {
      known = seen.slice();
      const after = known.at(-1)?.seq ?? 0;
      attached.push(readAll(host.attach(run.sessionId)), readAll(host.attach(run.sessionId, { after })));
    };
    if (at === 0) join();
    for await (const event of run) {
      seen.push(event);
      if (seen.length === at) join();
    }
    const [fromStart, after] = await Promise.all(attached);
    expect(validateLog(fromStart!, { finished: true })).toEqual([]);
    expect(shown(fromStart!)).toEqual(shown(seen));
    const logged = (events: readonly AgentEvent[]) =>
      events.filter((event) => event.type !== 'message' && event.type !== 'custom').map((event) => event.id);
    expect(logged(fromStart!)).toEqual(logged(seen));
    expect(logged(after!)).toEqual(logged(seen.slice(known.length)));
    expect(shown([...known, ...after!])).toEqual(shown(seen));
    expect(after!.every((event) => event.seq > (known.at(-1)?.seq ?? 0))).toBe(true);
  }
});

test('a message in flight comes as one event that replaces what was shown of it, then its pieces', async () => {
  const gate = deferred();
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      yield { content: [{ type: 'text', text: 'Hel' }] };
      yield { content: [{ type: 'text', text: 'lo' }] };
      await gate.promise;
      yield { content: [{ type: 'text', text: '!' }], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go');
  await settle();
  const reading = collect(host.attach(run.sessionId));
  await settle();
  gate.resolve();
  const agentMessages = ofType(await reading, 'message').filter((event) => event.role === 'agent');
  expect(agentMessages).toMatchObject([
    { content: [{ text: 'Hello' }], seq: 4, _meta: { replace: true, firstSeq: 3 } },
    { content: [{ text: '!' }], seq: 5 },
  ]);
  expect(agentMessages[1]!._meta).toBeUndefined();
});

test('a message that lies around the position is given again from its start, to replace what was shown', async () => {
  await using host = createHost({ models: { slow: slowly('Hel', 'lo', '!') } });
  const run = host.run(agent({ name: 'a', model: 'slow' }), 'go');
  const live = await collect(run);
  const middle = ofType(live, 'message').find((event) => textIn([event]) === 'lo')!;
  const again = await readAll(host.attach(run.sessionId, { after: middle.seq }));
  expect(again).toMatchObject([
    { type: 'message', messageId: middle.messageId, content: [{ text: 'Hello!' }], _meta: { replace: true } },
    { type: 'stream_end' },
  ]);
});

test('a position is a seq or the id of a logged event; any other id is refused', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  await collect(session.stream(message()).stream);
  const log = await collect(host.attach(session.sessionId));
  for (const event of log) {
    const rest = log.slice(log.indexOf(event) + 1);
    expect(await readAll(host.attach(session.sessionId, { after: event.id }))).toEqual(rest);
    expect(await readAll(host.attach(session.sessionId, { after: event.seq }))).toEqual(rest);
  }
  // B185: the id of another session's event is no position here, live or stored.
  const other = host.session(leaf('a'));
  const foreign = (await collect(other.stream(message()).stream)).at(-1)!;
  await expect(readAll(host.attach(session.sessionId, { after: foreign.id }))).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  });
  await session.close();
  await expect(readAll(host.attach(session.sessionId, { after: foreign.id }))).rejects.toMatchObject({
    code: 'INVALID_OPTION',
  });
  await expect(readAll(host.attach('nosuch'))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
});

test('a session that has ended is read from its log, and the reader ends', async () => {
  const store = memoryStore();
  const model = scriptedModel([{ text: ['a', 'b'] }]);
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(leaf('a'), 'go');
  await run.result;
  const events = await collect(host.attach(run.sessionId));
  expect(events).toEqual(await logOf(store, run.sessionId));
  expect(await readAll(host.attach(run.sessionId, { after: events.at(-1)!.seq }))).toEqual([]);
  // Any process that can open the store can read it.
  await using second = createHost({ models: { scripted: model }, store });
  expect(await collect(second.attach(run.sessionId))).toEqual(events);
});

test('a reader of a standing session ends with the run if no other follows, and is there for the next if one does', async () => {
  const clock = virtualClock();
  const model = scriptedModel((_, at) => (at === 0 ? new Promise<never>(() => {}) : { text: 'ok' }));
  await using host = createHost({ models: { scripted: model }, clock });
  const session = host.session(leaf('a'));
  const first = session.stream(message());
  const reading = collect(host.attach(session.sessionId));
  await settle();
  first.controller.abort();
  const second = session.stream(message('again'));
  const all = Promise.all([readAll(first.stream), readAll(second.stream)]);
  await clock.advance(5_000);
  await all;
  const events = await reading;
  expect(ofType(events, 'stream_end').map((event) => event.reason)).toEqual(['aborted', 'completed']);
  // Between two runs there is only the past.
  const past = await collect(host.attach(session.sessionId));
  // That a caller stopped it stands in the log alone; whoever reads along is shown the end that it leads to.
  const isStop = (event: AgentEvent) => event.type === 'custom' && event.kind === 'stop';
  expect(past.filter(isStop)).toHaveLength(1);
  expect(events.filter(isStop)).toEqual([]);
  expect(typesOf(past.filter((event) => !isStop(event)))).toEqual(typesOf(events));
});

test('one attaches while the session waits, and sees what the answer causes', async () => {
  const model = scriptedModel([{ toolCalls: [{ id: 'x', name: 'mine', args: {} }] }, { text: 'done' }]);
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'), { tools: [consumerTool('mine')], permissionMode: 'autonomous' });
  const first = await readAll(session.stream(message()).stream);
  const reading = collect(host.attach(session.sessionId));
  await settle();
  const second = await readAll(session.stream({ kind: 'tool_result', requestId: 'x', result: textResult('X') }).stream);
  expect(inBoth(await reading).map((event) => event.seq)).toEqual(
    inBoth([...first, ...second]).map((event) => event.seq),
  );
});

test('an observer is somebody to ask; without one, and without a consumer, a question is denied', async () => {
  const asking = agent({ name: 'a', tools: [asker('ask')] });
  const watched = scriptedModel([call('ask'), { text: 'done' }]);
  await using host = createHost({ models: { scripted: watched } });
  const run = host.run(asking, 'go');
  const reading = collect(host.attach(run.sessionId));
  await until(() => run.state().pending.length === 1);
  run.respond(run.state().pending[0]!.requestId, { action: 'accept' });
  expect(ofType(await reading, 'elicitation_response')).toMatchObject([{ action: 'accept' }]);
  const alone = scriptedModel([call('ask'), { text: 'done' }]);
  await using other = createHost({ models: { scripted: alone } });
  const unseen = other.run(asking, 'go');
  expect(await unseen.result).toMatchObject({ ok: true });
  const events = await collect(other.attach(unseen.sessionId));
  expect(ofType(events, 'elicitation_request')).toEqual([]);
  expect(ofType(events, 'custom')).toMatchObject([
    {},
    { data: { code: 'NOBODY_TO_ASK', text: expect.stringContaining('nobody iterates or observes') } },
  ]);
});

test('many observers see the same, and one that leaves leaves nothing behind', async () => {
  await using host = createHost({ models: { slow: slowly(...'abcdefgh') } });
  const run = host.run(agent({ name: 'a', model: 'slow' }), 'go');
  const readers = Array.from({ length: 10 }, () => collect(host.attach(run.sessionId)));
  const leaver = (async () => {
    for await (const event of host.attach(run.sessionId)) if (textIn([event]) === 'c') return 'left';
    return 'read to the end';
  })();
  const consumed = await collect(run);
  for (const reader of readers) expect(shown(await reader)).toEqual(shown(consumed));
  expect(await leaver).toBe('left');
});

test('an observer that falls far behind goes on from the log and misses no message', async () => {
  const store = memoryStore();
  const count = 20_000;
  const flood: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      for (let at = 0; at < count; at++) yield { content: [{ type: 'text', text: 'x' }] };
      yield { content: [], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { flood }, store });
  const team = sequential({
    name: 's',
    children: [agent({ name: 'a', model: 'flood' }), agent({ name: 'b', model: 'flood' })],
  });
  const run = host.run(team, 'go');
  const observer = host.attach(run.sessionId)[Symbol.asyncIterator]();
  const events: AgentEvent[] = [];
  for (let step = 0; step < 3; step++) events.push((await observer.next()).value);
  await run.result;
  for (let step = await observer.next(); !step.done; step = await observer.next()) events.push(step.value);
  expect(validateLog(events, { finished: true })).toEqual([]);
  expect([...shown(events).values()].filter((text) => text.startsWith('x')).map((text) => text.length)).toEqual([
    count,
    count,
  ]);
  // It was not given every piece.
  expect(events.length).toBeLessThan(count);
});

/** As fast as it can: nothing in it waits. */
const flooding = (count: number): ModelInterface => ({
  generate: () => Promise.reject(new Error('streams only')),
  async *generateStream() {
    for (let at = 0; at < count; at++) yield { content: [{ type: 'text', text: `${at} ` }] };
    yield { content: [], finishReason: 'stop' };
  },
});

test('ten observers of a run that waits for nothing are given all that its consumer is, most of it after its end', async () => {
  await using host = createHost({ models: { flood: flooding(10_000) } });
  const run = host.run(agent({ name: 'a', model: 'flood' }), 'go');
  let seen = 0;
  const observing = Array.from({ length: 10 }, async () => {
    const events: AgentEvent[] = [];
    for await (const event of host.attach(run.sessionId)) {
      seen++;
      events.push(event);
    }
    return events;
  });
  const consumed = await readAll(run);
  await run.result;
  expect(seen).toBeLessThan(10 * 1_000);
  for (const events of await Promise.all(observing)) {
    expect(events.map((event) => event.id)).toEqual(consumed.map((event) => event.id));
    expect(textIn(events)).toBe(textIn(consumed));
  }
});

test('an observer that is asked ahead answers in order, and one that is left while it waits ends at once', async () => {
  const gate = deferred();
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      await gate.promise;
      yield { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go');
  const ahead = host.attach(run.sessionId)[Symbol.asyncIterator]();
  const asked = Array.from({ length: 8 }, () => ahead.next());
  const left = host.attach(run.sessionId)[Symbol.asyncIterator]();
  const before = [await left.next(), await left.next()].map((step) => step.value?.type);
  expect(before).toEqual(['initialize', 'message']);
  const waiting = left.next();
  expect(await left.return?.()).toEqual({ done: true, value: undefined });
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(await left.next()).toEqual({ done: true, value: undefined });
  gate.resolve();
  const consumed = await collect(run);
  const steps = await Promise.all(asked);
  const events = steps.flatMap((step) => (step.done ? [] : [step.value]));
  expect(events.map((event) => event.seq)).toEqual(consumed.map((event) => event.seq));
  expect(steps.at(-1)).toEqual({ done: true, value: undefined });
});

test('an observer that is left before it was asked, or told of an error, holds nothing and asks for nothing', async () => {
  const model = scriptedModel([{ text: 'ok' }]);
  await using host = createHost({ models: { scripted: model } });
  const run = host.run(leaf('a'), 'go');
  const unread = host.attach(run.sessionId)[Symbol.asyncIterator]();
  expect(await unread.return?.()).toEqual({ done: true, value: undefined });
  expect(await unread.next()).toEqual({ done: true, value: undefined });
  const broken = host.attach(run.sessionId)[Symbol.asyncIterator]();
  await broken.next();
  await expect(broken.throw?.(new Error('enough'))).rejects.toThrow('enough');
  expect(await broken.next()).toEqual({ done: true, value: undefined });
  // A refusal is told once; behind it is the end.
  const refused = host.attach(run.sessionId, { after: 'nosuch' })[Symbol.asyncIterator]();
  await expect(refused.next()).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  expect(await refused.next()).toEqual({ done: true, value: undefined });
  await run.result;
});
