import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Executor, ModelInterface, ModelRequest } from '../../src/contracts/index.js';
import { agent, createHost, hierarchical, sequential, tool } from '../../src/index.js';
import { type ScriptEntry, scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, deferred, leaf, ofType, readAll, settle } from '../support/team.js';
import { boom, call, endsIn, hostWith, runTeam } from '../support/teams.js';

type Answer = (request: ModelRequest, at: number) => ScriptEntry;

const message = (content = 'go') => ({ kind: 'message' as const, content });
const minutes = (count: number) => count * 60_000;

const read = tool({
  name: 'read',
  description: 'Reads.',
  parameters: { type: 'object' },
  annotations: { readOnly: true, polling: true },
  execute: () => 'nothing',
});

/** Says something and calls a tool, each time. */
const restless: Answer = (_, at) => ({ text: `step ${at + 1}`, toolCalls: [{ name: 'read', args: { at } }] });

const worker = (constraints: object) => agent({ name: 'a', tools: [read], constraints });

test('B045: as many model calls as turns are allowed, then exactly one end; the session is usable again', async () => {
  for (const maxTurns of [1, 2, 3]) {
    const model = scriptedModel(restless);
    await using host = createHost({ models: { scripted: model } });
    const session = host.session(worker({ maxTurns }));
    const events = await collect(session.stream(message()).stream);
    expect(model.requests).toHaveLength(maxTurns);
    expect(ofType(events, 'stream_end')).toMatchObject([
      {
        reason: 'max_turns',
        data: { limit: 'maxTurns', used: maxTurns, numTurns: maxTurns, result: `step ${maxTurns}` },
      },
    ]);
    // The calls of the last turn were still made.
    expect(ofType(events, 'tool_response')).toHaveLength(maxTurns);
    expect(session.state()).toEqual({ type: 'idle' });
    const next = await readAll(session.stream(message()).stream);
    expect(next.at(-1)).toMatchObject({ reason: 'max_turns', data: { used: maxTurns } });
    expect(model.requests).toHaveLength(2 * maxTurns);
  }
});

test('a run that answers in its last turn has completed', async () => {
  const { result, model } = await runTeam(worker({ maxTurns: 2 }), { a: [call('read'), { text: 'done' }] });
  expect(result).toMatchObject({ ok: true, text: 'done' });
  expect(model.requests).toHaveLength(2);
});

test('a root run has a hundred turns by default, a child fifteen', async () => {
  const alone = await runTeam(worker({}), { a: restless as never });
  expect(alone.model.requests).toHaveLength(100);
  expect(alone.result).toMatchObject({ ok: false, reason: 'max_turns', data: { limit: 'maxTurns', used: 100 } });
  const below = await runTeam(sequential({ name: 's', children: [worker({})] }), { a: restless as never });
  expect(below.model.requests).toHaveLength(15);
  expect(endsIn(below.events)).toEqual(['a_1: max_turns', '-: failed']);
});

test('the grace turn is one more model call with tools off, and its answer is the result of the limit', async () => {
  const script: Answer = (request, at) =>
    request.tools === undefined ? { text: 'what I have' } : restless(request, at);
  const { result, model, events } = await runTeam(worker({ maxTurns: 2, graceTurn: true }), { a: script as never });
  expect(model.requests).toHaveLength(3);
  expect(model.requests[1]!.tools).toHaveLength(1);
  expect(model.requests[2]).toMatchObject({ toolMode: 'none', systemInstruction: expect.stringContaining('limit') });
  expect(model.requests[2]!.tools).toBeUndefined();
  expect(result).toMatchObject({
    ok: false,
    reason: 'max_turns',
    text: 'what I have',
    data: { limit: 'maxTurns', used: 2, numTurns: 3 },
  });
  expect(ofType(events, 'tool_request')).toHaveLength(2);
});

test('a grace turn takes no call and is not repeated', async () => {
  const { result, model, events } = await runTeam(worker({ maxTurns: 1, graceTurn: true }), { a: restless as never });
  expect(model.requests).toHaveLength(2);
  expect(ofType(events, 'tool_request')).toHaveLength(1);
  expect(result).toMatchObject({ reason: 'max_turns', text: 'step 2' });
  const failing = await runTeam(worker({ maxTurns: 1, graceTurn: true }), {
    a: [{ text: 'best', ...call('read') }, { error: { code: 'UNAVAILABLE', message: 'down', retryAfterMs: 0 } }],
  });
  expect(failing.model.requests).toHaveLength(2);
  expect(failing.result).toMatchObject({ reason: 'max_turns', text: 'best' });
});

