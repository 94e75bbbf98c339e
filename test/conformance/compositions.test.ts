import { describe, test } from 'vitest';
import { agent, graph, hierarchical, loop, parallel, sequential, transfer } from '../../src/index.js';
import { compositionCases, type MakeComposition, type ScriptFunction } from '../../src/testing/index.js';

/** Calls every child, then answers. */
const leads: ScriptFunction = ({ tools = [], messages }) =>
  messages.at(-1)?.content.some((part) => part.type === 'function_response')
    ? { text: 'all done' }
    : { toolCalls: tools.map(({ name }) => ({ name, args: { prompt: 'go' } })) };

const compositions: Record<string, MakeComposition> = {
  sequential: (children) => sequential({ name: 'team', children: [...children] }),
  parallel: (children) => parallel({ name: 'team', children: [...children] }),
  loop: (children) => loop({ name: 'team', children: [...children], maxIterations: 2 }),
  transfer: (children) =>
    transfer({ name: 'team', members: [...children], start: children[0]?.name as string, targets: {} }),
  graph: (children) =>
    graph({
      name: 'team',
      nodes: Object.fromEntries(children.map((child) => [child.name, child])),
      edges: children.slice(1).map(({ name }, index) => ({ from: children[index]?.name as string, to: name })),
      start: children[0]?.name as string,
      end: children.at(-1)?.name as string,
    }),
  hierarchical: (children) => ({
    team: hierarchical({ name: 'team', agent: agent({ name: 'leader' }), children: [...children] }),
    lines: { leader: leads },
  }),
};

for (const [name, make] of Object.entries(compositions)) {
  describe(name, () => {
    for (const one of compositionCases) test(one.name, () => one.run(make));
  });
}
