import { expect, test } from 'vitest';
import type { AgentDefinition, ModelInterface, ModelRequest, ModelResponse } from '../../src/index.js';
import { agent, createHost, defineHook, ModelError, parallel, sequential, TroupeError } from '../../src/index.js';
import { openrouterModel } from '../../src/models/openrouter.js';
import { type ScriptEntry, scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, deferred, leaf, ofType, settle } from '../support/team.js';
import { endsIn } from '../support/teams.js';

/** One dollar for each token that comes out, nothing for what goes in. */
const perToken = { input: 0, output: 1_000_000 };
const out = (outputTokens: number): ScriptEntry => ({ text: 'said', usage: { inputTokens: 5, outputTokens } });
const upTo = (name: string, maxOutputTokens: number, constraints: object = {}) =>
  agent({ name, model: 'm', generation: { maxOutputTokens }, constraints });
const caps = (requests: readonly ModelRequest[]) => requests.map(({ config }) => config?.maxOutputTokens);

const refusal = (act: () => unknown): TroupeError => {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof TroupeError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was refused');
};

/** A model whose calls are answered one by one, from outside. */
function heldModel() {
  const calls: { request: ModelRequest; answer: (outputTokens: number) => void; fail: (error: Error) => void }[] = [];
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream(request) {
      const answered = deferred<number | Error>();
      calls.push({ request, answer: answered.resolve, fail: answered.resolve });
      const said = await answered.promise;
      if (said instanceof Error) throw said;
      const response: ModelResponse = { content: [{ type: 'text', text: 'said' }], finishReason: 'stop' };
      yield { ...response, usage: { inputTokens: 5, outputTokens: said } };
    },
  };
  return { model, calls };
}

test('an answer may have no more tokens than what is left can pay for; what was not used goes back', async () => {
  const model = scriptedModel([out(40), out(10), out(50)]);
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const team = sequential({ name: 's', children: [leaf('a'), leaf('b'), leaf('c')] });
  const run = host.run(team, 'go', { maxBudgetUsd: 100 });
  const events = await collect(run);
  expect(caps(model.requests)).toEqual([100, 60, 50]);
  expect(await run.result).toMatchObject({ reason: 'completed', cost: { usd: 100 } });
  expect(ofType(events, 'usage').map(({ cost }) => cost)).toEqual([{ usd: 40 }, { usd: 10 }, { usd: 50 }]);
});

test('a call that fits goes out as it is', async () => {
  const model = scriptedModel([out(10)]);
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  await collect(host.run(upTo('a', 50), 'go', { maxBudgetUsd: 100 }));
  expect(caps(model.requests)).toEqual([50]);
});

test('where not even a short answer can be paid for the run ends with max_budget, and the model is not asked', async () => {
  const model = scriptedModel([out(90)]);
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const run = host.run(sequential({ name: 's', children: [leaf('a'), leaf('b')] }), 'go', { maxBudgetUsd: 100 });
  await collect(run);
  expect(model.requests).toHaveLength(1);
  expect(await run.result).toMatchObject({
    ok: false,
    reason: 'max_budget',
    data: { limit: 'maxBudgetUsd', used: 90 },
    cost: { usd: 90 },
  });
});

test('the input alone may be too dear', async () => {
  const model = scriptedModel([]);
  await using host = createHost({ models: { m: model }, prices: { m: { input: 1_000_000, output: 0 } } });
  const run = host.run(leaf('a'), 'a question of many words that costs more than it may', { maxBudgetUsd: 3 });
  await collect(run);
  expect(await run.result).toMatchObject({ reason: 'max_budget', data: { limit: 'maxBudgetUsd', used: 0 } });
  expect(model.requests).toHaveLength(0);
});

test('a call that does not fit waits while another is open, and gets what that one left', async () => {
  const { model, calls } = heldModel();
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const run = host.run(parallel({ name: 'p', children: [upTo('a', 60), upTo('b', 60), upTo('c', 30)] }), 'go', {
    maxBudgetUsd: 100,
  });
  const reading = collect(run);
  await settle();
  // 60 for a; b waits, and c, which would fit, does not go before it.
  expect(calls.map(({ request }) => request._meta?.agent)).toEqual(['a']);
  calls[0]?.answer(10);
  await settle();
  expect(calls.map(({ request }) => request._meta?.agent)).toEqual(['a', 'b', 'c']);
  calls[1]?.answer(60);
  calls[2]?.answer(30);
  await reading;
  expect(await run.result).toMatchObject({ reason: 'completed', cost: { usd: 100 } });
});

