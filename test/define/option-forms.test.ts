import { expect, test } from 'vitest';
import {
  agent,
  createHost,
  graph,
  hierarchical,
  loop,
  parallel,
  sequential,
  TroupeError,
  tool,
  transfer,
} from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';

const a = agent({ name: 'a', model: 'scripted' });
const b = agent({ name: 'b', model: 'scripted' });
const execute = () => 1;
const host = (options: object = {}) =>
  createHost({ models: { scripted: scriptedModel(() => ({ text: 'x' })) }, ...options });

/** What is no number from 1 that is whole, nor one from 0, nor above 0. */
const NO_COUNT = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null, {}, [], true];
const NO_WHOLE = NO_COUNT.filter((one) => one !== 0);
const NO_AMOUNT = NO_WHOLE.filter((one) => one !== 1.5);
const NO_SPAN = NO_COUNT.filter((one) => one !== 1.5);
const NO_FLAG = [0, 1, 'false', null, {}, []];
const NO_TEXT = [0, true, null, {}, []];
const NO_BAG = [0, true, null, 'x', []];
const unbounded = (list: readonly unknown[]) => list.filter((one) => one !== Number.POSITIVE_INFINITY);

type Row = [path: string, bad: readonly unknown[], make: (value: never) => unknown];

const supervised = (rule: object) => sequential({ name: 's', children: [a], supervise: { children: { a: rule } } });
const rows: Row[] = [
  ...['maxTurns', 'maxLlmCalls', 'maxTokens'].map(
    (key): Row => [`x.constraints.${key}`, NO_COUNT, (n) => agent({ name: 'x', constraints: { [key]: n } })],
  ),
  ['x.constraints.maxTimeMinutes', NO_SPAN, (n) => agent({ name: 'x', constraints: { maxTimeMinutes: n } })],
  ['x.constraints.maxBudgetUsd', NO_AMOUNT, (n) => agent({ name: 'x', constraints: { maxBudgetUsd: n } })],
  ['x.constraints.graceTurn', NO_FLAG, (n) => agent({ name: 'x', constraints: { graceTurn: n } })],
  [
    's.constraints.maxTimeMinutes',
    NO_SPAN,
    (n) => sequential({ name: 's', children: [a], constraints: { maxTimeMinutes: n } }),
  ],
  ['x.generation', NO_BAG, (n) => agent({ name: 'x', generation: n })],
  ['x.generation.temperature', NO_AMOUNT, (n) => agent({ name: 'x', generation: { temperature: n } })],
  ['x.generation.topP', [...NO_AMOUNT, 1.1], (n) => agent({ name: 'x', generation: { topP: n } })],
  ['x.generation.topK', NO_WHOLE, (n) => agent({ name: 'x', generation: { topK: n } })],
  ['x.generation.maxOutputTokens', NO_COUNT, (n) => agent({ name: 'x', generation: { maxOutputTokens: n } })],
  [
    'x.generation.stopSequences',
    ['x', [7], [''], {}, null],
    (n) => agent({ name: 'x', generation: { stopSequences: n } }),
  ],
  ['x.generation.thinking', NO_BAG, (n) => agent({ name: 'x', generation: { thinking: n } })],
  [
    'x.generation.thinking.budget',
    [-2, 1.5, '5', null],
    (n) => agent({ name: 'x', generation: { thinking: { budget: n } } }),
  ],
  ['x.contextBudget.maxTokens', NO_COUNT, (n) => agent({ name: 'x', contextBudget: { maxTokens: n } })],
  ['x.contextBudget.strategy', NO_TEXT, (n) => agent({ name: 'x', contextBudget: { maxTokens: 9, strategy: n } })],
  ['x.includeHistory', NO_FLAG, (n) => agent({ name: 'x', includeHistory: n })],
  ['x.inheritTools', NO_FLAG, (n) => agent({ name: 'x', inheritTools: n })],
  ['x.requiredTools', ['x', 7, null, {}, [7], ['']], (n) => agent({ name: 'x', requiredTools: n })],
  ['x.capabilities', ['x', 7, null, {}, [7]], (n) => agent({ name: 'x', capabilities: n })],
  ['x.displayName', NO_TEXT, (n) => agent({ name: 'x', displayName: n })],
  ['x.metadata', NO_BAG, (n) => agent({ name: 'x', metadata: n })],
  ['x.script', NO_TEXT, (n) => agent({ name: 'x', script: n })],
  ['tool x.timeoutMs', NO_SPAN, (n) => tool({ name: 'x', description: '', timeoutMs: n, execute })],
  ['tool x.displayName', NO_TEXT, (n) => tool({ name: 'x', description: '', displayName: n, execute })],
  ['tool x.annotations', NO_BAG, (n) => tool({ name: 'x', description: '', annotations: n, execute })],
  ...['readOnly', 'destructive', 'longRunning', 'idempotent', 'polling', 'sandboxed', 'providerExecuted'].map(
    (key): Row => [
      `tool x.annotations.${key}`,
      NO_FLAG,
      (n) => tool({ name: 'x', description: '', annotations: { [key]: n }, execute }),
    ],
  ),
  ['s.maxDepth', NO_COUNT, (n) => sequential({ name: 's', children: [a], maxDepth: n })],
  ['s.concurrency', NO_COUNT, (n) => parallel({ name: 's', children: [a, b], concurrency: n })],
  ['s.join.quorum', [...NO_COUNT, 3], (n) => parallel({ name: 's', children: [a, b], join: { quorum: n } })],
  ['s.maxIterations', NO_COUNT, (n) => loop({ name: 's', children: [a], maxIterations: n })],
  ['s.maxTransfers', NO_WHOLE, (n) => transfer({ name: 's', members: [a, b], start: 'a', maxTransfers: n })],
  ['s.context.last', NO_COUNT, (n) => transfer({ name: 's', members: [a, b], start: 'a', context: { last: n } })],
  ['s.concurrency', NO_COUNT, (n) => hierarchical({ name: 's', agent: a, children: [b], concurrency: n })],
  [
    's.maxSteps',
    NO_COUNT,
    (n) => graph({ name: 's', nodes: { a, b }, edges: [{ from: 'a', to: 'b' }], start: 'a', end: 'b', maxSteps: n }),
  ],
  ['s.supervise.children.a.maxRestarts', NO_WHOLE, (n) => supervised({ maxRestarts: n })],
  ['s.supervise.children.a.withinMs', NO_AMOUNT, (n) => supervised({ withinMs: n })],
  ['s.supervise.children.a.backoffMs', NO_AMOUNT, (n) => supervised({ backoffMs: n })],
  ['s.supervise.children.a', [7, null, 'x'], supervised],
  ['limits.concurrency', unbounded(NO_COUNT), (n) => host({ limits: { concurrency: n } })],
  [
    'limits.providers.x.concurrency',
    unbounded(NO_COUNT),
    (n) => host({ limits: { providers: { x: { concurrency: n } } } }),
  ],
  ['limits.providers.x.concurrency', [undefined], () => host({ limits: { providers: { x: {} } } })],
  ['limits.toolTimeoutMs', unbounded(NO_SPAN), (n) => host({ limits: { toolTimeoutMs: n } })],
  ['limits.abortTimeoutMs', unbounded(NO_SPAN), (n) => host({ limits: { abortTimeoutMs: n } })],
  ['createHost.seed', NO_AMOUNT.filter((one) => one !== -1), (n) => host({ seed: n })],
  ['aliases.x', NO_AMOUNT, (n) => host({ aliases: { x: { model: 'scripted', generation: { temperature: n } } } })],
  ['options.maxBudgetUsd', unbounded(NO_AMOUNT), (n) => host().run(a, 'x', { maxBudgetUsd: n })],
  ['options.maxTokens', unbounded(NO_WHOLE), (n) => host().run(a, 'x', { maxTokens: n })],
  ['options.generation.topP', [...NO_AMOUNT, 1.1], (n) => host().run(a, 'x', { generation: { topP: n } })],
  ['options.generation', NO_BAG, (n) => host().session(a, { generation: n })],
  ['options.contextBudget', NO_COUNT, (n) => host().run(a, 'x', { contextBudget: { maxTokens: n } })],
];

