import type { AgentDefinition } from '../contracts/index.js';
import { endsOf } from '../kernel/graph-plan.js';

/** A machine or state as XState takes it, in plain JSON. */
export interface StateConfig {
  id?: string;
  type?: 'parallel' | 'final';
  description?: string;
  initial?: string;
  states?: Record<string, StateConfig>;
  invoke?: { id: string; src: string; onDone?: Target | Target[] };
  on?: Record<string, Target>;
  always?: Target[];
  onDone?: Target | Target[];
}

interface Target {
  target: string;
  guard?: { type: string; params: Record<string, unknown> };
}

/**
 * A team as one statechart: an agent is a state that invokes it, a composition a state with its children inside, and a
 * run of the team a way through it. What is reached is its final state; failures are left out.
 */
export function teamStatechart(definition: AgentDefinition): StateConfig {
  return { id: definition.name, ...regionOf(definition) };
}

/** A state that comes to its own end. */
function regionOf(definition: AgentDefinition): StateConfig {
  const children = definition.children ?? [];
  const config = definition.descriptor.composition;
  const done = freeKey('done', children);
  const final: StateConfig = { type: 'final' };
  switch (config?.pattern) {
    case undefined:
      return { ...about(definition), initial: 'running', states: { running: step(definition, 'done'), done: final } };
    case 'parallel':
      return {
        ...about(definition),
        type: 'parallel',
        states: Object.fromEntries(children.map((child) => [child.name, regionOf(child)])),
      };
    case 'loop': {
      const again = freeKey('again', children);
      const first = children[0]?.name ?? done;
      const states = chain(children, again);
      for (const state of Object.values(states)) state.on = { ...state.on, exit_loop: { target: done } };
      const guard = { type: 'hasMoreIterations', params: { maxIterations: config.maxIterations } };
      states[again] = { always: [{ target: first, guard }, { target: done }] };
      return { ...about(definition), initial: first, states: { ...states, [done]: final } };
    }
    case 'graph':
      return { ...about(definition), ...graphRegion(definition, done) };
    case 'transfer': {
      const states: Record<string, StateConfig> = {};
      const guard = { type: 'hasTransfersLeft', params: { maxTransfers: config.maxTransfers ?? 10 } };
      for (const member of children) {
        const targets =
          config.transferTargets === undefined
            ? config.children.filter((name) => name !== member.name)
            : (config.transferTargets[member.name] ?? []);
        const on = Object.fromEntries(targets.map((target) => [`transfer_to_agent.${target}`, { target, guard }]));
        states[member.name] = { ...step(member, done), ...(targets.length === 0 ? {} : { on }) };
      }
      return {
        ...about(definition),
        initial: config.start ?? children[0]?.name ?? done,
        states: { ...states, [done]: final },
      };
    }
    case 'hierarchical': {
      const { leader } = definition;
      const leading = leader === undefined ? {} : step(leader, done);
      const callable = children.map((child): [string, StateConfig] => [child.name, onCall(child)]);
      const states: Record<string, StateConfig> = {
        leading: {
          ...leading,
          ...(callable.length === 0 ? {} : { type: 'parallel', states: Object.fromEntries(callable) }),
        },
        [done]: final,
      };
      return { ...about(definition), initial: 'leading', states };
    }
    default:
      return {
        ...about(definition),
        initial: children[0]?.name ?? done,
        states: { ...chain(children, done), [done]: final },
      };
  }
}

/**
 * One node at a time, by the first edge whose guard holds. Where several may run at once this is no picture of it: the
 * machine that really runs is among the `--states`.
 */
function graphRegion(definition: AgentDefinition, done: string): StateConfig {
  const { start, edges = [], ...rest } = definition.descriptor.composition ?? { pattern: 'graph', children: [] };
  const states: Record<string, StateConfig> = {};
  for (const child of definition.children ?? []) {
    const out = edges.filter(({ from }) => from === child.name);
    const ways = [
      ...out.filter(({ guard }) => guard === 'custom'),
      ...out.filter(({ guard }) => guard !== 'custom'),
    ].map(({ to, guard, label }) =>
      guard === 'custom' ? { target: to, guard: { type: label ?? 'guard', params: {} } } : { target: to },
    );
    if (endsOf(rest).includes(child.name)) ways.push({ target: done });
    states[child.name] = { ...step(child, done), ...leadingTo(child, ways) };
  }
  return { initial: start ?? done, states: { ...states, [done]: { type: 'final' } } };
}

function leadingTo(child: AgentDefinition, ways: Target[]): Pick<StateConfig, 'onDone' | 'invoke'> {
  if (child.descriptor.composition !== undefined) return { onDone: ways };
  return { invoke: { id: child.name, src: child.name, onDone: ways } };
}

/** A state that goes to `next` when what happens in it has ended. */
function step(definition: AgentDefinition, next: string): StateConfig {
  if (definition.descriptor.composition !== undefined) return { ...regionOf(definition), onDone: { target: next } };
  return { ...about(definition), invoke: { id: definition.name, src: definition.name, onDone: { target: next } } };
}

/** A child that its leader calls as a tool, as often as it likes. */
function onCall(child: AgentDefinition): StateConfig {
  return {
    initial: 'idle',
    states: { idle: { on: { [`call.${child.name}`]: { target: 'running' } } }, running: step(child, 'idle') },
  };
}

function chain(children: readonly AgentDefinition[], last: string): Record<string, StateConfig> {
  return Object.fromEntries(
    children.map((child, index) => [child.name, step(child, children[index + 1]?.name ?? last)]),
  );
}

function about({ descriptor }: AgentDefinition): Pick<StateConfig, 'description'> {
  return descriptor.description === '' ? {} : { description: descriptor.description };
}

/** A name for a state of our own that no child has. */
function freeKey(wanted: string, children: readonly AgentDefinition[]): string {
  return children.some((child) => child.name === wanted) ? freeKey(`${wanted}_`, children) : wanted;
}
