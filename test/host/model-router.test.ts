import { expect, test } from 'vitest';
import type { AgentEvent, ModelRequest, RouterStrategy } from '../../src/index.js';
import { agent, createHost, sequential, tool } from '../../src/index.js';
import { routeByClassifier, routeByMode } from '../../src/models/router.js';
import { type ScriptEntry, scriptedModel, virtualClock } from '../../src/testing/index.js';
import { collect, ofType } from '../support/team.js';

const look = tool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  annotations: { readOnly: true },
  execute: () => 'seen',
});
const usage = { inputTokens: 1, outputTokens: 1 };
const says = (text: string): ScriptEntry => ({ text, usage });
const worker = agent({ name: 'a', model: 'own', tools: [look] });

const routingIn = (events: readonly AgentEvent[]) => ofType(events, 'usage').map((event) => event._meta?.routing);
const kinds = (events: readonly AgentEvent[], kind: string) =>
  ofType(events, 'custom').filter((event) => event.kind === kind);

test('strategies are asked in order, the first answer counts, and it holds for its run', async () => {
  const asked: string[] = [];
  const strategy = (name: string, answer: string | undefined): RouterStrategy => ({
    name,
    route: () => {
      asked.push(name);
      return answer;
    },
  });
  const models = {
    own: scriptedModel([]),
    big: scriptedModel([{ toolCalls: [{ name: 'look', args: {} }] }, says('1'), says('2')]),
  };
  await using host = createHost({
    models,
    router: [strategy('none', undefined), strategy('size', 'big'), strategy('late', 'own')],
  });
  const session = host.session(worker);
  const events: AgentEvent[] = [];
  for await (const event of session.stream({ kind: 'message', content: 'go' }).stream) events.push(event);
  expect(asked).toEqual(['none', 'size']);
  expect(models.big.requests).toHaveLength(2);
  expect(routingIn(events)).toEqual([
    { by: 'size', requested: 'own', chosen: 'big', latencyMs: expect.any(Number), model: 'big' },
  ]);
  expect(kinds(events, 'decision')).toMatchObject([{ data: { decision: 'router', by: 'size', chosen: 'big' } }]);
  // Another run is decided anew.
  for await (const _ of session.stream({ kind: 'message', content: 'more' }).stream);
  expect(asked).toEqual(['none', 'size', 'none', 'size']);
});

test('a strategy is given history, request, the model that was asked for, and the signal of the turn', async () => {
  const seen: Parameters<RouterStrategy['route']>[0][] = [];
  const model = scriptedModel([says('x')]);
  await using host = createHost({
    models: { own: model },
    router: function watch(request) {
      seen.push(request);
      return undefined;
    },
  });
  await collect(host.run(worker, 'hello', { permissionMode: 'plan' }));
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    history: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
    requested: 'own',
    agent: 'a',
    permissionMode: 'plan',
  });
  expect(seen[0]?.request.tools?.[0]?.name).toBe('look');
  expect(seen[0]?.signal.aborted).toBe(false);
});

test('what a run was given as its model goes before the router, and so does an update', async () => {
  const models = {
    own: scriptedModel([]),
    big: scriptedModel([]),
    given: scriptedModel([says('given'), says('again')]),
  };
  let asked = 0;
  await using host = createHost({
    models,
    router: () => {
      asked++;
      return 'big';
    },
  });
  const events = await collect(host.run(worker, 'go', { model: 'given' }));
  expect(routingIn(events)).toEqual([{ by: 'override', requested: 'given', model: 'given' }]);
  const session = host.session(worker);
  session.update({ model: 'given' });
  for await (const _ of session.stream({ kind: 'message', content: 'go' }).stream);
  expect(models.given.requests).toHaveLength(2);
  expect(asked).toBe(0);
});

test('a mode may have a model of its own', async () => {
  const models = { own: scriptedModel([says('own')]), thinker: scriptedModel([says('plan')]) };
  await using host = createHost({ models, router: [routeByMode({ plan: 'thinker' })] });
  expect((await host.run(worker, 'go', { permissionMode: 'plan' }).result).text).toBe('plan');
  const events = await collect(host.run(worker, 'go'));
  expect(routingIn(events)).toMatchObject([{ by: 'default', requested: 'own', model: 'own' }]);
});

const choices = { small: 'Short questions.', 'small/long': 'Long texts.' };