test('a grace turn ends after a minute, cooperative or not', async () => {
  const clock = virtualClock();
  const slow: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream(request) {
      if (request.toolMode !== 'none') {
        const [called] = call('read').toolCalls!;
        yield { content: [{ type: 'text', text: 'early' }], toolCalls: [called!], finishReason: 'tool_calls' };
        return;
      }
      yield { content: [{ type: 'text', text: 'half of' }] };
      await new Promise((_, reject) => request.signal?.addEventListener('abort', () => reject(new Error('cut'))));
    },
  };
  await using host = createHost({ models: { scripted: slow }, clock });
  const run = host.run(worker({ maxTurns: 1, graceTurn: true }), 'go');
  const reading = collect(run);
  await settle();
  await clock.advance(59_999);
  expect(run.state().root.type).toBe('running');
  await clock.advance(1);
  await reading;
  expect(await run.result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxTurns', used: 1 } });

  const deaf: Executor = {
    turn: async (_, { toolsOff }) => (toolsOff ? new Promise(() => {}) : { reason: 'completed' }),
  };
  host.registerExecutor('deaf', () => deaf);
  const other = host.run(
    agent({
      name: 'b',
      executor: 'deaf',
      constraints: { maxTurns: 1, graceTurn: true },
      outputSchema: { type: 'object' },
    }),
    'go',
  );
  const rest = collect(other);
  await settle();
  await clock.advance(minutes(1) + 5_000);
  await rest;
  expect(await other.result).toMatchObject({ reason: 'max_turns', data: { forced: true } });
  expect(clock.pending).toBe(0);
});

test('model calls are counted with their retries', async () => {
  const flaky = { error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: 0 } };
  const { result, model } = await runTeam(worker({ maxLlmCalls: 3 }), {
    a: [flaky, call('read'), flaky, { text: 'never asked' }],
  });
  expect(model.requests).toHaveLength(3);
  expect(result).toMatchObject({
    ok: false,
    reason: 'max_turns',
    data: { limit: 'maxLlmCalls', used: 3, numTurns: 2 },
  });
});

test('a limit on model calls has its grace turn too', async () => {
  const script: Answer = (request, at) => (request.toolMode === 'none' ? { text: 'graceful' } : restless(request, at));
  const { result, model } = await runTeam(worker({ maxLlmCalls: 2, graceTurn: true }), { a: script as never });
  expect(model.requests).toHaveLength(3);
  expect(result).toMatchObject({
    reason: 'max_turns',
    text: 'graceful',
    data: { limit: 'maxLlmCalls', used: 2, numTurns: 3 },
  });
});

test('the model calls of a whole hierarchy count against its limit', async () => {
  const lead = hierarchical({
    name: 'lead',
    agent: leaf('boss'),
    children: [worker({})],
    constraints: { maxLlmCalls: 3 },
  });
  const { result, model, events } = await runTeam(lead, {
    boss: [{ toolCalls: [{ name: 'a', args: { prompt: 'x' } }] }, { text: 'never' }],
    a: restless as never,
  });
  expect(model.requests).toHaveLength(3);
  expect(result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxLlmCalls', used: 3 } });
  expect(endsIn(events)).toEqual(['a_1: aborted', '-: max_turns']);
});

test('time counts while a model call or a tool is in flight, and then the run ends with what it has', async () => {
  const clock = virtualClock();
  const { host, model } = hostWith(
    {
      a: [
        { text: 'first', ...call('read'), delayMs: 40_000 },
        { text: 'second', delayMs: 40_000 },
      ],
    },
    { clock },
  );
  const run = host.run(worker({ maxTimeMinutes: 1 }), 'go');
  const reading = collect(run);
  await clock.advance(59_999);
  expect(run.state().root.type).toBe('running');
  await clock.advance(1);
  await reading;
  expect(await run.result).toMatchObject({
    reason: 'max_time',
    text: 'first',
    data: { limit: 'maxTimeMinutes', used: 1 },
  });
  expect(model.requests).toHaveLength(2);
  expect(clock.pending).toBe(0);
  await host.close();
});

test('time does not count while a person is asked, nor between the tries of a call', async () => {
  const clock = virtualClock();
  const danger = tool({ name: 'danger', description: '.', parameters: { type: 'object' }, execute: () => 'done' });
  const { host } = hostWith(
    {
      a: [
        { ...call('danger'), delayMs: 20_000 },
        { error: { code: 'UNAVAILABLE', message: 'busy', retryAfterMs: minutes(4) } },
        { text: 'in time', delayMs: 30_000 },
      ],
    },
    { clock },
  );
  const run = host.run(agent({ name: 'a', tools: [danger], constraints: { maxTimeMinutes: 1 } }), 'go');
  const reading = collect(run);
  await clock.advance(20_000);
  await clock.advance(minutes(60));
  const [question] = run.state().pending;
  run.respond(question!.requestId, { action: 'accept' });
  await clock.advance(minutes(4));
  await clock.advance(30_000);
  await reading;
  expect(await run.result).toMatchObject({ ok: true, text: 'in time' });
  await host.close();
});

test('a tool in flight counts, and is cut when the time is up', async () => {
  const clock = virtualClock();
  const slow = tool({
    name: 'slow',
    description: '.',
    parameters: { type: 'object' },
    annotations: { readOnly: true },
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('cut'), { once: true })),
  });
  const { host } = hostWith({ a: [call('slow')] }, { clock });
  const run = host.run(agent({ name: 'a', tools: [slow], constraints: { maxTimeMinutes: 1 } }), 'go');
  const reading = collect(run);
  await clock.advance(minutes(1));
  expect(ofType(await reading, 'tool_response')).toMatchObject([{ isError: true, errorType: 'cancelled' }]);
  expect((await run.result).reason).toBe('max_time');
  await host.close();
});

