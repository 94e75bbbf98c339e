import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { agent } from '../../src/define/agent.js';
import { graph } from '../../src/define/graph.js';
import { parallel } from '../../src/define/parallel.js';
import { sequential } from '../../src/define/sequential.js';

const writer = agent({ name: 'writer', outputKey: 'draft' });
const critic = agent({ name: 'critic', outputSchema: z.object({ ok: z.boolean() }) });

const review = graph({
  name: 'review',
  nodes: { writer, count: async ({ input }) => String(input).length, critic },
  edges: [
    { from: 'writer', to: 'count' },
    { from: 'count', to: 'critic' },
    {
      from: 'critic',
      to: 'writer',
      guard: ({ results, state, visits, input }) => {
        expectTypeOf(results.count).toEqualTypeOf<number | undefined>();
        expectTypeOf(results.critic).toEqualTypeOf<{ ok: boolean } | undefined>();
        expectTypeOf(state.draft).toEqualTypeOf<string | undefined>();
        expectTypeOf(visits.count).toEqualTypeOf<number>();
        expectTypeOf(input).toEqualTypeOf<string>();
        return results.critic?.ok !== true;
      },
    },
  ],
  start: 'writer',
  end: 'critic',
  maxSteps: 9,
  mapInput: (node, { results }) => (node === 'critic' ? results.writer : undefined),
});

sequential({
  name: 's',
  children: [review, agent({ name: 'last' })],
  mapInput: (_, { results }) => {
    expectTypeOf(results.review).toEqualTypeOf<{ ok: boolean } | undefined>();
    return undefined;
  },
});
// @ts-expect-error the name stands inside the graph already
sequential({ name: 's', children: [review, agent({ name: 'critic' })] });

const nodes = { writer, critic };
const edges = [{ from: 'writer', to: 'critic' }] as const;
const both = parallel({ name: 'both', children: [writer] });
// @ts-expect-error no node has that name
graph({ name: 'g', nodes, edges, start: 'editor', end: 'critic' });
// @ts-expect-error no node has that name
graph({ name: 'g', nodes, edges, start: 'writer', end: ['critic', 'editor'] });
// @ts-expect-error an edge to nowhere
graph({ name: 'g', nodes, edges: [{ from: 'writer', to: 'editor' }], start: 'writer', end: 'critic' });
// @ts-expect-error no node has that name
graph({ name: 'g', nodes, edges, start: 'writer', end: 'critic', joins: { editor: 'all' } });
// @ts-expect-error the agent has another name
graph({ name: 'g', nodes: { writer, editor: critic }, edges: [], start: 'writer', end: 'writer' });
// @ts-expect-error the name stands twice in the tree
graph({ name: 'g', nodes: { writer, both }, edges: [], start: 'writer', end: 'both' });
// @ts-expect-error a node has the graph's own name
graph({ name: 'writer', nodes: { writer }, edges: [], start: 'writer', end: 'writer' });
graph({
  name: 'g',
  nodes,
  // @ts-expect-error the critic gives { ok }
  edges: [{ from: 'writer', to: 'critic', guard: ({ results }) => results.critic?.okay === true }],
  start: 'writer',
  end: 'critic',
});