test.each(rows)('%s: what makes no sense is refused, saying where', (path, bad, make) => {
  for (const value of bad) {
    const refusal = expect.objectContaining({ constructor: TroupeError, message: expect.stringContaining(path) });
    expect(() => make(value as never), `${path} = ${String(value)}`).toThrow(refusal);
  }
});

test('numbers at the edge of sense are taken, and keys that only a provider knows are its own', () => {
  const generation = {
    temperature: 0,
    topP: 1,
    topK: 0,
    maxOutputTokens: 1,
    stopSequences: [],
    thinking: { budget: -1 },
  };
  agent({ name: 'x', generation: { ...generation, seed: 'any', repetitionPenalty: -3 } });
  agent({ name: 'x', constraints: { maxTurns: 1, maxTimeMinutes: 0.001, maxBudgetUsd: 0 } });
  tool({ name: 'x', description: '', annotations: { readOnly: false, mine: { any: 'thing' } }, execute });
  host({ limits: { concurrency: Number.POSITIVE_INFINITY, toolTimeoutMs: Number.POSITIVE_INFINITY, providers: {} } });
});

test('all that is wrong with a definition, and with options, is told at once, a sentence each', () => {
  const faultsOf = (make: () => unknown): string[] => {
    try {
      make();
    } catch (thrown) {
      return (thrown as TroupeError).problems.map(({ path, message }) => `${path}: ${message}`);
    }
    return [];
  };
  const bad = { temperature: 'hot', topP: 2, maxOutputTokens: -1 } as never;
  const constraints = { maxTurns: 1.5, maxTimeMinutes: 0 };
  expect(faultsOf(() => agent({ name: 'x', constraints, generation: bad, capabilities: 7 as never }))).toEqual([
    'x.constraints.maxTurns: must be a whole number from 1, not 1.5',
    'x.constraints.maxTimeMinutes: must be a number of minutes above 0, not 0',
    'x.capabilities: must be a list of names',
    'x.generation.temperature: must be a number from 0, not "hot"',
    'x.generation.topP: must be a number from 0 to 1, not 2',
    'x.generation.maxOutputTokens: must be a whole number from 1, not -1',
  ]);
  expect(faultsOf(() => host().run(a, 'x', { generation: bad, maxTokens: -1 }))).toEqual([
    'options.generation.temperature: must be a number from 0, not "hot"',
    'options.generation.topP: must be a number from 0 to 1, not 2',
    'options.generation.maxOutputTokens: must be a whole number from 1, not -1',
    'options.maxTokens: must be a whole number, 0 or more',
  ]);
  expect(
    faultsOf(() => host({ limits: { concurrency: 0, toolTimeoutMs: -1, providers: { x: { concurrency: 1.5 } } } })),
  ).toEqual([
    'limits.concurrency: must be a whole number from 1, not 0',
    'limits.toolTimeoutMs: must be a number of milliseconds above 0, not -1',
    'limits.providers.x.concurrency: must be a whole number from 1, not 1.5',
  ]);
});

