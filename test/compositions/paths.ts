import { type AnyStateMachine, type EventObject, initialTransition, type SnapshotFrom, transition } from 'xstate';
import { getAdjacencyMap, toDirectedGraph } from 'xstate/graph';
import type { CrewPlan } from '../../src/kernel/crew.js';

/** A plan of three children; `more` says what is special about it. */
export const planOf = (more: Partial<CrewPlan> = {}): CrewPlan => ({
  count: 3,
  concurrency: 16,
  failFast: false,
  goesOnAfterFailure: false,
  quorum: 3,
  maxIterations: 2,
  asksUntil: false,
  maxTransfers: 10,
  inLoop: false,
  graph: null,
  ...more,
});

export const settled = (more: object = {}) => ({
  type: 'child.settled' as const,
  index: 0,
  ok: true,
  escalated: false,
  handoff: -1,
  ...more,
});

export const concluded = { type: 'crew.concluded', reason: 'completed', endsSession: true };
export const stopped = { type: 'crew.stopped' };
export const stop = { type: 'run.stop' };

/** Pure transitions have no parent to send to: the report is an action that only shows. */
const alone = (machine: AnyStateMachine): AnyStateMachine =>
  machine.provide({ actions: { reportEnd: () => {} } } as never);

/** A machine walked by pure transitions: the state after each event, and what it tells its crew and its parent. */
export function walk(walked: AnyStateMachine, input: object, events: readonly EventObject[]) {
  const machine = alone(walked);
  let [snapshot, actions] = initialTransition(machine, input as never);
  const states: unknown[] = [snapshot.value];
  const orders: EventObject[] = [...ordersIn(actions)];
  for (const event of events) {
    [snapshot, actions] = transition(machine, snapshot as SnapshotFrom<AnyStateMachine>, event as never);
    states.push(snapshot.value);
    orders.push(...ordersIn(actions));
  }
  return { states, orders, snapshot };
}

/** Events sent to another actor, in order. */
const ordersIn = (actions: readonly { type: string; params?: unknown }[]): EventObject[] =>
  actions.flatMap(({ type, params }) => {
    if (type === 'xstate.sendTo') return [(params as { event: EventObject }).event];
    return type === 'reportEnd' ? [{ ...(params as object), type: 'turn.ended' }] : [];
  });

/**
 * What a machine draws and no walk ever reaches, by name: states, and transitions as `state --event [guard]--> target`.
 * Every walk of `events` is taken, from every one of `inputs`.
 */
export function unreached(
  walked: AnyStateMachine,
  inputs: readonly object[],
  events: readonly EventObject[],
  stopWhen: (state: Snapshot) => boolean = () => false,
): string[] {
  const machine = alone(walked);
  const states = new Set<string>();
  const taken = new Set<unknown>();
  for (const input of inputs) {
    const map = getAdjacencyMap(machine, { input, events, stopWhen, limit: 5_000 } as never) as unknown as Record<
      string,
      { state: Snapshot }
    >;
    for (const { state } of Object.values(map)) {
      states.add(String(state.value));
      for (const event of events) for (const one of machine.getTransitionData(state, event)) taken.add(one);
    }
  }
  const { children, edges } = toDirectedGraph(machine);
  return [
    ...children.map((child) => child.stateNode.key).filter((key) => !states.has(key)),
    ...[...edges, ...children.flatMap((child) => child.edges)]
      .filter((edge) => !taken.has(edge.transition))
      .map((edge) => nameOf(edge.source.key, edge.label.text, edge.transition, edge.target.key)),
  ];
}

type Snapshot = SnapshotFrom<AnyStateMachine>;

const nameOf = (source: string, event: string, { guard }: { guard?: unknown }, target: string): string =>
  `${source} --${event}${guard === undefined ? '' : ` [${String((guard as { type?: string }).type ?? guard)}]`}--> ${target}`;