test('a classifier is asked once per run, in the name of the house: counted and paid, but no turn, and never routed', async () => {
  const requests: ModelRequest[] = [];
  const judge = scriptedModel((request) => {
    requests.push(request);
    return { text: 'small/long.', usage: { inputTokens: 7, outputTokens: 1 } };
  });
  const models = {
    own: scriptedModel([]),
    judge,
    small: scriptedModel([{ toolCalls: [{ name: 'look', args: {} }], usage }, says('done')]),
  };
  await using host = createHost({ models, router: [routeByClassifier({ model: 'judge', choices })] });
  const run = host.run(worker, 'Summarise the book');
  const events = await collect(run);
  expect(requests).toHaveLength(1);
  expect(requests[0]?._meta).toMatchObject({ agent: 'a', purpose: 'classify' });
  expect(requests[0]?.tools).toBeUndefined();
  expect(models.small.requests).toHaveLength(2);
  const { usage: sum, data } = await run.result;
  expect(sum).toEqual({ inputTokens: 9, outputTokens: 3 });
  expect(data.numTurns).toBe(2);
  expect(kinds(events, 'decision')).toMatchObject([
    { data: { by: 'classifier', chosen: 'small/long', reason: 'classified' } },
  ]);
});

test('the calls of a classifier count against maxLlmCalls', async () => {
  const models = { own: scriptedModel([says('never')]), judge: scriptedModel([{ text: 'own' }]) };
  await using host = createHost({ models, router: [routeByClassifier({ model: 'judge', choices: { own: 'All.' } })] });
  const result = await host.run(agent({ name: 'a', model: 'own', constraints: { maxLlmCalls: 1 } }), 'go').result;
  expect(result).toMatchObject({ reason: 'max_turns', data: { limit: 'maxLlmCalls', used: 1 } });
  expect(models.own.requests).toHaveLength(0);
});

test('a classifier that names none, several, or fails decides nothing; the failure is told', async () => {
  const answers: [ScriptEntry, number][] = [
    [{ text: 'neither' }, 0],
    [{ text: 'own or big' }, 0],
    [{ text: 'the owner' }, 0],
    [{ error: { code: 'UNAVAILABLE', message: 'down' } }, 1],
  ];
  for (const [answer, failures] of answers) {
    const models = { own: scriptedModel([says('own')]), big: scriptedModel([]), judge: scriptedModel([answer]) };
    await using host = createHost({
      models,
      router: [routeByClassifier({ model: 'judge', choices: { own: 'a', big: 'b' } })],
    });
    const run = host.run(worker, 'go');
    const events = await collect(run);
    expect((await run.result).text).toBe('own');
    expect(
      kinds(events, 'notice').filter(({ data }) => (data as { code: string }).code === 'ROUTER_FAILED'),
    ).toHaveLength(failures);
  }
});

test('a strategy that throws, or names a model that is not there, is passed over with a notice', async () => {
  await using host = createHost({
    models: { own: scriptedModel([says('own')]) },
    router: [
      () => {
        throw new Error('no idea');
      },
      { name: 'wrong', route: () => 'nowhere/x' },
    ],
  });
  const run = host.run(worker, 'go');
  const events = await collect(run);
  expect((await run.result).text).toBe('own');
  expect(kinds(events, 'notice').map(({ data }) => (data as { text: string }).text)).toEqual([
    'the strategy "strategy 1" was passed over: no idea',
    expect.stringContaining('"wrong" was passed over: no model "nowhere/x"'),
  ]);
});

test('each agent of a team is routed by itself', async () => {
  const models = { own: scriptedModel([says('own')]), big: scriptedModel([says('big')]) };
  await using host = createHost({ models, router: ({ agent: name }) => (name === 'b' ? 'big' : undefined) });
  const team = sequential({
    name: 's',
    children: [agent({ name: 'a', model: 'own' }), agent({ name: 'b', model: 'own' })],
  });
  await collect(host.run(team, 'go'));
  expect([models.own.requests.length, models.big.requests.length]).toEqual([1, 1]);
});

test('an agent may leave its model to the router; where that says nothing the run fails, and says what would do', async () => {
  const models = { one: scriptedModel([]), two: scriptedModel([says('two')]) };
  let answer: string | undefined = 'two';
  await using host = createHost({ models, router: () => answer });
  const open = agent({ name: 'open' });
  expect((await host.run(open, 'go').result).text).toBe('two');
  answer = undefined;
  expect(await host.run(open, 'go').result).toMatchObject({
    reason: 'failed',
    data: { code: 'UNKNOWN_MODEL', message: expect.stringContaining('no model is chosen') },
  });
});

