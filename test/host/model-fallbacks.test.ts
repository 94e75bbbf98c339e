import { expect, test } from 'vitest';
import type { AgentEvent, HostOptions } from '../../src/index.js';
import { agent, createHost, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, type VirtualClock, virtualClock } from '../../src/testing/index.js';
import { collect, ofType, readAll } from '../support/team.js';

const error = (code: string, rest: object = {}): ScriptEntry => ({
  error: { code, message: `${code} it was`, ...rest },
});
const down = error('UNAVAILABLE', { retryAfterMs: 0 });

const noticesOf = (events: readonly AgentEvent[]) =>
  ofType(events, 'custom').flatMap(({ kind, data }) =>
    kind === 'notice' ? [data as { code: string; text: string }] : [],
  );
const codesIn = (events: readonly AgentEvent[]) => noticesOf(events).map(({ code }) => code);

/** A host of two models, `one` and `two`, the second standing in for the first. */
function hostOf(one: ScriptEntry[], two: ScriptEntry[], options: HostOptions = {}) {
  const models = { one: scriptedModel(one), two: scriptedModel(two) };
  const clock = virtualClock();
  return { host: createHost({ clock, fallbacks: ['two'], ...options, models }), models, clock };
}

const worker = agent({ name: 'a', model: 'one' });

/** Reads a run to its end, while time passes. */
async function read(run: AsyncIterable<AgentEvent>, clock: VirtualClock, take = collect): Promise<AgentEvent[]> {
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  const reading = take(run);
  reading.then(end, end);
  while (!isDone) await clock.advance(100);
  return reading;
}

test('a model that fails is tried once more, then another stands in for it, and a notice says so', async () => {
  const { host, models, clock } = hostOf(
    [down, down],
    [{ text: 'from two', usage: { inputTokens: 1, outputTokens: 1 } }],
  );
  const run = host.run(worker, 'go');
  const events = await read(run, clock);
  expect((await run.result).text).toBe('from two');
  expect(models.one.requests).toHaveLength(2);
  expect(codesIn(events)).toEqual(['MODEL_RETRY', 'MODEL_CHANGED']);
  expect(noticesOf(events)[1]?.text).toBe('one: UNAVAILABLE it was; two is asked in its place');
  expect(ofType(events, 'usage')).toMatchObject([
    { model: 'two', _meta: { routing: { requested: 'one', model: 'two' } } },
  ]);
  expect(host.models.list().find(({ name }) => name === 'one')?.health).toEqual({
    state: 'sticky_retry',
    reason: 'UNAVAILABLE',
  });
  await host.close();
});

test('a model that failed in an earlier turn has one try per turn, and is healthy again when it answers', async () => {
  const { host, models, clock } = hostOf([down, down, down, { text: 'back' }], [{ text: '1' }, { text: '2' }]);
  const session = host.session(worker);
  const say = async () => {
    const { stream } = session.stream({ kind: 'message', content: 'go' });
    return read(stream, clock, readAll);
  };
  await say();
  expect(models.one.requests).toHaveLength(2);
  const second = await say();
  expect(models.one.requests).toHaveLength(3);
  expect(codesIn(second)).toEqual(['MODEL_CHANGED']);
  const third = await say();
  expect(models.one.requests).toHaveLength(4);
  expect(models.two.requests).toHaveLength(2);
  expect(third.at(-1)).toMatchObject({ reason: 'completed', data: { result: 'back' } });
  expect(host.models.list().find(({ name }) => name === 'one')?.health.state).toBe('healthy');
  await host.close();
});

test('one that asks for more than five minutes is not asked again until then', async () => {
  const { host, models, clock } = hostOf(
    [error('RESOURCE_EXHAUSTED', { retryAfterMs: 300_001 }), { text: 'rested' }],
    [{ text: 'first' }, { text: 'second' }],
  );
  expect((await read(host.run(worker, 'go'), clock)).at(-1)).toMatchObject({ data: { result: 'first' } });
  await read(host.run(worker, 'go'), clock);
  expect(models.one.requests).toHaveLength(1);
  await clock.advance(300_001);
  expect((await read(host.run(worker, 'go'), clock)).at(-1)).toMatchObject({ data: { result: 'rested' } });
  await host.close();
});