test('branches side by side cannot overspend together: the one that finds nothing left ends the run', async () => {
  const { model, calls } = heldModel();
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const run = host.run(parallel({ name: 'p', children: [upTo('a', 100), upTo('b', 100)] }), 'go', {
    maxBudgetUsd: 100,
  });
  const reading = collect(run);
  await settle();
  expect(calls).toHaveLength(1);
  calls[0]?.answer(95);
  const events = await reading;
  expect(calls).toHaveLength(1);
  expect(await run.result).toMatchObject({ reason: 'max_budget', cost: { usd: 95 } });
  expect(endsIn(events).at(-1)).toBe('-: max_budget');
});

test('a call that failed with nothing in its answer costs nothing; its retry reserves anew', async () => {
  const { model, calls } = heldModel();
  const clock = virtualClock();
  const host = createHost({ models: { m: model }, prices: { m: perToken }, clock });
  const run = host.run(upTo('a', 100), 'go', { maxBudgetUsd: 100 });
  const reading = collect(run);
  await settle();
  calls[0]?.fail(new ModelError({ code: 'UNAVAILABLE', message: 'down', retryable: true, retryAfterMs: 0 }));
  await settle();
  expect(caps(calls.map(({ request }) => request))).toEqual([100, 100]);
  calls[1]?.answer(5);
  await reading;
  expect(await run.result).toMatchObject({ ok: true, cost: { usd: 5 } });
  await host.close();
});

test('an answer of which nobody says what it used counts as the worst that it could be', async () => {
  const model = scriptedModel([{ text: 'unsaid' }, out(1)]);
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const run = host.run(sequential({ name: 's', children: [upTo('a', 70), upTo('b', 70)] }), 'go', {
    maxBudgetUsd: 100,
  });
  await collect(run);
  expect(caps(model.requests)).toEqual([70, 30]);
  // What is told is only what is known.
  expect((await run.result).cost).toEqual({ usd: 1 });
});

test('a child gets at most what is left above it, and its own end is not that of the others', async () => {
  const model = scriptedModel({ byAgent: { a: [out(30), out(15)], b: [out(20)] } });
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const inner = sequential({ name: 'inner', children: [leaf('a')], constraints: { maxBudgetUsd: 40 } });
  const team = parallel({ name: 'p', children: [inner, leaf('b')], concurrency: 1 });
  const run = host.run(team, 'go', { maxBudgetUsd: 50 });
  await collect(run);
  expect(caps(model.requests)).toEqual([40, 20]);
  expect((await run.result).reason).toBe('completed');
});

test('a child that has spent its own limit ends alone', async () => {
  const model = scriptedModel({ byAgent: { a: [out(20)], b: [out(20)], c: [out(5)] } });
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const inner = sequential({ name: 'inner', children: [leaf('a'), leaf('b')], constraints: { maxBudgetUsd: 20 } });
  const team = parallel({ name: 'p', children: [inner, leaf('c')], concurrency: 1 });
  const run = host.run(team, 'go', { maxBudgetUsd: 1_000 });
  const events = await collect(run);
  expect(endsIn(events)).toEqual([
    'inner_1.a_1: completed',
    'inner_1.b_2: aborted',
    'inner_1: max_budget',
    'c_2: completed',
    '-: completed',
  ]);
});

test('maxTokens bounds input and output together, and needs no price', async () => {
  const model = scriptedModel([out(30), out(30), out(30)]);
  await using host = createHost({ models: { m: model } });
  const team = sequential({ name: 's', children: [leaf('a'), leaf('b'), leaf('c')] });
  const run = host.run(team, 'go', { maxTokens: 100 });
  await collect(run);
  const [first = 0, second = 0] = caps(model.requests);
  expect(first).toBeLessThan(100);
  // The first used 35 of them, and no longer holds what it did not use; what it said is input now.
  expect(second).toBeLessThan(first - 30);
  expect(second).toBeGreaterThan(first - 40);
  expect(await run.result).toMatchObject({ reason: 'max_budget', data: { limit: 'maxTokens', used: 70 } });
});

test('maxTokens may be a constraint of an agent', async () => {
  const model = scriptedModel([out(30)]);
  await using host = createHost({ models: { m: model } });
  const run = host.run(upTo('a', 1_000, { maxTokens: 90 }), 'go');
  await collect(run);
  expect(caps(model.requests)[0]).toBeLessThan(90);
});

