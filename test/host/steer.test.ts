import { expect, test } from 'vitest';
import type { AgentEvent, Executor, ModelInterface, ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, memoryStore, parallel, sequential, transfer } from '../../src/index.js';
import { findBrokenPairs } from '../../src/kernel/history.js';
import { scriptedModel, validateLog, virtualClock } from '../../src/testing/index.js';
import {
  collect,
  deferred,
  leaf,
  logOf,
  ofType,
  readAll,
  refusalOf,
  settle,
  textIn,
  typesOf,
} from '../support/team.js';
import { call, endsIn, gate, hostWith, textsGiven, until } from '../support/teams.js';

const message = (content = 'go') => ({ kind: 'message' as const, content });

/** The texts of a request's messages, by role. */
const said = (request: ModelRequest) =>
  request.messages.map(
    ({ role, content }) =>
      `${role}: ${content.map((part) => (part.type === 'text' ? part.text : `<${part.type}>`)).join('')}`,
  );

const steered = (events: readonly AgentEvent[]) =>
  ofType(events, 'message').filter((event) => event._meta?.steered === true);

/** A model whose calls end when they are told to, or are aborted; each says `answer <n>` in two pieces. */
function heldModel() {
  const requests: ModelRequest[] = [];
  const gates: ReturnType<typeof deferred<void>>[] = [];
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream(request) {
      requests.push(request);
      const own = deferred();
      gates.push(own);
      yield { content: [{ type: 'text', text: 'answer ' }] };
      await new Promise<void>((resolve, reject) => {
        void own.promise.then(() => resolve());
        request.signal?.addEventListener('abort', () => reject(request.signal?.reason), { once: true });
      });
      yield { content: [{ type: 'text', text: String(requests.length) }], finishReason: 'stop' };
    },
  };
  return { model, requests, letGo: (at: number) => gates[at]?.resolve() };
}

test('words for a running agent stand in front of its next model request, and are shown where they do', async () => {
  const work = gate('work');
  const { host, model } = hostWith({ a: [call('work'), { text: 'done' }] });
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const reading = collect(run);
  await work.running;
  run.steer({ message: 'be brief' });
  work.open('result');
  const events = await reading;
  expect(said(model.requests[1]!)).toEqual([
    'user: go',
    'model: <function_call>',
    'user: <function_response>',
    'user: be brief',
  ]);
  expect(findBrokenPairs(model.requests[1]!.messages)).toEqual([]);
  const [receipt] = steered(events);
  expect(receipt).toMatchObject({ role: 'user', source: 'user', content: [{ type: 'text', text: 'be brief' }] });
  const response = ofType(events, 'tool_response')[0]!;
  const answer = ofType(events, 'message').at(-1)!;
  expect(response.seq).toBeLessThan(receipt!.seq);
  expect(receipt!.seq).toBeLessThan(answer.seq);
  await host.close();
});

test('words that come before the end is published prolong the run', async () => {
  const { model, requests, letGo } = heldModel();
  await using host = createHost({ models: { held: model } });
  const run = host.run(leaf('a'), 'go');
  const reading = collect(run);
  await settle();
  run.steer({ message: 'one more thing' });
  letGo(0);
  await until(() => requests.length === 2);
  letGo(1);
  const events = await reading;
  expect(said(requests[1]!)).toEqual(['user: go', 'model: answer 1', 'user: one more thing']);
  expect(ofType(events, 'stream_end')).toMatchObject([
    { reason: 'completed', data: { result: 'answer 2', numTurns: 2 } },
  ]);
});

test('also while the end waits for the store', async () => {
  const memory = memoryStore();
  const written = deferred();
  let isSlow = false;
  const store: typeof memory = {
    ...memory,
    create(...args) {
      const handle = memory.create(...args) as Awaited<ReturnType<typeof memory.create>>;
      return new Proxy(handle, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key, target);
          if (key !== 'append') return typeof value === 'function' ? value.bind(target) : value;
          return (event: AgentEvent) => {
            void target.append(event);
            return isSlow ? written.promise : undefined;
          };
        },
      });
    },
  };
  const model = scriptedModel([{ text: 'first' }, { text: 'second' }]);
  await using host = createHost({ models: { scripted: model }, store });
  const run = host.run(leaf('a'), 'go');
  isSlow = true;
  const reading = collect(run);
  await settle();
  expect(model.requests).toHaveLength(1);
  run.steer({ message: 'wait' });
  isSlow = false;
  written.resolve();
  expect(textIn(await reading)).toBe('firstsecond');
  expect(model.requests).toHaveLength(2);
});

test('words that come after the end stand before the next message', async () => {
  const model = scriptedModel(() => ({ text: 'ok' }));
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(leaf('a'));
  session.steer({ message: 'before anything' });
  const first = await collect(session.stream(message('one')).stream);
  session.steer({ message: 'in between' });
  const second = await readAll(session.stream(message('two')).stream);
  expect(said(model.requests[1]!)).toEqual([
    'user: before anything',
    'user: one',
    'model: ok',
    'user: in between',
    'user: two',
  ]);
  expect(steered(first)[0]).toMatchObject({ content: [{ text: 'before anything' }] });
  expect(steered(second)[0]!.seq).toBeLessThan(ofType(second, 'message')[1]!.seq);
  expect(steered(second)[0]!.runId).toBe(ofType(second, 'message')[1]!.runId);
  expect(validateLog([...first, ...second], { finished: true })).toEqual([]);
});