test('with nothing to stand in, one that asked for more than five minutes is not asked at all until then', async () => {
  const { host, models, clock } = hostOf([error('UNAVAILABLE', { retryAfterMs: 400_000 }), { text: 'rested' }], [], {
    fallbacks: [],
  });
  await read(host.run(worker, 'go'), clock);
  const second = host.run(worker, 'go');
  const events = await read(second, clock);
  expect(models.one.requests).toHaveLength(1);
  expect(ofType(events, 'error')).toMatchObject([
    { code: 'UNAVAILABLE', message: expect.stringContaining('until 1970') },
  ]);
  host.models.reset('one');
  expect((await read(host.run(worker, 'go'), clock)).at(-1)).toMatchObject({ data: { result: 'rested' } });
  await host.close();
});

test('a wait of over ten seconds is not waited for where another model stands by', async () => {
  const { host, models, clock } = hostOf([error('UNAVAILABLE', { retryAfterMs: 10_001 })], [{ text: 'at once' }]);
  const run = host.run(worker, 'go');
  expect(codesIn(await collect(run))).toEqual(['MODEL_CHANGED']);
  expect(models.one.requests).toHaveLength(1);
  expect(clock.now()).toBe(0);
  await host.close();
});

test('what is wrong with the request is wrong for every model; what is wrong with the model is not', async () => {
  const asked = hostOf([error('INVALID_ARGUMENT')], [{ text: 'never' }]);
  const run = asked.host.run(worker, 'go');
  await read(run, asked.clock);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'INVALID_ARGUMENT' } });
  expect(asked.models.two.requests).toHaveLength(0);
  await asked.host.close();
  for (const code of ['NOT_FOUND', 'PERMISSION_DENIED', 'UNAUTHENTICATED']) {
    const { host, models, clock } = hostOf([error(code)], [{ text: 'other' }]);
    const other = host.run(worker, 'go');
    await read(other, clock);
    expect((await other.result).text).toBe('other');
    expect(models.one.requests).toHaveLength(1);
    await host.close();
  }
});

test('what has reached the consumer is not said again by another model either', async () => {
  const { host, models, clock } = hostOf([{ text: ['Hel', 'lo'], ...down }], [{ text: 'never' }]);
  const run = host.run(worker, 'go');
  await read(run, clock);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'UNAVAILABLE' } });
  expect(models.two.requests).toHaveLength(0);
  await host.close();
});

test('a tool that has run is not run again when another model takes over', async () => {
  let runs = 0;
  const write = tool({
    name: 'write',
    description: 'Writes.',
    parameters: { type: 'object' },
    execute: () => {
      runs++;
      return 'written';
    },
  });
  const { host, models, clock } = hostOf(
    [{ toolCalls: [{ id: 'same', name: 'write', args: {} }] }, down, down],
    [{ text: 'done' }],
  );
  const run = host.run(agent({ name: 'a', model: 'one', tools: [write] }), 'go', { permissionMode: 'autonomous' });
  await read(run, clock);
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(runs).toBe(1);
  const content = models.two.requests[0]?.messages.flatMap((message) => message.content.map((part) => part.type));
  expect(content).toEqual(['text', 'function_call', 'function_response']);
  await host.close();
});

test('every model of the chain has its turn, and the last failure is the one that is told', async () => {
  const models = {
    one: scriptedModel([down, down]),
    two: scriptedModel([error('NOT_FOUND')]),
    three: scriptedModel([down, down]),
  };
  const clock = virtualClock();
  const host = createHost({ models, clock, fallbacks: { one: ['two', 'three'], '*': ['one'] } });
  const run = host.run(worker, 'go');
  const events = await read(run, clock);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'UNAVAILABLE' } });
  expect([models.one, models.two, models.three].map(({ requests }) => requests.length)).toEqual([2, 1, 2]);
  expect(codesIn(events)).toEqual(['MODEL_RETRY', 'MODEL_CHANGED', 'MODEL_CHANGED', 'MODEL_RETRY']);
  await host.close();
});