test('an abort while the router thinks ends the run, and no model is asked', async () => {
  const model = scriptedModel([]);
  await using host = createHost({
    models: { own: model },
    router: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('cut')), { once: true })),
  });
  const run = host.run(worker, 'go');
  const reading = collect(run);
  await new Promise((resolve) => setImmediate(resolve));
  run.abort('enough');
  await reading;
  expect((await run.result).reason).toBe('aborted');
  expect(model.requests).toHaveLength(0);
});

test('a strategy that hangs is passed over after 30 s, told in words, its signal fired; the next one decides', async () => {
  const clock = virtualClock();
  const models = { own: scriptedModel([]), big: scriptedModel([says('big')]) };
  const reasons: unknown[] = [];
  let late: Promise<unknown> | undefined;
  const hangs: RouterStrategy = {
    name: 'hangs',
    route({ signal, ask, request }) {
      return new Promise(() => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).message);
          late = ask('own', request).catch((thrown: Error) => thrown.message);
        });
      });
    },
  };
  await using host = createHost({ models, clock, router: [hangs, () => 'big'] });
  const run = host.run(worker, 'go');
  const reading = collect(run);
  await clock.advance(29_999);
  expect(reasons).toEqual([]);
  await clock.advance(1);
  const events = await reading;
  expect(reasons).toEqual(['it gave no answer within 30 s']);
  expect(await late).toBe('it gave no answer within 30 s');
  expect(kinds(events, 'notice')).toMatchObject([
    {
      data: {
        code: 'ROUTER_FAILED',
        text: 'the strategy "hangs" was passed over: it gave no answer within 30 s',
      },
    },
  ]);
  expect((await run.result).text).toBe('big');
});

test('a classifier whose model hangs is passed over; one that waits for its turn is waited for', async () => {
  const clock = virtualClock();
  const slow = scriptedModel([{ text: 'own', delayMs: 600_000 }], { clock });
  const router = routeByClassifier({ model: 'slow', choices: { own: 'all' } });
  await using host = createHost({ models: { own: scriptedModel([says('x')]), slow }, clock, router });
  const run = host.run(worker, 'go');
  const reading = collect(run);
  for (let at = 0; at < 4; at++) await clock.advance(10_000);
  expect(kinds(await reading, 'notice')).toMatchObject([{ data: { code: 'ROUTER_FAILED' } }]);
  expect((await run.result).text).toBe('x');

  const busy = scriptedModel(
    (request: ModelRequest) => {
      return request._meta?.purpose === 'classify' ? { text: 'busy' } : { text: 'done', delayMs: 50_000 };
    },
    { clock },
  );
  const queued = routeByClassifier({ model: 'busy', choices: { busy: 'all' } });
  await using narrow = createHost({ models: { own: busy, busy }, clock, router: queued, limits: { concurrency: 1 } });
  const runs = [narrow.run(worker, 'one'), narrow.run(worker, 'two'), narrow.run(worker, 'three')];
  let isDone = false;
  const all = Promise.all(runs.map((one) => collect(one))).finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(10_000);
  expect((await all).flatMap((events) => kinds(events, 'notice'))).toEqual([]);
  for (const one of runs) expect((await one.result).text).toBe('done');
});

test('a router of another form is refused when the host is made', () => {
  expect(() => createHost({ router: [{ name: 'x' }] as never })).toThrow(/router\[0\] must be a function/);
  expect(() => routeByClassifier({ model: 'x', choices: {} })).toThrow(/needs choices/);
});

test('an answer that names no model is passed over, and told in words', async () => {
  for (const answer of [{}, { reason: 'because' }, 5, true]) {
    const models = { own: scriptedModel([{ text: 'own' }]), big: scriptedModel([]) };
    await using host = createHost({ models, router: [() => answer as never] });
    const run = host.run(worker, 'go');
    const events = await collect(run);
    expect((await run.result).text).toBe('own');
    expect(kinds(events, 'notice').map(({ data }) => data)).toEqual([
      expect.objectContaining({ code: 'ROUTER_FAILED', text: expect.stringContaining('must answer with a model') }),
    ]);
  }
});