test('positions, ports and spans of a host’s calls are looked at', async () => {
  await using mine = host();
  const { sessionId } = await mine.run(a, 'x').result;
  const refused = (message: RegExp) => ({
    constructor: TroupeError,
    code: 'INVALID_OPTION',
    message: expect.stringMatching(message),
  });
  for (const at of [1.5, Number.NaN, '5', {}] as never[])
    await expect(mine.fork(sessionId, { at })).rejects.toMatchObject(refused(/cannot be forked at/));
  for (const after of [Number.NaN, null, {}, true] as never[])
    await expect(mine.attach(sessionId, { after })[Symbol.asyncIterator]().next()).rejects.toMatchObject(
      refused(/no position/),
    );
  for (const port of [-1, 1.5, 70_000, Number.NaN, '80', {}] as never[])
    await expect(mine.inspectServer({ port })).rejects.toMatchObject(refused(/^port must be/));
  for (const drainMs of [-1, Number.NaN, '5', null] as never[])
    expect(() => mine.close({ drainMs })).toThrow(expect.objectContaining(refused(/^drainMs must be/)));
});

test('why a run is aborted is told in words, whatever a caller gave for it', async () => {
  await using mine = host();
  for (const [given, told] of [
    [new Error('enough'), 'enough'],
    [7, '7'],
    [3n, '3'],
    [{ why: 'enough' }, '{"why":"enough"}'],
  ] as [never, string][]) {
    const run = mine.run(a, 'x');
    run.abort(given);
    expect((await run.result).data).toMatchObject({ reason: told, by: 'user' });
  }
});
