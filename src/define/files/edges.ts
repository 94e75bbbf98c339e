import { defined } from './agent-options.js';
import { readCondition } from './condition.js';
import type { AskedState } from './node.js';
import type { Section } from './section.js';

/** The edges of a graph, `guard` as a condition or the word `otherwise`; what is wrong is in the section's report. */
export function readEdges(section: Section): { edges: object[]; askedState: AskedState[] } {
  const askedState: AskedState[] = [];
  const list = section.list('edges');
  const edges = (list?.items ?? []).flatMap((_, index) => {
    const edge = section.item('edges', index);
    if (edge === undefined) {
      section.say('edges', 'must be { from, to, guard? }', index);
      return [];
    }
    edge.refuseOthers(['from', 'to', 'guard', 'label']);
    for (const key of ['from', 'to']) if (!edge.has(key)) edge.say(key, 'is missing: the name of a node');
    const { guard, state } = readGuard(edge);
    if (state !== undefined) askedState.push({ key: state, steps: ['edges', index, 'guard', 'state'] });
    return [defined({ from: edge.text('from'), to: edge.text('to'), guard, label: edge.text('label') })];
  });
  return { edges, askedState };
}

function readGuard(edge: Section): { guard?: unknown; state?: string | undefined } {
  if (!edge.has('guard')) return {};
  if (edge.raw('guard')?.kind !== 'map') return { guard: edge.choice('guard', ['otherwise']) };
  const condition = readCondition(edge, 'guard');
  return condition === undefined ? {} : { guard: condition.holds, state: condition.state };
}
