import { assign, sendParent, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { CompositionEvent, Conclusion, CrewInput } from '../src/kernel/crew.js';
import { type CompositionContext, type CrewLogic, crewInput } from './spawn-agent.js';

/** All children at once, within the concurrency, until all have settled or enough have succeeded. */
export const parallelMachine = setup({
  types: {
    input: {} as CrewInput,
    context: {} as CompositionContext & { readonly settled: number; readonly succeeded: number },
    events: {} as CompositionEvent,
  },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: {
    escalates: (_, { escalated }: { escalated: boolean }) => escalated,
    failsFast: ({ context }, { ok }: { ok: boolean }) => !ok && context.plan.failFast,
    isLast: ({ context }) => context.settled + 1 === context.plan.count,
    isEnough: ({ context }, { ok }: { ok: boolean }) => ok && context.succeeded + 1 >= context.plan.quorum,
  },
  actions: {
    count: assign({
      settled: ({ context }) => context.settled + 1,
      succeeded: ({ context }, { ok }: { ok: boolean }) => context.succeeded + (ok ? 1 : 0),
    }),
    startAll: sendTo('crew', { type: 'crew.startAll' }),
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
  id: 'parallel',
  context: ({ input }) => ({ settled: 0, succeeded: 0, conclusion: 'completed', ...input }),
  invoke: { src: 'crew', id: 'crew', input: crewInput },
  initial: 'running',
  states: {
    running: {
      entry: 'startAll',
      on: {
        'child.settled': [
          {
            guard: { type: 'escalates', params: ({ event }) => event },
            target: 'stopping',
            actions: { type: 'because', params: { why: 'escalated' } },
          },
          {
            guard: { type: 'failsFast', params: ({ event }) => event },
            target: 'stopping',
            actions: { type: 'because', params: { why: 'failed' } },
          },
          { guard: 'isLast', target: 'concluding' },
          {
            guard: { type: 'isEnough', params: ({ event }) => event },
            target: 'stopping',
            actions: { type: 'because', params: { why: 'joined' } },
          },
          { actions: { type: 'count', params: ({ event }) => event } },
        ],
        'run.stop': { target: 'stopping', actions: { type: 'because', params: { why: 'aborted' } } },
      },
    },
    stopping: {
      entry: 'stopCrew',
      on: {
        'run.stop': { actions: { type: 'because', params: { why: 'aborted' } } },
        'crew.stopped': 'concluding',
      },
    },
    concluding: {
      entry: 'conclude',
      on: { 'crew.concluded': { target: 'ended', actions: { type: 'reportEnd', params: ({ event }) => event } } },
    },
    // Not final: the session stops it once it has heard of the end.
    ended: {},
  },
});