test('an interruption cuts the model call, keeps what was said, and asks again', async () => {
  const store = memoryStore();
  const { model, requests, letGo } = heldModel();
  await using host = createHost({ models: { held: model }, store });
  const run = host.run(leaf('a'), 'go');
  const reading = collect(run);
  await settle();
  run.steer({ action: 'interrupt', message: 'no, the other one' });
  await until(() => requests.length === 2);
  expect(requests[0]!.signal?.aborted).toBe(true);
  letGo(1);
  await reading;
  expect(said(requests[1]!)).toEqual(['user: go', 'model: answer ', 'user: no, the other one']);
  expect(await run.result).toMatchObject({ ok: true, text: 'answer 2', data: { numTurns: 2 } });
  const log = await logOf(store, run.sessionId);
  expect(ofType(log, 'message')[1]).toMatchObject({ content: [{ text: 'answer ' }], _meta: { interrupted: true } });
  expect(validateLog(log, { finished: true })).toEqual([]);
});

test('an interruption never cuts a tool: its words are taken after the answers', async () => {
  const work = gate('work');
  const { host, model } = hostWith({ a: [call('work'), { text: 'done' }] });
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const reading = collect(run);
  await work.running;
  run.steer({ action: 'interrupt', message: 'hurry' });
  await settle();
  expect(work.isAborted()).toBe(false);
  work.open('result');
  const events = await reading;
  expect(ofType(events, 'tool_response')[0]?.isError).toBeUndefined();
  expect(said(model.requests[1]!).at(-1)).toBe('user: hurry');
  await host.close();
});

test('an executor that does not let itself be interrupted is left behind after the deadline', async () => {
  const clock = virtualClock();
  const late = deferred();
  let turns = 0;
  const deaf: Executor = {
    async turn(_, context) {
      const say = (text: string) => {
        void context.publish({
          type: 'message',
          messageId: context.newMessageId(),
          role: 'agent',
          content: [{ type: 'text', text }],
        });
      };
      if (++turns === 1) {
        await late.promise;
        say('too late');
      } else say('second');
      return { reason: 'completed' };
    },
  };
  await using host = createHost({ clock });
  host.registerExecutor('deaf', () => deaf);
  const session = host.session(agent({ name: 'a', executor: 'deaf' }));
  const { stream } = session.stream(message());
  const reading = collect(stream);
  await settle();
  session.steer({ action: 'interrupt' });
  await clock.advance(4_999);
  expect(turns).toBe(1);
  await clock.advance(1);
  late.resolve();
  const events = await reading;
  expect(textIn(events)).toBe('second');
  expect(clock.pending).toBe(0);
});

test('a thread that is held goes on where it stood once it is let go', async () => {
  const { host, model } = hostWith({ a: [call('work'), { text: 'done' }] });
  const work = gate('work');
  const run = host.run(agent({ name: 'a', tools: [work.tool] }), 'go');
  const reading = collect(run);
  await work.running;
  run.steer({ action: 'pause' });
  work.open('result');
  await settle(20);
  expect(model.requests).toHaveLength(1);
  // Nothing is in flight that could be interrupted.
  run.steer({ action: 'interrupt', message: 'hello?' });
  await settle(20);
  expect(model.requests).toHaveLength(1);
  run.steer({ action: 'resume' });
  await reading;
  expect(model.requests).toHaveLength(2);
  expect(said(model.requests[1]!).at(-1)).toBe('user: hello?');
  expect(await run.result).toMatchObject({ ok: true, data: { numTurns: 2 } });
  await host.close();
});

test('a held thread can be aborted, and the next run is not held', async () => {
  const model = scriptedModel([call('work'), { text: 'fine' }]);
  const work = gate('work');
  await using host = createHost({ models: { scripted: model } });
  const session = host.session(agent({ name: 'a', tools: [work.tool] }));
  const { stream, controller } = session.stream(message());
  const reading = readAll(stream);
  await work.running;
  session.steer({ action: 'pause' });
  work.open('result');
  await settle(20);
  controller.abort();
  expect((await reading).at(-1)).toMatchObject({ reason: 'aborted' });
  const next = await readAll(session.stream(message()).stream);
  expect(next.at(-1)).toMatchObject({ reason: 'completed' });
});

test('an action that nobody knows is a notice, never silence', async () => {
  const { model, letGo } = heldModel();
  await using host = createHost({ models: { held: model } });
  const run = host.run(leaf('a'), 'go');
  const reading = collect(run);
  await settle();
  run.steer({ action: 'teleport' });
  letGo(0);
  expect(ofType(await reading, 'custom')).toMatchObject([
    { kind: 'notice', data: { code: 'UNKNOWN_STEER_ACTION', text: expect.stringContaining('teleport') } },
  ]);
});

