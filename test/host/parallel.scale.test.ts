import { expect, test } from 'vitest';
import type { AgentDefinition, ModelInterface } from '../../src/contracts/index.js';
import { createHost, hierarchical, parallel } from '../../src/index.js';
import { collect, leaf, ofType, settle } from '../support/team.js';
import { until } from '../support/teams.js';

const MANY = 10_000;

const quick: ModelInterface = {
  generate: () => Promise.reject(new Error('not asked for')),
  async *generateStream() {
    yield { content: [{ type: 'text', text: 'x' }], usage: { inputTokens: 1 }, finishReason: 'stop' };
  },
};

/** Says nothing before it is aborted. */
const silent: ModelInterface = {
  ...quick,
  async *generateStream({ signal }) {
    await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
    yield { content: [], finishReason: 'stop' };
  },
};

const team = (concurrency: number): AgentDefinition =>
  parallel({ name: 'p', concurrency, children: Array.from({ length: MANY }, (_, at) => leaf(`c${at}` as string)) });

/** A number, once it has not changed for fifty turns of the event loop. */
async function stillAt(count: () => number): Promise<number> {
  let last = count();
  for (let quiet = 0; quiet < 50; quiet++) {
    await settle(1);
    const now = count();
    if (now !== last) quiet = 0;
    last = now;
  }
  return last;
}

/** Counts how often the event loop had its turn. */
function countTurns() {
  let turns = 0;
  let isOn = true;
  const turn = () => {
    turns++;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    get turns() {
      return turns;
    },
    stop() {
      isOn = false;
    },
  };
}

test.each([16, MANY])(
  'ten thousand children at once, %i of them live, leave the event loop its turns',
  async (most) => {
    const host = createHost({ models: { quick } });
    const loop = countTurns();
    const run = host.run(team(most), 'go');
    let live = 0;
    let liveMost = 0;
    let started = 0;
    // How many were started since the event loop last had its turn.
    const burst = { turn: 0, size: 0, longest: 0 };
    for await (const event of run) {
      if (event.type === 'agent_started') {
        started++;
        liveMost = Math.max(liveMost, ++live);
        burst.size = burst.turn === loop.turns ? burst.size + 1 : 1;
        burst.turn = loop.turns;
        burst.longest = Math.max(burst.longest, burst.size);
      }
      if (event.type === 'agent_completed') live--;
    }
    loop.stop();
    expect(started).toBe(MANY);
    expect(live).toBe(0);
    expect(liveMost).toBeLessThanOrEqual(most);
    expect(burst.longest).toBeLessThan(MANY / 4);
    const result = await run.result;
    expect(result).toMatchObject({ ok: true, usage: { inputTokens: MANY } });
    expect(Object.keys(result.result as object).slice(0, 3)).toEqual(['c0', 'c1', 'c2']);
    expect(Object.keys(result.result as object)).toHaveLength(MANY);
    expect(run.state().threads).toHaveLength(1);
    await host.close();
  },
  120_000,
);

test('a consumer that is behind holds back the start of more children', async () => {
  const host = createHost({ models: { silent } });
  const run = host.run(team(MANY), 'go');
  const reader = run[Symbol.asyncIterator]();
  const first = await reader.next();
  expect(first.done).toBe(false);
  const before = await stillAt(() => run.state().threads.length);
  expect(before).toBeLessThan(MANY / 2);
  run.abort('enough');
  let ends = 0;
  for (let step = await reader.next(); !step.done; step = await reader.next())
    if (step.value.type === 'stream_end') ends++;
  expect(ends).toBe(before);
  expect((await run.result).reason).toBe('aborted');
  await host.close();
}, 120_000);

test('ten thousand live children are aborted without holding the event loop', async () => {
  const host = createHost({ models: { silent } });
  const run = host.run(team(MANY), 'go');
  await until(() => run.state().threads.length > MANY);
  const loop = countTurns();
  run.abort('enough');
  const result = await run.result;
  loop.stop();
  expect(result).toMatchObject({ reason: 'aborted', data: { reason: 'enough' } });
  expect(loop.turns).toBeGreaterThan(8);
  expect(run.state().threads).toHaveLength(1);
  const log = await collect(host.attach(run.sessionId));
  const ends = ofType(log, 'stream_end');
  expect(ends).toHaveLength(MANY + 1);
  expect(ends.every((end) => end.reason === 'aborted')).toBe(true);
  expect(ends.at(-1)?.threadId).toBeUndefined();
  await host.close();
}, 120_000);

test('thousands that fail under supervision cost no more for each than for one', async () => {
  let asked = 0;
  const failing: ModelInterface = {
    ...quick,
    // biome-ignore lint/correctness/useYield: it fails before it says anything.
    async *generateStream() {
      asked++;
      throw new Error('boom');
    },
  };
  const names = Array.from({ length: 3_000 }, (_, at) => `c${at}` as string);
  const supervised: AgentDefinition = parallel({
    name: 'p',
    children: names.map((name) => leaf(name)),
    supervise: { children: Object.fromEntries(names.map((name) => [name, { restart: 'on_failure' as const }])) },
  });
  const host = createHost({ models: { failing } });
  const result = await host.run(supervised, 'go').result;
  expect(result.reason).toBe('failed');
  expect(asked).toBe(6_000);
  expect(Object.keys(result.data.failures as object)).toHaveLength(3_000);
  await host.close();
}, 120_000);

test('a leader calls a thousand children in one turn', async () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `c${at}` as string);
  let turn = 0;
  const leading: ModelInterface = {
    ...quick,
    async *generateStream(request) {
      if (request._meta?.agent !== 'planner' || turn++ > 0) yield* quick.generateStream(request);
      else {
        const toolCalls = names.map((name) => ({ name, args: { prompt: name } }));
        yield { content: [], toolCalls, finishReason: 'tool_calls' };
      }
    },
  };
  const lead: AgentDefinition = hierarchical({
    name: 'lead',
    constraints: { maxLlmCalls: 2_000 },
    agent: leaf('planner'),
    children: names.map((name) => leaf(name)),
  });
  const host = createHost({ models: { leading } });
  const run = host.run(lead, 'go');
  const events = await collect(run);
  expect(ofType(events, 'tool_response')).toHaveLength(1_000);
  expect(await run.result).toMatchObject({ ok: true, result: 'x' });
  await host.close();
}, 120_000);
