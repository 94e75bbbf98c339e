import { assign, sendParent, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { CompositionEvent, Conclusion, CrewInput } from '../src/kernel/crew.js';
import { type CompositionContext, type CrewLogic, crewInput } from './spawn-agent.js';

/** One member is active at a time, from the one last active; a member that hands off ends, and its target begins. */
export const transferMachine = setup({
  types: {
    input: {} as CrewInput,
    context: {} as CompositionContext & { readonly active: number },
    events: {} as CompositionEvent,
  },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: {
    escalates: (_, { escalated }: { escalated: boolean }) => escalated,
    fails: (_, { ok }: { ok: boolean }) => !ok,
    handsOff: (_, { handoff }: { handoff: number }) => handoff >= 0,
  },
  actions: {
    activate: assign({ active: (_, { handoff }: { handoff: number }) => handoff }),
    startActive: sendTo('crew', ({ context }) => ({ type: 'crew.start', index: context.active })),
    stopCrew: sendTo('crew', { type: 'crew.stop' }),
    conclude: sendTo('crew', ({ context }) => ({ type: 'crew.conclude', conclusion: context.conclusion })),
    because: assign({ conclusion: (_, { why }: { why: Conclusion }) => why }),
    reportEnd: sendParent((_, { reason, endsSession }: { reason: string; endsSession: boolean }) => ({
      type: 'turn.ended',
      reason,
      endsSession,
    })),
  },
}).createMachine({
  id: 'transfer',
  context: ({ input }) => ({ active: -1, conclusion: 'completed', ...input }),
  invoke: { src: 'crew', id: 'crew', input: crewInput },
  initial: 'active',
  states: {
    active: {
      entry: 'startActive',
      on: {
        'child.settled': [
          {
            guard: { type: 'handsOff', params: ({ event }) => event },
            actions: [{ type: 'activate', params: ({ event }) => event }, 'startActive'],
          },
          {
            guard: { type: 'escalates', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'escalated' } },
          },
          {
            guard: { type: 'fails', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'failed' } },
          },
          { target: 'concluding' },
        ],
        'run.stop': { target: 'stopping', actions: { type: 'because', params: { why: 'aborted' } } },
      },
    },
    stopping: { entry: 'stopCrew', on: { 'crew.stopped': 'concluding' } },
    concluding: {
      entry: 'conclude',
      on: { 'crew.concluded': { target: 'ended', actions: { type: 'reportEnd', params: ({ event }) => event } } },
    },
    // Not final: the session stops it once it has heard of the end.
    ended: {},
  },
});
