import { expect, test } from 'vitest';
import { loopMachine } from '../../compositions/loop.machine.js';
import { concluded, planOf, settled, stop, stopped, unreached, walk } from './paths.js';

const input = (plan = planOf({ count: 2 })) => ({ address: 'l', plan });
const decided = (isOver: boolean) => ({ type: 'crew.decided', stop: isOver });
const starts = (orders: readonly object[]) => orders.filter((order) => 'index' in order);

test('its children run in order, exactly as many times as it may', () => {
  const { states, orders } = walk(loopMachine, input(), [settled(), settled(), settled(), settled()]);
  expect(states.at(-1)).toBe('concluding');
  expect(starts(orders)).toEqual([
    { type: 'crew.start', index: 0, iteration: 1 },
    { type: 'crew.start', index: 1, iteration: 1 },
    { type: 'crew.start', index: 0, iteration: 2 },
    { type: 'crew.start', index: 1, iteration: 2 },
  ]);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'max_iterations' });
});

test('after each iteration it is asked whether it goes on', () => {
  const asking = input(planOf({ count: 1, maxIterations: 3, asksUntil: true }));
  const { states, orders } = walk(loopMachine, asking, [settled(), decided(false), settled(), decided(true)]);
  expect(states).toEqual(['running', 'deciding', 'running', 'deciding', 'concluding']);
  expect(orders.filter((order) => order.type === 'crew.decide')).toEqual([
    { type: 'crew.decide', iteration: 1 },
    { type: 'crew.decide', iteration: 2 },
  ]);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'until' });
});

test('an escalation or a failure ends it at once', () => {
  const ends = (event: object) => walk(loopMachine, input(), [settled(event)]).orders.at(-1);
  expect(ends({ escalated: true })).toEqual({ type: 'crew.conclude', conclusion: 'escalated' });
  expect(ends({ ok: false })).toEqual({ type: 'crew.conclude', conclusion: 'failed' });
});

test('a stop is taken in every state but the last ones', () => {
  const asking = input(planOf({ count: 1, asksUntil: true }));
  expect(walk(loopMachine, asking, [stop]).states.at(-1)).toBe('stopping');
  expect(walk(loopMachine, asking, [settled(), stop]).states.at(-1)).toBe('stopping');
  expect(walk(loopMachine, asking, [settled(), stop, decided(true)]).states.at(-1)).toBe('stopping');
  expect(walk(loopMachine, asking, [stop, stopped, stop]).states.at(-1)).toBe('concluding');
});

test('every state and every transition is reached', () => {
  const events = [
    settled(),
    settled({ ok: false }),
    settled({ escalated: true }),
    decided(true),
    decided(false),
    stop,
    stopped,
    concluded,
  ];
  expect(unreached(loopMachine, [input(), input(planOf({ count: 1, asksUntil: true }))], events)).toEqual([]);
});
