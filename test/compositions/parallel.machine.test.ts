import { expect, test } from 'vitest';
import { parallelMachine } from '../../compositions/parallel.machine.js';
import { concluded, planOf, settled, stop, stopped, unreached, walk } from './paths.js';

const input = (plan = planOf()) => ({ address: 'p', plan });
const failure = settled({ ok: false });

test('all children start at once, and the last to settle concludes', () => {
  const { states, orders } = walk(parallelMachine, input(), [settled(), failure, settled(), concluded]);
  expect(states).toEqual(['running', 'running', 'running', 'concluding', 'ended']);
  expect(orders.map((order) => order.type)).toEqual(['crew.startAll', 'crew.conclude', 'turn.ended']);
});

test('the first failure stops the others where it fails fast', () => {
  const { states, orders } = walk(parallelMachine, input(planOf({ failFast: true })), [settled(), failure, stopped]);
  expect(states).toEqual(['running', 'running', 'stopping', 'concluding']);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'failed' });
});

test('enough successes stop the others', () => {
  const { states, orders } = walk(parallelMachine, input(planOf({ quorum: 2 })), [settled(), settled(), stopped]);
  expect(states).toEqual(['running', 'running', 'stopping', 'concluding']);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'joined' });
});

test('failures count for no quorum', () => {
  expect(walk(parallelMachine, input(planOf({ quorum: 1 })), [failure, failure]).states.at(-1)).toBe('running');
});

test('an escalation stops the others', () => {
  const { states, orders } = walk(parallelMachine, input(), [settled({ escalated: true }), stopped]);
  expect(states).toEqual(['running', 'stopping', 'concluding']);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'escalated' });
});

test('a stop while it is stopping is the reason that counts', () => {
  const { orders } = walk(parallelMachine, input(planOf({ failFast: true })), [failure, stop, stopped]);
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'aborted' });
});

test('every state and every transition is reached', () => {
  const events = [settled(), failure, settled({ escalated: true }), stop, stopped, concluded];
  const inputs = [input(), input(planOf({ failFast: true })), input(planOf({ quorum: 1 }))];
  expect(unreached(parallelMachine, inputs, events)).toEqual([]);
});
