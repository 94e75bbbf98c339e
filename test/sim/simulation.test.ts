import { performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { validateJson } from '../../src/kernel/schema.js';
import { describeFailure } from './command.js';
import { simulate } from './world.js';

/** So many fit into CI time; `npm run sim -- --seeds 10000` runs more. */
const SEEDS = 400;

// Loaded once, so that no seed waits for a file.
await validateJson({ type: 'object' }, {});

test('a seed replays exactly', async () => {
  for (const seed of [2, 7, 15, 17, 38]) {
    const first = await simulate(seed);
    expect(first.trace.length).toBeGreaterThan(3);
    expect((await simulate(seed)).trace).toEqual(first.trace);
  }
});

/** What the trace of some seed must have, or the seeds have become tame. */
const REACHED = [
  'crash at append',
  'crash soon after',
  'store fails',
  'tool_recovery',
  'tool_confirmation',
  'act steer',
  'act abort',
  'act close',
  'agent_transfer',
  'loop_iteration',
  'ended completed',
  'ended failed',
  'ended aborted',
  'fault busy',
  'fault deaf',
  'fault throws',
  'process 3',
];

test('whatever fails and whenever it dies, a run ends once, in good order, and nothing happens twice', async () => {
  const failures: string[] = [];
  const missing = new Set(REACHED);
  const began = performance.now();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const simulation = await simulate(seed);
    if (simulation.problems.length > 0) failures.push(...describeFailure(simulation));
    for (const what of missing) if (simulation.trace.some((line) => line.includes(what))) missing.delete(what);
  }
  expect(failures, `of ${SEEDS} seeds in ${Math.round(performance.now() - began)} ms`).toEqual([]);
  expect([...missing]).toEqual([]);
}, 300_000);
