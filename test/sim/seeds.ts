import { performance } from 'node:perf_hooks';
import { expect } from 'vitest';
import { validateJson } from '../../src/kernel/schema.js';
import { describeFailure } from './command.js';
import { simulate } from './world.js';

// Loaded once, so that no seed waits for a file.
await validateJson({ type: 'object' }, {});
await import('p-queue');

/** What the trace of some seed of each part must have, or the seeds have become tame. */
const REACHED = [
  'crash at append',
  'crash soon after',
  'crash at write',
  'crash at datasync',
  'crash behind an act',
  'store fails',
  'tool_recovery',
  'tool_confirmation',
  'model_fallback',
  'tool_pending',
  'agent_transfer',
  'loop_iteration',
  'act steer',
  'act interrupt',
  'act pause',
  'act abort',
  'act close',
  'forked at',
  'rewound to',
  'rewind refused: SESSION_BUSY',
  'hook before_tool block',
  'hook before_tool throw',
  'hook before_tool change',
  'hook before_model change',
  'hook on_event',
  'ended completed',
  'ended failed',
  'ended aborted',
  'ended max_budget',
  'compact_boundary',
  'fault busy',
  'fault deaf',
  'fault throws',
  'process 3',
];

/** Simulates so many seeds, from one on. */
export async function expectSeedsToHold(from: number, count: number): Promise<void> {
  const failures: string[] = [];
  const missing = new Set(REACHED);
  const began = performance.now();
  for (let seed = from; seed < from + count; seed++) {
    const simulation = await simulate(seed);
    if (simulation.problems.length > 0) failures.push(...describeFailure(simulation));
    for (const what of missing) if (simulation.trace.some((line) => line.includes(what))) missing.delete(what);
  }
  expect(failures, `of ${count} seeds in ${Math.round(performance.now() - began)} ms`).toEqual([]);
  expect([...missing]).toEqual([]);
}
