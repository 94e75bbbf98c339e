import { expect, test } from 'vitest';
import { hierarchicalMachine } from '../../compositions/hierarchical.machine.js';
import { planOf, settled, unreached, walk } from './paths.js';

const input = { address: 'h', plan: planOf() };
const call = (requestId: string, index = 0) => ({ type: 'delegate', index, requestId, input: { prompt: 'x' } });
const cancel = (requestId: string) => ({ type: 'delegation.cancel', requestId });

test('children that are called side by side are counted, and the last one gives the leader back its peace', () => {
  const { states, orders } = walk(hierarchicalMachine, input, [call('c1'), call('c2', 1), settled(), settled()]);
  expect(states).toEqual(['leading', 'delegating', 'delegating', 'delegating', 'leading']);
  expect(orders).toEqual([
    { type: 'crew.delegate', index: 0, requestId: 'c1', input: { prompt: 'x' } },
    { type: 'crew.delegate', index: 1, requestId: 'c2', input: { prompt: 'x' } },
  ]);
});

test('one call is cancelled, the others stay', () => {
  const { states, orders } = walk(hierarchicalMachine, input, [call('c1'), call('c2'), cancel('c2')]);
  expect(states.at(-1)).toBe('delegating');
  expect(orders.at(-1)).toEqual({ type: 'crew.cancel', requestId: 'c2' });
});

test('every state and every transition is reached', () => {
  // More than two calls at once are no other state.
  const events = [call('c1'), settled(), cancel('c1')];
  expect(unreached(hierarchicalMachine, [input], events, (state) => state.context.live > 2)).toEqual([]);
});
