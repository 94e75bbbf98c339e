import type { ActorRefFrom } from 'xstate';
import { setup } from 'xstate';
import { type EffectLogic, notProvided } from './agent-logic.js';

export interface ElicitationInput {
  readonly address: string;
  readonly requestId: string;
  /** Epoch ms; null: it never expires. */
  readonly expiresAt: number | null;
}

export type ElicitationEvent = { type: 'elicitation.answered' } | { type: 'elicitation.cancelled' };

/** Tells the host when a question's time is over (at once when it has passed); the host settles the question. */
export type DeadlineLogic = EffectLogic<{ type: 'none' }, ElicitationInput>;

/** One open question, from asking to its answer. */
export const elicitationMachine = setup({
  types: { input: {} as ElicitationInput, context: {} as ElicitationInput, events: {} as ElicitationEvent },
  actors: { deadline: notProvided<DeadlineLogic>('deadline') },
  guards: { mayExpire: ({ context }) => context.expiresAt !== null },
}).createMachine({
  id: 'elicitation',
  context: ({ input }) => input,
  initial: 'asked',
  on: { 'elicitation.answered': '.answered', 'elicitation.cancelled': '.cancelled' },
  states: {
    asked: { always: { guard: 'mayExpire', target: 'askedUntil' } },
    askedUntil: { invoke: { src: 'deadline', input: ({ context }) => context } },
    answered: { type: 'final' },
    cancelled: { type: 'final' },
  },
});

export type ElicitationRef = ActorRefFrom<typeof elicitationMachine>;
