import { expect, test } from 'vitest';
import { createLateTimer } from '../../src/kernel/late-timer.js';
import { virtualClock } from '../../src/testing/index.js';

const round = () => new Promise<void>((resolve) => setImmediate(resolve));

test('what ends within its round of the event loop never becomes a timer', async () => {
  const clock = virtualClock();
  const schedule = createLateTimer(clock);
  for (let i = 0; i < 3; i++) schedule(() => {}, 1000)();
  await round();
  expect(clock.pending).toBe(0);
});

test('what is still waited for runs at its time, counted from the call, and once', async () => {
  const clock = virtualClock();
  const schedule = createLateTimer(clock);
  let runs = 0;
  schedule(() => runs++, 1000);
  await clock.advance(999);
  expect([clock.pending, runs]).toEqual([1, 0]);
  await clock.advance(1);
  await clock.advance(5000);
  expect([clock.pending, runs]).toEqual([0, 1]);
});

test('it can be cancelled before and after it has become a timer', async () => {
  const clock = virtualClock();
  const schedule = createLateTimer(clock);
  let runs = 0;
  const cancels = [schedule(() => runs++, 10), schedule(() => runs++, 10)];
  cancels[0]?.();
  await round();
  expect(clock.pending).toBe(1);
  cancels[1]?.();
  await clock.advance(100);
  expect([clock.pending, runs]).toEqual([0, 0]);
});
