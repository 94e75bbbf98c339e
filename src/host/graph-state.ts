import { sameJson } from '../kernel/json-value.js';
import type { ChildOutcome, GraphState } from './crew-state.js';
import { publish } from './session-tree.js';
import { commitUpdates } from './state-updates.js';
import type { Thread } from './thread.js';

export const newGraphState = (): GraphState => ({ given: [], visits: [], commits: 0, written: new Map() });

/**
 * Takes what a node wrote to the state once it has ended. Nodes that ran at the same time and wrote different values to
 * a key without a reducer are a conflict: it is told, nothing is taken, and what this returns is why. Throws as
 * `commitUpdates` does.
 */
export function commitNode(
  thread: Thread,
  graph: GraphState,
  { name, updates, since }: ChildOutcome,
): { code: string; message: string } | undefined {
  const values = new Map(updates.map(({ key, value }) => [key, value]));
  const conflicts = [...values].flatMap(([key, value]) => {
    const other = graph.written.get(key);
    const isMeanwhile = other !== undefined && other.at > since && !sameJson(other.value, value);
    return isMeanwhile && !thread.state.isReduced(key) ? [{ key, branches: [other.name, name] }] : [];
  });
  if (conflicts.length > 0) {
    const said = conflicts.map(({ key, branches }) => `"${key}" by ${branches.join(' and ')}`).join(', ');
    const message = `state was written differently: ${said}; declare a reducer`;
    publish(thread, { type: 'error', code: 'STATE_CONFLICT', message, fatal: false, details: { conflicts } });
    return { code: 'STATE_CONFLICT', message };
  }
  commitUpdates(thread, updates);
  graph.commits++;
  for (const [key, value] of values) graph.written.set(key, { at: graph.commits, name, value });
  return undefined;
}