test('any thread of a tree can be steered, all of them at once, and one that is not there is refused', async () => {
  const held = heldModel();
  await using host = createHost({ models: { held: held.model } });
  const team = parallel({ name: 'p', children: [leaf('a'), leaf('b')] });
  const run = host.run(team, 'go');
  const reading = collect(run);
  await until(() => held.requests.length === 2);
  run.steer({ message: 'only b' }, { threadId: 'b_2' });
  run.steer({ message: 'both' }, { threadId: '*' });
  run.steer({ message: 'all below the root' });
  expect(() => run.steer({ message: 'x' }, { threadId: 'c_3' })).toThrow(
    'no live thread "c_3"; live: a_1, b_2, the root',
  );
  held.letGo(0);
  held.letGo(1);
  await until(() => held.requests.length === 4);
  held.letGo(2);
  held.letGo(3);
  const events = await reading;
  const wordsOf = (threadId: string) =>
    textIn(
      steered(events).filter((event) => event.threadId === threadId),
      'user',
    );
  expect(wordsOf('a_1')).toBe('bothall below the root');
  expect(wordsOf('b_2')).toBe('only bbothall below the root');
  expect(steered(events).filter((event) => event.threadId === undefined)).toEqual([]);
});

test('a leader is steered itself, not its children', async () => {
  const held = heldModel();
  const lead = hierarchical({ name: 'lead', agent: leaf('boss'), children: [leaf('a')] });
  await using host = createHost({ models: { held: held.model } });
  const run = host.run(lead, 'go');
  const reading = collect(run);
  await until(() => held.requests.length === 1);
  run.steer({ message: 'hello boss' });
  held.letGo(0);
  await until(() => held.requests.length === 2);
  held.letGo(1);
  const [receipt] = steered(await reading);
  expect(receipt?.threadId).toBeUndefined();
  expect(receipt?.agentId).toBe('boss');
});

test('words to a member that hands over are for the one that takes over', async () => {
  const desk = transfer({ name: 'desk', members: [leaf('t'), leaf('b')], start: 't', targets: { t: ['b'] } });
  const gateway = deferred();
  const { host, model } = hostWith({
    t: (async () => {
      await gateway.promise;
      return call('transfer_to_agent', { target: 'b' });
    }) as never,
    b: [{ text: 'at your service' }],
  });
  const run = host.run(desk, 'go');
  const reading = collect(run);
  await settle();
  run.steer({ message: 'my number is 7' });
  gateway.resolve();
  const events = await reading;
  expect(steered(events)).toMatchObject([{ threadId: 'b_2', content: [{ text: 'my number is 7' }] }]);
  expect(textsGiven(model, 'b').join()).toContain('my number is 7');
  await host.close();
});

test.each([undefined, '*'])('words to a team (%s) between two children are taken by the next', async (threadId) => {
  const team = sequential({ name: 's', children: [leaf('a'), leaf('b')], mapInput: async () => undefined });
  const { host } = hostWith({ a: [{ text: 'A' }], b: [{ text: 'B' }] });
  const run = host.run(team, 'go');
  run.steer({ message: 'for whoever begins' }, threadId === undefined ? {} : { threadId });
  const events = await collect(run);
  expect(steered(events)).toMatchObject([{ threadId: 'a_1' }]);
  expect(endsIn(events)).toEqual(['a_1: completed', 'b_2: completed', '-: completed']);
  await host.close();
});

test('a run in the background goes on without its consumer, and attach picks it up', async () => {
  const held = heldModel();
  await using host = createHost({ models: { held: held.model } });
  const run = host.run(leaf('a'), 'go');
  const seen: AgentEvent[] = [];
  for await (const event of run) {
    seen.push(event);
    if (textIn([event]) === 'answer ') run.steer({ action: 'background' });
  }
  expect(typesOf(seen)).toEqual(['initialize', 'message', 'message']);
  const attached = collect(host.attach(run.sessionId));
  await settle();
  held.letGo(0);
  expect(await run.result).toMatchObject({ ok: true, text: 'answer 1' });
  expect(typesOf(await attached)).toEqual(['initialize', 'message', 'message', 'message', 'stream_end']);
});

test('breaking out of a stream that is in the background already ends nothing', async () => {
  const held = heldModel();
  await using host = createHost({ models: { held: held.model } });
  const run = host.run(leaf('a'), 'go');
  for await (const _ of run) {
    run.steer({ action: 'background' });
    break;
  }
  held.letGo(0);
  expect(await run.result).toMatchObject({ ok: true });
  const session = host.session(leaf('a'));
  const { stream } = session.stream(message());
  await stream.next();
  session.steer({ action: 'background' });
  await stream.return();
  expect(await refusalOf(session.stream(message()).stream)).toBe('SESSION_BUSY');
  await until(() => held.requests.length === 2);
  held.letGo(1);
  await settle();
  expect(session.state()).toEqual({ type: 'idle' });
  // The next stream begins with its own message: the rest of the other is in the log.
  const next = session.stream(message('next'));
  await until(() => held.requests.length === 3);
  held.letGo(2);
  expect(typesOf(await readAll(next.stream))).toEqual(['message', 'message', 'message', 'stream_end']);
});
