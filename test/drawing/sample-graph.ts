import { agent } from '../../src/define/agent.js';
import { graph } from '../../src/define/graph.js';
import { parallel } from '../../src/define/parallel.js';

/** A function, a branch, a join, a nested team and a way back. */
export const tides = graph({
  name: 'tides',
  nodes: {
    topic: ({ input }) => input,
    prose: agent({ name: 'prose' }),
    verse: parallel({ name: 'verse', children: [agent({ name: 'rhyme' }), agent({ name: 'metre' })] }),
    editor: agent({ name: 'editor' }),
    press: agent({ name: 'press' }),
  },
  edges: [
    { from: 'topic', to: 'prose' },
    { from: 'topic', to: 'verse' },
    { from: 'prose', to: 'editor' },
    { from: 'verse', to: 'editor' },
    { from: 'editor', to: 'press', guard: ({ last }) => last === 'fine', label: 'fine' },
    { from: 'editor', to: 'prose', guard: 'otherwise' },
  ],
  start: 'topic',
  end: 'press',
  joins: { editor: 'all' },
  maxSteps: 10,
});