test('consent is asked for, is kept for the run, and names the models', async () => {
  const { host, models, clock } = hostOf(
    [error('NOT_FOUND')],
    [{ toolCalls: [{ name: 'look', args: {} }] }, { text: 'done' }],
    { fallbacks: { models: ['two'], consent: 'ask' } },
  );
  const look = tool({
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: () => 'x',
  });
  const run = host.run(agent({ name: 'a', model: 'one', tools: [look] }), 'go');
  const events = await read(
    (async function* () {
      for await (const event of run) {
        if (event.type === 'elicitation_request')
          run.respond(event.requestId, { action: 'accept', content: { model: 'two' } });
        yield event;
      }
    })(),
    clock,
  );
  expect(ofType(events, 'elicitation_request')).toMatchObject([
    { kind: 'model_fallback', context: { failed: 'one', reason: 'NOT_FOUND it was', models: ['two'] } },
  ]);
  expect(await run.result).toMatchObject({ ok: true, text: 'done' });
  expect(models.two.requests).toHaveLength(2);
  await host.close();
});

test('an answer that names another model is refused, a bare yes takes the first, a no leaves the failure', async () => {
  for (const [answers, reason] of [
    [[{ action: 'accept', content: { model: 'three' } }, { action: 'accept' }], 'completed'],
    [[{ action: 'decline' }], 'failed'],
  ] as const) {
    const { host, models, clock } = hostOf([error('NOT_FOUND')], [{ text: 'two' }], {
      fallbacks: { models: ['two'], consent: 'ask' },
    });
    const run = host.run(worker, 'go');
    const faults: string[] = [];
    await read(
      (async function* () {
        for await (const event of run) {
          if (event.type === 'elicitation_request')
            for (const answer of answers) {
              try {
                run.respond(event.requestId, answer);
              } catch (thrown) {
                faults.push((thrown as { code: string }).code);
              }
            }
          yield event;
        }
      })(),
      clock,
    );
    expect((await run.result).reason).toBe(reason);
    expect(faults).toEqual(reason === 'completed' ? ['INVALID_ANSWER'] : []);
    expect(models.two.requests).toHaveLength(reason === 'completed' ? 1 : 0);
    await host.close();
  }
});

test('where nobody can be asked nothing stands in without consent', async () => {
  const { host, models, clock } = hostOf([error('NOT_FOUND')], [{ text: 'two' }], {
    fallbacks: { models: ['two'], consent: 'ask' },
    elicitation: 'deny',
  });
  const run = host.run(worker, 'go');
  await read(run, clock);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'NOT_FOUND' } });
  expect(models.two.requests).toHaveLength(0);
  await host.close();
});

test('a model may be banned while the host runs, and allowed again', async () => {
  const { host, models, clock } = hostOf([{ text: 'one' }], [{ text: 'two' }]);
  host.models.ban('one', 'too dear');
  const run = host.run(worker, 'go');
  const events = await read(run, clock);
  expect((await run.result).text).toBe('two');
  expect(noticesOf(events)).toMatchObject([
    { code: 'MODEL_CHANGED', text: 'one: it is banned: too dear; two is asked in its place' },
  ]);
  host.models.ban('two');
  const none = host.run(worker, 'go');
  await read(none, clock);
  expect(await none.result).toMatchObject({
    data: { code: 'MODEL_BANNED', message: expect.stringContaining('too dear') },
  });
  host.models.allow('one');
  const again = host.run(worker, 'go');
  await read(again, clock);
  expect((await again.result).text).toBe('one');
  expect(models.one.requests).toHaveLength(1);
  expect(() => host.models.ban('oen')).toThrow(/no model "oen" \(did you mean "one"/);
  await host.close();
});

test('names that lead nowhere are told when the host is made', () => {
  const models = { one: scriptedModel([]) };
  expect(() => createHost({ models, fallbacks: ['tow'] })).toThrow(/fallbacks: no model "tow"/);
  expect(() => createHost({ models, fallbacks: { one: 'two' } as never })).toThrow(/fallbacks\.one must be a list/);
  expect(() => createHost({ models, fallbacks: { models: ['one'], consent: 'maybe' } as never })).toThrow(/consent/);
  expect(() => createHost({ models, aliases: { fast: 'tow/x' } })).toThrow(/aliases\.fast: no model "tow\/x"/);
});

test('a stand-in that cannot be opened is passed over', async () => {
  const clock = virtualClock();
  const broken = () => Promise.reject(new Error('no package'));
  const models = { one: scriptedModel([error('NOT_FOUND')]), broken, three: scriptedModel([{ text: 'three' }]) };
  const host = createHost({ models, clock, fallbacks: ['broken/x', 'three'] });
  const run = host.run(worker, 'go');
  await read(run, clock);
  expect((await run.result).text).toBe('three');
  await host.close();
});
