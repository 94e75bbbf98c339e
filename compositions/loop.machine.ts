import { assign, sendParent, sendTo, setup } from 'xstate';
import { notProvided } from '../machines/agent-logic.js';
import type { CompositionEvent, Conclusion, CrewInput } from '../src/kernel/crew.js';
import { type CompositionContext, type CrewLogic, crewInput } from './spawn-agent.js';

/** Its children in order, again and again: until one escalates, `until` holds, or the iterations are used up. */
export const loopMachine = setup({
  types: {
    input: {} as CrewInput,
    context: {} as CompositionContext & { readonly current: number; readonly iteration: number },
    events: {} as CompositionEvent,
  },
  actors: { crew: notProvided<CrewLogic>('crew') },
  guards: {
    escalates: (_, { escalated }: { escalated: boolean }) => escalated,
    fails: (_, { ok }: { ok: boolean }) => !ok,
    hasMoreChildren: ({ context }) => context.current + 1 < context.plan.count,
    hasMoreIterations: ({ context }) => context.iteration < context.plan.maxIterations,
    asksUntil: ({ context }) => context.plan.asksUntil,
    holds: (_, { stop }: { stop: boolean }) => stop,
  },
  actions: {
    nextChild: assign({ current: ({ context }) => context.current + 1 }),
    nextIteration: assign({ current: 0, iteration: ({ context }) => context.iteration + 1 }),
    startCurrent: sendTo('crew', ({ context }) => ({
      type: 'crew.start',
      index: context.current,
      iteration: context.iteration,
    })),
    decide: sendTo('crew', ({ context }) => ({ type: 'crew.decide', iteration: context.iteration })),
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
  id: 'loop',
  context: ({ input }) => ({ current: 0, iteration: 1, conclusion: 'completed', ...input }),
  invoke: { src: 'crew', id: 'crew', input: crewInput },
  initial: 'running',
  on: { 'run.stop': { target: '.stopping', actions: { type: 'because', params: { why: 'aborted' } } } },
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
            guard: { type: 'fails', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'failed' } },
          },
          { guard: 'hasMoreChildren', actions: ['nextChild', 'startCurrent'] },
          { guard: 'asksUntil', target: 'deciding' },
          { guard: 'hasMoreIterations', actions: ['nextIteration', 'startCurrent'] },
          { target: 'concluding', actions: { type: 'because', params: { why: 'max_iterations' } } },
        ],
      },
    },
    deciding: {
      entry: 'decide',
      on: {
        'crew.decided': [
          {
            guard: { type: 'holds', params: ({ event }) => event },
            target: 'concluding',
            actions: { type: 'because', params: { why: 'until' } },
          },
          { guard: 'hasMoreIterations', target: 'running', actions: 'nextIteration' },
          { target: 'concluding', actions: { type: 'because', params: { why: 'max_iterations' } } },
        ],
      },
    },
    stopping: { entry: 'stopCrew', on: { 'crew.stopped': 'concluding' } },
    concluding: {
      entry: 'conclude',
      on: {
        'run.stop': {},
        'crew.concluded': { target: 'ended', actions: { type: 'reportEnd', params: ({ event }) => event } },
      },
    },
    // Not final: the session stops it once it has heard of the end.
    ended: {},
  },
});
