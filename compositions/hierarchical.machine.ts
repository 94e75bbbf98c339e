import { assign, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { CrewPlan } from '../src/kernel/crew.js';
import type { CrewLogic } from './spawn-agent.js';

export interface DelegationInput {
  readonly address: string;
  readonly plan: CrewPlan;
}

export type DelegationEvent =
  | { type: 'delegate'; index: number; requestId: string; input: unknown }
  | { type: 'delegation.cancel'; requestId: string }
  | { type: 'child.settled' };

/**
 * The children of a leader. The leader's own turns run in its session; each child that it calls as a tool runs
 * here, beside the others, and its outcome is the call's result.
 */
export const hierarchicalMachine = setup({
  types: {
    input: {} as DelegationInput,
    context: {} as DelegationInput & { readonly live: number },
    events: {} as DelegationEvent,
  },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: { isLast: ({ context }) => context.live === 1 },
  actions: {
    countUp: assign({ live: ({ context }) => context.live + 1 }),
    countDown: assign({ live: ({ context }) => context.live - 1 }),
    start: sendTo('crew', (_, order: { index: number; requestId: string; input: unknown }) => ({
      ...order,
      type: 'crew.delegate',
    })),
    cancel: sendTo('crew', (_, { requestId }: { requestId: string }) => ({ type: 'crew.cancel', requestId })),
  },
}).createMachine({
  id: 'hierarchical',
  context: ({ input }) => ({ live: 0, ...input }),
  invoke: { src: 'crew', id: 'crew', input: ({ context }) => ({ address: context.address }) },
  initial: 'leading',
  on: { delegate: { target: '.delegating', actions: ['countUp', { type: 'start', params: ({ event }) => event }] } },
  states: {
    leading: {},
    delegating: {
      on: {
        'child.settled': [{ guard: 'isLast', target: 'leading', actions: 'countDown' }, { actions: 'countDown' }],
        'delegation.cancel': { actions: { type: 'cancel', params: ({ event }) => event } },
      },
    },
  },
});