test('a sub-agent has five minutes by default, a root run no limit on time', async () => {
  const clock = virtualClock();
  const forever = () => new Promise<never>(() => {});
  const model = scriptedModel(forever, { clock });
  await using host = createHost({ models: { scripted: model }, clock });
  const team = host.run(sequential({ name: 's', children: [leaf('a')] }), 'go');
  const alone = host.run(leaf('b'), 'go');
  const reading = collect(team);
  await clock.advance(minutes(5) + 5_000);
  expect(endsIn(await reading)).toEqual(['a_1: max_time', '-: failed']);
  await clock.advance(minutes(600));
  expect(alone.state().root.type).toBe('running');
  alone.abort();
  await clock.advance(5_000);
});

test('a limit on time has its grace turn: what is in flight is cut, and one more call is made', async () => {
  const clock = virtualClock();
  const script: Answer = (request, at) => {
    if (request.toolMode === 'none') return { text: 'as far as I came' };
    return at === 0 ? { text: 'start', ...call('read') } : { text: 'never said', delayMs: minutes(10) };
  };
  const { host, model } = hostWith({ a: script as never }, { clock });
  const run = host.run(worker({ maxTimeMinutes: 1, graceTurn: true }), 'go');
  const reading = collect(run);
  await clock.advance(minutes(1));
  await reading;
  expect(model.requests).toHaveLength(3);
  expect(await run.result).toMatchObject({
    reason: 'max_time',
    text: 'as far as I came',
    data: { limit: 'maxTimeMinutes', used: 1 },
  });
  await host.close();
});

test('work that an aborted run left behind does not count against the next one', async () => {
  const clock = virtualClock();
  const late = deferred();
  let turns = 0;
  const stubborn: Executor = {
    async turn() {
      if (++turns === 1) await late.promise;
      else await new Promise<void>((resolve) => clock.schedule(resolve, 50_000));
      return { reason: 'completed', data: { result: `turn ${turns}` } };
    },
  };
  await using host = createHost({ clock });
  host.registerExecutor('stubborn', () => stubborn);
  const session = host.session(agent({ name: 'a', executor: 'stubborn', constraints: { maxTimeMinutes: 1 } }));
  const first = session.stream(message());
  await settle();
  first.controller.abort();
  const ended = readAll(first.stream);
  await clock.advance(5_000);
  await ended;
  const second = readAll(session.stream(message()).stream);
  await clock.advance(10_000);
  late.resolve();
  await clock.advance(49_999);
  expect((await second).at(-1)).toMatchObject({ reason: 'completed', data: { result: 'turn 2' } });
  expect(clock.pending).toBe(0);
});

test('a spent budget ends the run before the next call, with the best so far', async () => {
  const priced = { usage: { inputTokens: 1, outputTokens: 1, cost: { usd: 0.4 } } };
  const { result, model } = await runTeam(
    worker({}),
    { a: ((_: unknown, at: number) => ({ ...restless({} as never, at), ...priced })) as never },
    { run: { maxBudgetUsd: 1 } },
  );
  expect(model.requests).toHaveLength(3);
  expect(result).toMatchObject({
    ok: false,
    reason: 'max_budget',
    text: 'step 3',
    cost: { usd: 1.2 },
    data: { limit: 'maxBudgetUsd' },
  });
});

test('a budget is for the whole tree, and its end is that of the root', async () => {
  const priced = (text: string) => ({ text, usage: { outputTokens: 1, cost: { usd: 0.6 } } });
  const team = sequential({ name: 's', children: [leaf('a'), leaf('b'), leaf('c')] });
  const { result, model } = await runTeam(
    team,
    { a: [priced('A')], b: [priced('B')], c: [priced('C')] },
    { run: { maxBudgetUsd: 1 } },
  );
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({
    reason: 'max_budget',
    cost: { usd: 1.2 },
    data: { limit: 'maxBudgetUsd', used: 1.2 },
  });
});

