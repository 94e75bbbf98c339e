import { expect, test } from 'vitest';
import { transferMachine } from '../../compositions/transfer.machine.js';
import { concluded, planOf, settled, stop, stopped, unreached, walk } from './paths.js';

const input = { address: 't', plan: planOf() };

test('it begins with the member last active, and goes on with each target', () => {
  const { states, orders } = walk(transferMachine, input, [
    settled({ handoff: 2 }),
    settled({ index: 2, handoff: 0 }),
    settled(),
    concluded,
  ]);
  expect(states).toEqual(['active', 'active', 'active', 'concluding', 'ended']);
  expect(orders.slice(0, 4)).toEqual([
    { type: 'crew.start', index: -1 },
    { type: 'crew.start', index: 2 },
    { type: 'crew.start', index: 0 },
    { type: 'crew.conclude', conclusion: 'completed' },
  ]);
});

test('a member that fails or escalates ends it', () => {
  const ends = (event: object) => walk(transferMachine, input, [settled(event)]).orders.at(-1);
  expect(ends({ ok: false })).toEqual({ type: 'crew.conclude', conclusion: 'failed' });
  expect(ends({ escalated: true })).toEqual({ type: 'crew.conclude', conclusion: 'escalated' });
});

test('a member that hands over while it is being stopped hands over to nobody', () => {
  const { states, orders } = walk(transferMachine, input, [stop, settled({ handoff: 1 }), stopped]);
  expect(states).toEqual(['active', 'stopping', 'stopping', 'concluding']);
  expect(orders.filter((order) => order.type === 'crew.start')).toHaveLength(1);
});

test('every state and every transition is reached', () => {
  const events = [
    settled(),
    settled({ ok: false }),
    settled({ escalated: true }),
    settled({ handoff: 1 }),
    stop,
    stopped,
    concluded,
  ];
  expect(unreached(transferMachine, [input], events)).toEqual([]);
});
