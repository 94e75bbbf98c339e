// XState alone, the textbook way to fan out: children spawned by one machine, in its snapshot. Each spawn and stop
// copies the record of children, so this row shows why a pool is needed. Only the fan-out rows.
import { assign, createActor, enqueueActions, setup } from 'xstate';
import { ANSWER, PROMPT } from '../work.mjs';
import { child } from './raw-xstate.mjs';

async function* answering() {
  yield { type: 'text', text: ANSWER };
}

const parent = setup({ actors: { child } }).createMachine({
  id: 'parent',
  initial: 'running',
  context: ({ input }) => ({ count: input.count, results: {}, done: 0 }),
  states: {
    running: {
      entry: enqueueActions(({ enqueue, context: { count } }) => {
        for (let i = 0; i < count; i++) {
          enqueue.spawnChild('child', { id: `child_${i}`, input: { model: answering, prompt: PROMPT } });
        }
      }),
      on: {
        'xstate.done.actor.*': {
          actions: enqueueActions(({ enqueue, event }) => {
            enqueue.stopChild(event.actorId);
            enqueue(
              assign(({ context: { results, done } }) => {
                results[event.actorId] = event.output;
                return { done: done + 1 };
              }),
            );
          }),
        },
      },
      always: { guard: ({ context: { done, count } }) => done === count, target: 'ended' },
    },
    ended: { type: 'final' },
  },
  output: ({ context: { done } }) => done,
});

export const fanOut = (children) => () =>
  new Promise((resolve, reject) => {
    const actor = createActor(parent, { input: { count: children } });
    actor.subscribe({ complete: () => resolve(actor.getSnapshot().output), error: reject });
    actor.start();
  });
