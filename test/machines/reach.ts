import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { adjacencyMapToArray, getAdjacencyMap, getStateNodes } from 'xstate/graph';

/** What a machine's states and transitions are called, and which of them a walk over all of `events` reaches. */
export interface Reach {
  states: { declared: string[]; reached: string[] };
  transitions: { declared: string[]; taken: string[] };
  steps: { from: AnyMachineSnapshot; event: EventObject; to: AnyMachineSnapshot }[];
}

/** Walks a machine from its start, by pure transitions. `same`: what tells two snapshots apart. */
export function reachOf(
  machine: AnyStateMachine,
  options: {
    input: unknown;
    events: readonly EventObject[] | ((snapshot: AnyMachineSnapshot) => readonly EventObject[]);
    same: (snapshot: AnyMachineSnapshot) => string;
  },
): Reach {
  const { input, events, same } = options;
  const map = getAdjacencyMap(machine, {
    input,
    events,
    serializeState: (snapshot: AnyMachineSnapshot) => same(snapshot),
    stopWhen: (snapshot: AnyMachineSnapshot) => snapshot.status !== 'active',
  } as never);
  const steps = adjacencyMapToArray(map).map(({ state, event, nextState }) => ({
    from: state as AnyMachineSnapshot,
    event,
    to: nextState as AnyMachineSnapshot,
  }));
  const nodes = [machine.root, ...getStateNodes(machine)];
  const names = new Map<object, string>();
  for (const node of nodes) {
    for (const [event, list] of node.transitions) {
      list.forEach((one, at) => {
        names.set(one, `${node.key} -- ${event}${list.length > 1 ? ` (${at + 1})` : ''}`);
      });
    }
  }
  const taken = new Set<string>();
  const reached = new Set<string>();
  for (const { from, event, to } of steps) {
    for (const snapshot of [from, to]) reached.add(String(snapshot.value));
    for (const one of machine.getTransitionData(from as never, event as never)) {
      const name = names.get(one);
      if (name !== undefined) taken.add(name);
    }
  }
  return {
    states: {
      declared: getStateNodes(machine)
        .map((node) => node.key)
        .sort(),
      reached: [...reached].sort(),
    },
    transitions: { declared: [...names.values()].sort(), taken: [...taken].sort() },
    steps,
  };
}