test('a budget in USD with a model of unknown price is refused before the run, naming agent and model', async () => {
  const model = scriptedModel([{ text: 'x', usage: { inputTokens: 1, outputTokens: 1 } }]);
  await using host = createHost({ models: { m: model, n: model }, prices: { n: perToken } });
  const fault = refusal(() => host.run(leaf('a'), 'go', { maxBudgetUsd: 1, model: 'm' }));
  expect(fault).toMatchObject({ code: 'UNKNOWN_PRICE', message: expect.stringContaining('the model "m"') });
  expect(refusal(() => host.session(agent({ name: 'a', model: 'm' }), { maxBudgetUsd: 1 })).code).toBe('UNKNOWN_PRICE');
  const limited = (one: AgentDefinition) =>
    sequential({ name: 's', children: [one], constraints: { maxBudgetUsd: 1 } });
  expect(refusal(() => host.run(limited(agent({ name: 'deep', model: 'm' })), 'go')).message).toContain('s/deep');
  expect(() => host.run(limited(agent({ name: 'fine', model: 'n' })), 'go').abort()).not.toThrow();
  expect(model.requests).toHaveLength(0);
  // Outside of the limit nothing is refused.
  const mixed = sequential({
    name: 's',
    children: [
      agent({ name: 'free', model: 'm' }),
      agent({ name: 'bound', model: 'n', constraints: { maxBudgetUsd: 1 } }),
    ],
  });
  expect(() => host.run(mixed, 'go').abort()).not.toThrow();
});

test('what may stand in, and what an alias may come to mean, needs a price too', async () => {
  const model = scriptedModel([]);
  const models = { m: model, n: model };
  const prices = { m: perToken };
  const worker = agent({ name: 'a', model: 'm' });
  await using one = createHost({ models, prices, fallbacks: ['n'] });
  expect(refusal(() => one.run(worker, 'go', { maxBudgetUsd: 1 })).message).toContain('"n"');
  await using other = createHost({
    models,
    prices,
    aliases: { chat: { model: 'm', overrides: [{ when: { retry: true }, model: 'n' }] } },
  });
  expect(refusal(() => other.run(worker, 'go', { maxBudgetUsd: 1, model: 'chat' })).message).toContain('"n"');
});

test('a model of unknown price that only the router names is refused when it does', async () => {
  const model = scriptedModel([]);
  await using host = createHost({ models: { m: model, n: model }, prices: { m: perToken }, router: () => 'n' });
  const run = host.run(agent({ name: 'a', model: 'm' }), 'go', { maxBudgetUsd: 1 });
  await collect(run);
  expect(await run.result).toMatchObject({ reason: 'failed', data: { code: 'UNKNOWN_PRICE' } });
  expect(model.requests).toHaveLength(0);
});

test('a provider that says itself what a call cost needs no price; its calls under one budget follow each other', async () => {
  const waiting = deferred<void>();
  let inFlight = 0;
  let most = 0;
  const model: ModelInterface = {
    reportsCost: 'always',
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      most = Math.max(most, ++inFlight);
      await waiting.promise;
      inFlight--;
      yield { content: [{ type: 'text', text: 'x' }], usage: { cost: { usd: 0.4 } }, finishReason: 'stop' };
    },
  };
  await using host = createHost({ models: { m: model } });
  const team = parallel({ name: 'p', children: ['a', 'b', 'c', 'd'].map((name) => leaf(name)) });
  const run = host.run(team, 'go', { maxBudgetUsd: 1 });
  const reading = collect(run);
  await settle();
  waiting.resolve();
  await reading;
  expect(most).toBe(1);
  // The third call began with 0.2 left: nobody could know.
  expect(await run.result).toMatchObject({ reason: 'max_budget', cost: { usd: 1.2 } });
  expect(openrouterModel({ name: 'x' }).reportsCost).toBe('always');
});

