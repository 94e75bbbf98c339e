import { assign, sendParent, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { CompositionEvent, Conclusion, CrewInput } from '../src/kernel/crew.js';
import { type CompositionContext, type CrewLogic, crewInput } from './spawn-agent.js';

/** Children in order; each sees the output of the one before. The first failure ends it, unless it goes on. */
export const sequentialMachine = setup({
  types: {
    input: {} as CrewInput,
    context: {} as CompositionContext & { readonly current: number },
    events: {} as CompositionEvent,
  },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: {
    escalates: (_, { escalated }: { escalated: boolean }) => escalated,
    endsByFailure: ({ context }, { ok }: { ok: boolean }) => !ok && !context.plan.goesOnAfterFailure,
    hasMore: ({ context }) => context.current + 1 < context.plan.count,
  },
  actions: {
    advance: assign({ current: ({ context }) => context.current + 1 }),
    startCurrent: sendTo('crew', ({ context }) => ({ type: 'crew.start', index: context.current })),
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
  id: 'sequential',
  context: ({ input }) => ({ current: 0, conclusion: 'completed', ...input }),
  invoke: { src: 'crew', id: 'crew', input: crewInput },
  initial: 'running',
  states: {
    running: {
      entry: 'startCurrent',
      on: {
        'child.settled': [
          {
            guard: { type: 'escalates', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'escalated' } },
          },
          {
            guard: { type: 'endsByFailure', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'failed' } },
          },
          { guard: 'hasMore', actions: ['advance', 'startCurrent'] },
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
