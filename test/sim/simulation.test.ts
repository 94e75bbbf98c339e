import { expect, test } from 'vitest';
import { expectSeedsToHold } from './seeds.js';
import { simulate } from './world.js';

test('a seed replays exactly', async () => {
  for (const seed of [2, 7, 15, 17, 38, 167, 294, 426, 595]) {
    const first = await simulate(seed);
    expect(first.trace.length).toBeGreaterThan(3);
    expect((await simulate(seed)).trace).toEqual(first.trace);
  }
});

// A quarter of the seeds in each file, for workers to share; `npm run sim -- --seeds 10000` runs more.
test(
  'whatever fails and whenever it dies, a run ends once, in good order, and nothing happens twice',
  () => expectSeedsToHold(1, 550),
  300_000,
);
