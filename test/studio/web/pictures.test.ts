import { expect, test } from 'vitest';
import { boxOf, isStateValue, lastTransition } from '../../../src/studio/web/last-transition.js';
import { moved, ticksOf, zoomed } from '../../../src/studio/web/time-scale.js';

const arrow = (from: string, to: string) => ({ from, to });

test('the last transition is the arrow from what was active to what is', () => {
  const arrows = [arrow('m__a', 'm__b'), arrow('m__b', 'm__a'), arrow('m__a', 'm__c'), arrow('m__b', 'm__b')];
  expect(lastTransition('m', 'a', 'b', arrows)).toEqual([arrows[0]]);
  expect(lastTransition('m', 'b', 'b', arrows)).toEqual([arrows[3]]);
  expect(lastTransition('m', 'c', 'b', arrows)).toEqual([]);
});

test('out of "any of these", and into the innermost state that there is an arrow to', () => {
  const arrows = [arrow('m__anywhere', 'm__done'), arrow('m__idle', 'm__busy'), arrow('m__busy__x', 'm__busy__y')];
  expect(lastTransition('m', { busy: 'x' }, 'done', arrows)).toEqual([arrows[0]]);
  expect(lastTransition('m', 'idle', { busy: 'x' }, arrows)).toEqual([arrows[1]]);
  expect(lastTransition('m', { busy: 'x' }, { busy: 'y' }, arrows)).toEqual([arrows[2]]);
  expect(boxOf('my-graph.a b.c')).toBe('my_graph__a_b__c');
});

test('only what XState could say is read as the value of a machine', () => {
  expect([isStateValue('a'), isStateValue({ a: { b: 'c' } }), isStateValue(3), isStateValue(['a'])]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  let deep: unknown = 'x';
  for (let at = 0; at < 100; at++) deep = { in: deep };
  expect(isStateValue(deep)).toBe(false);
});

test('zooming keeps the moment under the pointer, and nothing goes beyond the run', () => {
  const whole = { from: 0, until: 1_000 };
  expect(zoomed(whole, whole, 250, 0.5)).toEqual({ from: 125, until: 625 });
  expect(zoomed({ from: 125, until: 625 }, whole, 250, 100)).toEqual(whole);
  expect(moved({ from: 100, until: 200 }, whole, -500)).toEqual({ from: 0, until: 100 });
  expect(moved({ from: 100, until: 200 }, whole, 5_000)).toEqual({ from: 900, until: 1_000 });
});

test('moments on the ruler are round, and far enough apart to be read', () => {
  expect(ticksOf({ from: 1_000, until: 11_000 }, 1_000, 1_200)).toEqual(
    Array.from({ length: 11 }, (_, at) => at * 1_000),
  );
  expect(ticksOf({ from: 0, until: 50_000_000 }, 0, 900).length).toBeLessThan(12);
});
