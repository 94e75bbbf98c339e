import { test } from 'vitest';
import { expectSeedsToHold } from './seeds.js';

test(
  'whatever fails and whenever it dies, a run ends once, in good order, and nothing happens twice: more seeds',
  () => expectSeedsToHold(551, 550),
  300_000,
);
