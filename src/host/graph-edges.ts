import type { EdgesDecided } from '../kernel/crew.js';
import type { GraphPlan } from '../kernel/graph-plan.js';
import { isThenable, recordDecision } from './child-input.js';
import type { CrewState } from './crew-state.js';
import { publishFault } from './fault.js';
import { ownInput } from './own-input.js';
import { resultsOf } from './results.js';
import type { RunRecord, Thread } from './thread.js';

/** Asks the guards of a node's edges, in their order; what they said is kept in the log. */
export async function decideEdges(
  thread: Thread,
  crew: CrewState,
  index: number,
  isOver: () => boolean,
): Promise<EdgesDecided> {
  const run = thread.run as RunRecord;
  const plan = thread.agent.plan?.graph as GraphPlan;
  const node = plan.nodes[index] as string;
  const said = thread.past?.takeEdges(node);
  if (said !== undefined) {
    const taken = plan.edges.flatMap(({ from, to }, at) =>
      from === index && said.includes(plan.nodes[to] as string) ? [at] : [],
    );
    return { type: 'crew.decidedEdges', index, taken, failed: false };
  }
  const guards = thread.agent.definition.behaviour?.guards;
  const out = plan.edges.flatMap((edge, at) => (edge.from === index ? [{ edge, at }] : []));
  const context = {
    input: ownInput(thread),
    last: crew.outcomes[index]?.end.data.result,
    results: resultsOf(thread),
    state: thread.state.values(),
    visits: Object.fromEntries(plan.nodes.map((name, at) => [name, crew.graph?.visits[at] ?? 0])),
  };
  try {
    const held = new Set<number>();
    for (const { edge, at } of out) {
      if (edge.guard !== 'custom') continue;
      // The first edge of a plan comes from outside.
      const holds = guards?.[at - 1]?.(context as never);
      if (isThenable(holds) ? await holds : holds) held.add(at);
    }
    const taken = out.flatMap(({ edge, at }) =>
      edge.guard === 'none' || held.has(at) || (edge.guard === 'otherwise' && held.size === 0) ? [at] : [],
    );
    const names = taken.map((at) => plan.nodes[plan.edges[at]?.to ?? -1]);
    if (!isOver() && thread.run === run) recordDecision(thread, 'edges', { node, taken: names });
    return { type: 'crew.decidedEdges', index, taken, failed: false };
  } catch (thrown) {
    // The run may have ended while it was asked, and another have begun.
    if (!isOver() && thread.run === run) {
      run.stop ??= { reason: 'failed', data: publishFault(thread, `the guards of ${node}`, thrown, 'GUARD_FAILED') };
    }
    return { type: 'crew.decidedEdges', index, taken: [], failed: true };
  }
}