const facts = agent({
  name: 'a',
  outputSchema: z.object({ facts: z.array(z.string()), note: z.string().default('none') }),
});

test('an answer that does not fit goes back with the errors, twice at most, and each try is a model call', async () => {
  const bad = { text: '{"facts": "one"}' };
  const { result, model, events } = await runTeam(facts, { a: [bad, bad, bad, { text: 'never asked' }] });
  expect(model.requests).toHaveLength(3);
  expect(result).toMatchObject({ ok: false, reason: 'failed', data: { code: 'OUTPUT_INVALID' } });
  const sentBack = ofType(events, 'message').filter((event) => event.role === 'developer');
  expect(sentBack).toHaveLength(2);
  expect(JSON.stringify(sentBack[0]!.content)).toContain('/facts must be array');
  expect(JSON.stringify(model.requests[1]!.messages.at(-1))).toContain('/facts must be array');
  expect(ofType(events, 'error')).toMatchObject([{ code: 'OUTPUT_INVALID', fatal: false }]);
});

test('none at all goes back too; one that fits the second time is the result, as its schema makes it', async () => {
  const { result, model } = await runTeam(facts, {
    a: [{ text: 'Here they are!' }, { text: '```json\n{"facts":["x"]}\n```' }],
  });
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({ ok: true, result: { facts: ['x'], note: 'none' } });
});

test('complete_task ends with its arguments, as the schema makes them; bad ones are its error', async () => {
  const complete = (args: object) => call('complete_task', args);
  const { result, model, events } = await runTeam(facts, {
    a: [complete({ facts: 'one' }), complete({ facts: ['one'] })],
  });
  expect(model.requests).toHaveLength(2);
  expect(result).toMatchObject({ ok: true, result: { facts: ['one'], note: 'none' } });
  expect(ofType(events, 'tool_response').map((event) => event.isError)).toEqual([true, undefined]);
  const never = await runTeam(facts, { a: [complete({}), complete({}), complete({}), { text: 'never asked' }] });
  expect(never.model.requests).toHaveLength(3);
  expect(never.result).toMatchObject({ reason: 'failed', data: { code: 'OUTPUT_INVALID' } });
});

test('what only the validator of a schema knows is held against the answer as well', async () => {
  const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') });
  const twice = z.object({ n: z.string() }).transform(({ n }) => ({ n: Number(n) * 2, at: new Date(0) }));
  const refined = await runTeam(agent({ name: 'a', outputSchema: even }), {
    a: [{ text: '{"n":1}' }, { text: '{"n":2}' }],
  });
  expect(refined.result.result).toEqual({ n: 2 });
  expect(JSON.stringify(refined.model.requests[1]!.messages)).toContain('/n must be even');
  // A value that is no JSON stands in the events as JSON writes it.
  const transformed = await runTeam(agent({ name: 'a', outputSchema: twice }), {
    a: [call('complete_task', { n: '21' })],
  });
  expect(transformed.result.result).toEqual({ n: 42, at: '1970-01-01T00:00:00.000Z' });
});

test('text is the result of a schema of text, also where it looks like JSON', async () => {
  const word = agent({ name: 'a', outputSchema: z.string() });
  expect((await runTeam(word, { a: [{ text: 'plain words' }] })).result.result).toBe('plain words');
  expect((await runTeam(word, { a: [{ text: '42' }] })).result.result).toBe('42');
  expect((await runTeam(word, { a: [{ text: '"quoted"' }] })).result.result).toBe('quoted');
});

test('a failed model call is no limit', async () => {
  const { result } = await runTeam(worker({ maxTurns: 5, graceTurn: true }), { a: [boom()] });
  expect(result).toMatchObject({ reason: 'failed', data: { code: 'BOOM' } });
});

test('an input is what its schema makes of it, and what does not fit is refused before anything runs', async () => {
  const schema = z.object({ city: z.string().trim().min(1), days: z.number().default(3) });
  const { host, model } = hostWith({ a: [{ text: 'ok' }, { text: 'ok' }] });
  const weather = agent({ name: 'a', inputSchema: schema, instruction: 'For {input.city}, {input.days} days.' });
  await host.run(weather, { city: '  Bern ' } as never).result;
  expect(model.requests[0]).toMatchObject({
    systemInstruction: 'For Bern, 3 days.',
    messages: [{ role: 'user', content: [{ type: 'text', text: '{"city":"Bern","days":3}' }] }],
  });
  const refused = host.run(weather, { city: '   ' } as never);
  await expect(refused.result).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('/city'),
  });
  await expect(readAll(refused)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  expect(model.requests).toHaveLength(1);
  await host.close();
});
