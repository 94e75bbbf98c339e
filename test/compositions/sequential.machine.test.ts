import { expect, test } from 'vitest';
import { sequentialMachine } from '../../compositions/sequential.machine.js';
import { concluded, planOf, settled, stop, stopped, unreached, walk } from './paths.js';

const input = (plan = planOf()) => ({ address: 's', plan });

test('children start one after another, and the last one concludes', () => {
  const { states, orders } = walk(sequentialMachine, input(), [settled(), settled(), settled(), concluded]);
  expect(states).toEqual(['running', 'running', 'running', 'concluding', 'ended']);
  expect(orders).toEqual([
    { type: 'crew.start', index: 0 },
    { type: 'crew.start', index: 1 },
    { type: 'crew.start', index: 2 },
    { type: 'crew.conclude', conclusion: 'completed' },
    { type: 'turn.ended', reason: 'completed', endsSession: true },
  ]);
});

test('a failure ends it, unless it goes on', () => {
  const failure = settled({ ok: false });
  expect(walk(sequentialMachine, input(), [failure]).orders.at(-1)).toEqual({
    type: 'crew.conclude',
    conclusion: 'failed',
  });
  const goesOn = walk(sequentialMachine, input(planOf({ goesOnAfterFailure: true })), [failure]);
  expect(goesOn.states.at(-1)).toBe('running');
  expect(goesOn.orders.at(-1)).toEqual({ type: 'crew.start', index: 1 });
});

test('an escalation ends it, whatever is left', () => {
  const { states, orders } = walk(sequentialMachine, input(), [settled({ escalated: true })]);
  expect(states.at(-1)).toBe('concluding');
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'escalated' });
});

test('a stop waits for the crew, and what settles meanwhile starts nothing', () => {
  const { states, orders } = walk(sequentialMachine, input(), [stop, settled(), stopped, stop, concluded]);
  expect(states).toEqual(['running', 'stopping', 'stopping', 'concluding', 'concluding', 'ended']);
  expect(orders.map((order) => order.type)).toEqual(['crew.start', 'crew.stop', 'crew.conclude', 'turn.ended']);
});

test('every state and every transition is reached', () => {
  const events = [settled(), settled({ ok: false }), settled({ escalated: true }), stop, stopped, concluded];
  expect(unreached(sequentialMachine, [input(), input(planOf({ goesOnAfterFailure: true }))], events)).toEqual([]);
});
