import type { GraphPlan } from '../kernel/graph-plan.js';
import type { CrewState } from './crew-state.js';
import { dataInput, ownInput, sameInput } from './own-input.js';
import { type RunInput, toRunInput } from './run-start.js';
import type { CompiledAgent, Thread } from './thread.js';

/**
 * What the way that was taken hands to a node: the graph's own input, the output of the node before it, and where `all`
 * join a map of the outputs that arrived.
 */
export function graphInput(
  thread: Thread,
  crew: CrewState,
  child: CompiledAgent,
  from: readonly number[],
): { readonly given: unknown; readonly input: RunInput } {
  const plan = thread.agent.plan?.graph as GraphPlan;
  const index = thread.agent.children.indexOf(child);
  const results = [...new Set(from)].flatMap((node) => {
    const outcome = node < 0 ? undefined : crew.outcomes[node];
    return outcome?.ok && outcome.end.data.result !== undefined
      ? [[outcome.name, outcome.end.data.result] as const]
      : [];
  });
  if (plan.joins[index] === 'all' && !from.includes(-1)) return handedOn(child, Object.fromEntries(results));
  const last = results.at(-1);
  return last === undefined ? { given: ownInput(thread), input: sameInput(thread, child) } : handedOn(child, last[1]);
}

function handedOn(child: CompiledAgent, given: unknown): { given: unknown; input: RunInput } {
  return { given, input: typeof given === 'string' ? toRunInput(child, given) : dataInput(child, given) };
}
