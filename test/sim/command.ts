import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { validateJson } from '../../src/kernel/schema.js';
import { type Simulation, simulate } from './world.js';

// Loaded once, so that no seed waits for a file.
await validateJson({ type: 'object' }, {});
await import('p-queue');

const USE = `npm run sim -- [--seeds 1000] [--from 1]   simulates so many seeds, from that one on
npm run sim -- --seed <n>                  replays one seed and prints what happened`;

const whole = (text: string, name: string): number => {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} takes a whole number, not "${text}"`);
  return number;
};

/** Resolves with the exit code: 0 where everything held, 1 where something did not, 2 for wrong use. */
export async function runCommand(args: string[], say: (line: string) => void): Promise<number> {
  try {
    const { values } = parseArgs({
      args,
      options: { seed: { type: 'string' }, seeds: { type: 'string' }, from: { type: 'string' } },
    });
    if (values.seed !== undefined) return await replay(whole(values.seed, 'seed'), say);
    return await runMany(whole(values.from ?? '1', 'from'), whole(values.seeds ?? '1000', 'seeds'), say);
  } catch (thrown) {
    say(thrown instanceof Error ? thrown.message : String(thrown));
    say(USE);
    return 2;
  }
}

async function replay(seed: number, say: (line: string) => void): Promise<number> {
  const simulation = await simulate(seed);
  say(JSON.stringify(simulation.plan, null, 1));
  for (const line of simulation.trace) say(line);
  if (simulation.problems.length === 0) say('everything holds');
  else for (const line of describeFailure(simulation)) say(line);
  return simulation.problems.length === 0 ? 0 : 1;
}

async function runMany(from: number, seeds: number, say: (line: string) => void): Promise<number> {
  const began = performance.now();
  let failed = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const simulation = await simulate(seed);
    if (simulation.problems.length === 0) continue;
    failed++;
    for (const line of describeFailure(simulation)) say(line);
  }
  const ms = performance.now() - began;
  say(`${seeds - failed} of ${seeds} seeds hold, ${(ms / Math.max(1, seeds)).toFixed(1)} ms each`);
  return failed === 0 ? 0 : 1;
}

/** The seed, what does not hold, and how to see it again. */
export function describeFailure({ seed, problems }: Simulation): string[] {
  return [`seed ${seed} (npm run sim -- --seed ${seed}):`, ...problems.map((problem) => `  ${problem}`)];
}