test('a price is for input, output, cached and thought tokens; without it there is no cost', async () => {
  const usage = { inputTokens: 1_000, outputTokens: 100, cachedTokens: 400, thoughtTokens: 50 };
  const price = { input: 2, output: 10, cached: 0.5, thought: 20 };
  const costOf = async (prices: object, more: object = {}) => {
    const model = { ...scriptedModel([{ text: 'x', usage }]), ...more };
    await using host = createHost({ models: { m: model }, prices: prices as never });
    return (await host.run(leaf('a'), 'go').result).cost?.usd;
  };
  expect(await costOf({ m: price })).toBeCloseTo((600 * 2 + 400 * 0.5 + 100 * 10 + 50 * 20) / 1e6, 12);
  expect(await costOf({ m: { input: 2, output: 10 } })).toBeCloseTo((1_000 * 2 + 150 * 10) / 1e6, 12);
  // A provider that counts thoughts among the output is not paid for them twice.
  const within = await costOf({ m: { input: 2, output: 10 } }, { countsThoughtsAsOutput: true });
  expect(within).toBeCloseTo((1_000 * 2 + 100 * 10) / 1e6, 12);
  expect(await costOf({ 'm/*': { input: 0, output: 0 } })).toBe(0);
  expect(await costOf({ other: price })).toBeUndefined();
});

test('a price table with holes is refused, every hole named', () => {
  const fault = refusal(() =>
    createHost({
      prices: {
        a: { input: 1 } as never,
        b: { input: 1, output: Number.NaN },
        c: { input: -1, output: 1 },
        d: { input: 1, output: 1, outptu: 2 } as never,
        e: null as never,
      },
    }),
  );
  for (const part of [
    'prices.a: output is missing',
    'prices.b: output must be',
    'prices.c: input must be',
    'prices.d: no "outptu"',
    'prices.e: must be',
  ])
    expect(fault.message).toContain(part);
});

test('an abort while a call waits for the budget ends the run, and the others go on where they can', async () => {
  const { model, calls } = heldModel();
  await using host = createHost({ models: { m: model }, prices: { m: perToken } });
  const run = host.run(parallel({ name: 'p', children: [upTo('a', 90), upTo('b', 90), upTo('c', 10)] }), 'go', {
    maxBudgetUsd: 100,
  });
  const reading = collect(run);
  await settle();
  expect(calls).toHaveLength(1);
  run.abort('not needed', { threadId: 'b_2' });
  await settle();
  // Who stood behind it is served.
  expect(calls.map(({ request }) => request._meta?.agent)).toEqual(['a', 'c']);
  for (const { answer } of calls) answer(1);
  const events = await reading;
  expect(endsIn(events)).toContain('b_2: aborted');
});

test('a call that does not end when it is told to holds nobody up', async () => {
  const clock = virtualClock();
  const seen: string[] = [];
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream(request) {
      const name = request._meta?.agent as string;
      seen.push(name);
      if (name === 'deaf') await new Promise(() => {});
      yield {
        content: [{ type: 'text', text: 'x' }],
        usage: { inputTokens: 1, outputTokens: 1 },
        finishReason: 'stop',
      };
    },
  };
  const host = createHost({ models: { m: model }, prices: { m: perToken }, clock });
  const run = host.run(parallel({ name: 'p', children: [upTo('deaf', 80), upTo('b', 80)] }), 'go', {
    maxBudgetUsd: 100,
  });
  const reading = collect(run);
  await settle();
  run.abort('stop', { threadId: 'deaf_1' });
  await clock.advance(6_000);
  await reading;
  expect(seen).toEqual(['deaf', 'b']);
  await host.close();
});

test('an answer that breaks off while a hook waits for its end is paid for like any other', async () => {
  const broken = { text: 'half', error: { code: 'INVALID_ARGUMENT', message: 'broke off' } };
  const hook = defineHook('after_model', () => ({ action: 'proceed' }));
  const model: ModelInterface = {
    generate: () => Promise.reject(new Error('streams only')),
    async *generateStream() {
      yield { content: [{ type: 'text', text: 'half' }], usage: { inputTokens: 5, outputTokens: 7 } };
      throw new ModelError({ code: 'INVALID_ARGUMENT', message: 'broke off' });
    },
  };
  await using host = createHost({ models: { m: model }, prices: { m: perToken }, hooks: [hook] });
  const events = await collect(host.run(upTo('a', 30), 'go', { maxBudgetUsd: 100 }));
  expect(ofType(events, 'usage').map(({ cost }) => cost)).toEqual([{ usd: 7 }]);
  // What nobody says counts as the worst case.
  const team = sequential({ name: 's', onFailure: 'continue', children: [upTo('a', 60), upTo('b', 60)] });
  const again = scriptedModel([broken, out(40)]);
  await using second = createHost({ models: { m: again }, prices: { m: perToken }, hooks: [hook] });
  await collect(second.run(team, 'go', { maxBudgetUsd: 100 }));
  expect(caps(again.requests)).toEqual([60, 40]);
});
