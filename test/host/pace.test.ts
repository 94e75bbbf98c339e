import { expect, test } from 'vitest';
import { createPace, type Pace } from '../../src/host/pace.js';
import { retryWait } from '../../src/host/retry-wait.js';
import { agent, createHost, ModelError, parallel } from '../../src/index.js';
import { scriptedModel, seededRandom, type VirtualClock, virtualClock } from '../../src/testing/index.js';
import { collect, leaf, settle } from '../support/team.js';

/** When each of so many requests may go out. */
function arrivals(pace: Pace, clock: VirtualClock, count: number): number[] {
  const times: number[] = [];
  for (let at = 0; at < count; at++) void pace.wait('p').then(() => times.push(clock.now()));
  return times;
}

test('a provider that asked for less is asked nothing until its time, then one request after the other', async () => {
  const clock = virtualClock();
  const pace = createPace(clock);
  expect(pace.isFree('p')).toBe(true);
  pace.slow('p', 1_000);
  expect(pace.isFree('p')).toBe(false);
  expect(pace.isFree('q')).toBe(true);
  const times = arrivals(pace, clock, 4);
  await clock.advance(2_000);
  expect(times).toEqual([1_000, 1_100, 1_200, 1_300]);
});

test('requests that were under way say the same again: that slows once; a new one slows twice as much', async () => {
  const clock = virtualClock();
  const pace = createPace(clock);
  for (let at = 0; at < 50; at++) pace.slow('p', 1_000);
  await clock.advance(1_000);
  pace.slow('p', 1_000);
  const times = arrivals(pace, clock, 3);
  await clock.advance(2_000);
  expect(times).toEqual([2_000, 2_200, 2_400]);
});

test('answers let it go faster, and the last one lets go', async () => {
  const clock = virtualClock();
  const pace = createPace(clock);
  pace.slow('p', 1_000);
  // One that comes in meanwhile, from before, says nothing of how it is now.
  pace.answered('p');
  expect(pace.isFree('p')).toBe(false);
  const times = arrivals(pace, clock, 3);
  await clock.advance(1_000);
  pace.answered('p');
  await clock.advance(1_000);
  expect(times).toEqual([1_000, 1_100, 1_150]);
  pace.answered('p');
  expect(pace.isFree('p')).toBe(true);
});

test('a provider that nobody has asked for a while is held back no longer', async () => {
  const clock = virtualClock();
  const pace = createPace(clock);
  pace.slow('p', 1_000);
  await clock.advance(1_999);
  expect(pace.isFree('p')).toBe(false);
  await clock.advance(1);
  expect(pace.isFree('p')).toBe(true);
});

test('a wait of 0 holds nobody up, and an abort ends a wait without leaving a timer', async () => {
  const clock = virtualClock();
  const pace = createPace(clock);
  pace.slow('p', 0);
  expect(pace.isFree('p')).toBe(true);
  pace.slow('p', 1_000);
  const { signal, abort } = ((controller) => ({
    signal: controller.signal,
    abort: () => controller.abort(new Error('cut')),
  }))(new AbortController());
  const waiting = pace.wait('p', signal);
  abort();
  await expect(waiting).rejects.toThrow('cut');
  expect(clock.pending).toBe(0);
});

test('waits double, are spread over their lower half by chance, the same for the same seed', () => {
  const waits = (seed: number) => {
    const random = seededRandom(seed);
    return [1, 2, 3, 4].map((failures) => retryWait({ retryable: true, retryAfterMs: undefined }, failures, random));
  };
  for (const [at, wait] of waits(7).entries()) {
    const full = 500 * 2 ** at;
    expect(wait).toBeGreaterThan(full / 2);
    expect(wait).toBeLessThanOrEqual(full);
  }
  expect(waits(7)).toEqual(waits(7));
  expect(waits(7)).not.toEqual(waits(8));
});

test('what the provider names is waited exactly; 0 is 0; more than five minutes is not worth it', () => {
  const wait = (retryAfterMs: number, retryable = true) => retryWait({ retryable, retryAfterMs }, 3, () => 0.5);
  expect(wait(0)).toBe(0);
  expect(wait(1_234)).toBe(1_234);
  expect(wait(300_000)).toBe(300_000);
  expect(wait(300_001)).toBeUndefined();
  expect(wait(0, false)).toBeUndefined();
});

test('a 429 slows every agent that asks this provider, not only the one that was told', async () => {
  const clock = virtualClock();
  const times: [string, number][] = [];
  let busy = true;
  const model = scriptedModel((request) => {
    times.push([request._meta?.agent as string, clock.now()]);
    if (!busy) return { text: 'x' };
    busy = false;
    return { error: { code: 'RESOURCE_EXHAUSTED', message: 'slow', retryAfterMs: 3_000 } };
  });
  const other = scriptedModel((request) => {
    times.push([request._meta?.agent as string, clock.now()]);
    return { text: 'x' };
  });
  const host = createHost({ models: { m: model, o: other }, clock });
  const told = host.run(leaf('told'), 'go', { model: 'm' });
  const first = collect(told);
  await settle();
  // Another run, and another tree, of the same host.
  const team = parallel({
    name: 'p',
    children: [agent({ name: 'b', model: 'm' }), agent({ name: 'c', model: 'm' }), agent({ name: 'd', model: 'o' })],
  });
  const second = collect(host.run(team, 'go'));
  await settle();
  expect(times).toEqual([
    ['told', 0],
    ['d', 0],
  ]);
  await clock.advance(5_000);
  await Promise.all([first, second]);
  const later = times.slice(2);
  expect(later.map(([, at]) => at)).toEqual([3_000, 3_100, 3_150]);
  expect(later.map(([name]) => name).sort()).toEqual(['b', 'c', 'told']);
  await host.close();
});

test.each([
  [-5, 0],
  [0, 0],
  [Number.NaN, undefined],
  ['10', undefined],
  [null, undefined],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
])('a failure that asks for a wait of %s ms is taken to have asked for %s', (given, taken) => {
  expect(new ModelError({ code: 'UNAVAILABLE', message: 'x', retryAfterMs: given as never }).retryAfterMs).toBe(taken);
});
