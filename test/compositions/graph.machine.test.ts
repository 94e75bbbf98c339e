import { expect, test } from 'vitest';
import {
  type AnyMachineSnapshot,
  createActor,
  type EventObject,
  fromCallback,
  initialTransition,
  transition,
} from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';
import { graphComposition } from '../../compositions/graph.logic.js';
import { type GraphContext, graphMachine, planMachine } from '../../compositions/graph.machine.js';
import type { CompositionConfig } from '../../src/contracts/index.js';
import { graph as defineGraph } from '../../src/define/graph.js';
import type { GraphPlan } from '../../src/kernel/graph-plan.js';
import { graphPlan } from '../../src/kernel/graph-plan.js';
import { fc } from '../support/fast-check.js';
import { concluded, planOf, settled, stop, stopped, walk } from './paths.js';

type Edge = readonly [from: string, to: string, guard?: 'custom' | 'otherwise'];

function planned(nodes: string, edges: readonly Edge[], more: Partial<CompositionConfig> = {}): GraphPlan {
  const children = nodes.split('');
  return graphPlan({
    pattern: 'graph',
    children,
    start: children[0] as string,
    end: children.at(-1) as string,
    edges: edges.map(([from, to, guard]) => (guard === undefined ? { from, to } : { from, to, guard })),
    ...more,
  });
}

const input = (graph: GraphPlan) => ({ address: 'g', plan: planOf({ count: graph.nodes.length, graph }) });
const ended = (index: number, more: object = {}) => settled({ index, ...more });
const decided = (index: number, taken: readonly number[], failed = false) => ({
  type: 'crew.decidedEdges',
  index,
  taken,
  failed,
});
const run = (graph: GraphPlan, events: readonly EventObject[]) => walk(planMachine(graph), input(graph), events);
const starts = (orders: readonly EventObject[]) =>
  orders.flatMap((order) =>
    order.type === 'crew.start' ? [order as unknown as { index: number; from: number[] }] : [],
  );
const begun = (orders: readonly EventObject[]) => starts(orders).map(({ index }) => index);

const diamond = (join: 'all' | 'any') =>
  planned(
    'abcd',
    [
      ['a', 'b'],
      ['a', 'c'],
      ['b', 'd'],
      ['c', 'd'],
    ],
    { joins: { d: join } },
  );

test('edges that are taken together begin what they lead to at once', () => {
  const { orders, snapshot } = run(diamond('all'), [ended(0)]);
  expect(begun(orders)).toEqual([0, 1, 2]);
  expect(snapshot.value).toEqual({ running: { a: 'idle', b: 'running', c: 'running', d: 'idle' } });
});

test('a join of all waits for what is on its way, and is told who led to it', () => {
  const waiting = run(diamond('all'), [ended(0), ended(2)]);
  expect(waiting.snapshot.value).toEqual({ running: { a: 'idle', b: 'running', c: 'idle', d: 'waiting' } });
  const { orders } = run(diamond('all'), [ended(0), ended(2), ended(1), ended(3)]);
  expect(starts(orders).at(-1)).toMatchObject({ index: 3, from: [2, 1] });
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'completed', end: 3 });
});

test('a join of all does not wait for a way that was not taken', () => {
  const graph = planned(
    'abcd',
    [
      ['a', 'b', 'custom'],
      ['a', 'c', 'custom'],
      ['b', 'd'],
      ['c', 'd'],
    ],
    {
      joins: { d: 'all' },
    },
  );
  const { orders, states } = run(graph, [ended(0), decided(0, [2]), ended(2), ended(3)]);
  expect(begun(orders)).toEqual([0, 2, 3]);
  expect(states.at(-1)).toBe('concluding');
});

test('a join of any begins with the first, leaves the others and waits until they have settled', () => {
  const left = run(diamond('any'), [ended(0), ended(1)]);
  expect(left.orders).toContainEqual({ type: 'crew.leave', indexes: [2] });
  expect(left.snapshot.value).toEqual({ running: { a: 'idle', b: 'idle', c: 'leaving', d: 'running' } });
  const first = run(diamond('any'), [ended(0), ended(1), ended(3)]);
  expect(first.states.at(-1)).toEqual({ running: { a: 'idle', b: 'idle', c: 'leaving', d: 'idle' } });
  const { states, orders } = run(diamond('any'), [ended(0), ended(1), ended(3), ended(2, { ok: false })]);
  expect(states.at(-1)).toBe('concluding');
  expect(begun(orders)).toEqual([0, 1, 2, 3]);
});

const cycle = (more: Partial<CompositionConfig> = {}) =>
  planned(
    'ab',
    [
      ['a', 'b'],
      ['b', 'a', 'custom'],
    ],
    { maxSteps: 4, ...more },
  );

test('a cycle goes round as long as its guard holds, within its steps', () => {
  const ends = run(cycle(), [ended(0), ended(1), decided(1, [2]), ended(0), ended(1), decided(1, [])]);
  expect(begun(ends.orders)).toEqual([0, 1, 0, 1]);
  expect(ends.orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'completed', end: 1 });
  const goesOn = run(cycle(), [ended(0), ended(1), decided(1, [2]), ended(0), ended(1), decided(1, [2]), stopped]);
  expect(begun(goesOn.orders)).toEqual([0, 1, 0, 1]);
  expect(goesOn.orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'max_steps', end: -1 });
});

test('where no edge is taken and no end was reached it is stuck', () => {
  const graph = planned('abc', [
    ['a', 'b', 'custom'],
    ['b', 'c'],
  ]);
  expect(run(graph, [ended(0), decided(0, [])]).orders.at(-1)).toMatchObject({ conclusion: 'stuck' });
});

test('a failure, an escalation, a guard that throws and a stop end it', () => {
  const ends = (graph: GraphPlan, ...events: EventObject[]) => run(graph, [...events, stopped]).orders.at(-1);
  expect(ends(diamond('all'), ended(0), ended(1, { ok: false }))).toMatchObject({ conclusion: 'failed' });
  expect(ends(diamond('all'), ended(0), ended(1, { escalated: true }))).toMatchObject({ conclusion: 'escalated' });
  expect(ends(cycle(), ended(0), ended(1), decided(1, [], true))).toMatchObject({ conclusion: 'failed' });
  expect(ends(diamond('all'), ended(0), stop)).toMatchObject({ conclusion: 'aborted' });
  expect(ends(diamond('all'), ended(0), ended(1, { ok: false }), stop)).toMatchObject({ conclusion: 'aborted' });
});

test('walked with every event in every state, each state of each node is reached, and none is a dead end', () => {
  const graph = planned(
    'abcd',
    [
      ['a', 'b'],
      ['a', 'c'],
      ['b', 'd', 'custom'],
      ['c', 'd'],
      ['b', 'c', 'otherwise'],
      ['d', 'a', 'custom'],
    ],
    { joins: { c: 'all', d: 'any' }, maxSteps: 8 },
  );
  const machine = planMachine(graph).provide({ actions: { reportEnd: () => {} } } as never);
  const events = [0, 1, 2, 3].flatMap((index) => [
    ended(index),
    decided(index, edgesOf(graph, index)),
    decided(index, []),
  ]);
  const map = getAdjacencyMap(machine, {
    input: input(graph),
    events: [...events, ended(0, { ok: false }), stop, stopped, concluded],
    limit: 20_000,
  } as never) as unknown as Record<
    string,
    { state: AnyMachineSnapshot; transitions: Record<string, { state: AnyMachineSnapshot }> }
  >;
  const seen = new Set<string>();
  for (const { state, transitions } of Object.values(map)) {
    if (typeof state.value === 'string') seen.add(state.value);
    else for (const [name, one] of Object.entries(state.value.running as object)) seen.add(`${name}.${one}`);
    const leadsOn = Object.values(transitions).some(({ state: next }) => next !== state);
    expect(leadsOn || state.value === 'ended', JSON.stringify(state.value)).toBe(true);
  }
  expect([...seen].sort()).toEqual([
    ...['a.idle', 'a.running'],
    ...['b.deciding', 'b.idle', 'b.running'],
    ...['c.idle', 'c.leaving', 'c.running', 'c.waiting'],
    ...['concluding', 'd.deciding', 'd.idle', 'd.running', 'ended', 'stopping'],
  ]);
});

const edgesOf = ({ edges }: GraphPlan, node: number) => edges.flatMap(({ from }, at) => (from === node ? [at] : []));

/** Graphs of up to six nodes: a chain, so that all is reachable, and edges on top of it, back ones too. */
const graphs = fc
  .record({
    count: fc.integer({ min: 1, max: 6 }),
    extra: fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.constantFrom(undefined, 'custom' as const)), { maxLength: 8 }),
    joins: fc.array(fc.constantFrom('all' as const, 'any' as const), { minLength: 6, maxLength: 6 }),
    maxSteps: fc.integer({ min: 1, max: 12 }),
  })
  .map(({ count, extra, joins, maxSteps }) => {
    const names = 'abcdef'.slice(0, count).split('');
    const edges = new Map<string, Edge>();
    for (const [index, to] of names.slice(1).entries()) edges.set(`${index}`, [names[index] as string, to]);
    for (const [from, to, guard] of extra) {
      if (from >= count || to >= count || to === from + 1) continue;
      // Only a guard can keep a way back from being taken for ever.
      edges.set(`${from}-${to}`, [names[from] as string, names[to] as string, to <= from ? 'custom' : guard]);
    }
    return planned(names.join(''), [...edges.values()], {
      joins: Object.fromEntries(names.map((name, index) => [name, joins[index] as 'all' | 'any'])),
      maxSteps,
    });
  });

test('whatever the graph and the order in which nodes end: it comes to an end, within its steps', () => {
  fc.assert(
    fc.property(graphs, fc.infiniteStream(fc.nat(1_000)), (graph, choices) => {
      const machine = planMachine(graph).provide({ actions: { reportEnd: () => {} } } as never);
      let [snapshot] = initialTransition(machine, input(graph) as never);
      const next = () => choices.next().value as number;
      for (let count = 0; snapshot.matches('running'); count++) {
        const { live, left, steps } = snapshot.context as GraphContext;
        expect(steps).toBeLessThanOrEqual(graph.maxSteps as number);
        expect(new Set([...live, ...left]).size).toBe(live.length + left.length);
        const open = [...live, ...left];
        expect(open.length, 'nothing runs, and it has not ended').toBeGreaterThan(0);
        const node = open[next() % open.length] as number;
        const isDeciding = (snapshot.value as { running: Record<string, string> }).running[graph.nodes[node] as string];
        const out = graph.edges.flatMap(({ from, guard }, at) =>
          from === node && (guard === 'none' || next() % 2 === 0) ? [at] : [],
        );
        const event = isDeciding === 'deciding' ? decided(node, out) : ended(node);
        [snapshot] = transition(machine, snapshot, event as never);
        expect(count).toBeLessThan(100);
      }
      expect(['stopping', 'concluding']).toContain(snapshot.value);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test('the logic that a host knows it by runs the machine of its plan, and goes on from what was kept of it', () => {
  const orders: EventObject[] = [];
  const crew = fromCallback(({ receive }) => receive((order) => orders.push(order)));
  const logic = graphComposition.provide({ actors: { crew: crew as never } });
  const first = createActor(logic, { input: input(diamond('all')) }).start();
  first.send(ended(0));
  first.send(ended(2));
  const kept = JSON.parse(JSON.stringify(first.getPersistedSnapshot()));
  first.stop();
  const second = createActor(logic, { snapshot: kept }).start();
  expect(second.getSnapshot().value).toEqual({ running: { a: 'idle', b: 'running', c: 'idle', d: 'waiting' } });
  second.send(ended(1));
  second.send(ended(3));
  expect(orders.at(-1)).toEqual({ type: 'crew.conclude', conclusion: 'completed', end: 3 });
  expect(begun(orders)).toEqual([0, 1, 2, 3]);
  second.stop();
});

test('the machine of a definition is walked by itself, without an input', () => {
  const team = defineGraph({
    name: 'review',
    nodes: { draft: () => 1, check: () => 2 },
    edges: [
      { from: 'draft', to: 'check' },
      { from: 'check', to: 'draft', guard: () => true },
    ],
    start: 'draft',
    end: 'check',
    maxSteps: 2,
  });
  const machine = graphMachine(team.descriptor);
  let [state] = initialTransition(machine);
  const values: unknown[] = [state.value];
  for (const event of [ended(0), ended(1), decided(1, [2])]) {
    [state] = transition(machine, state, event as never);
    values.push(state.value);
  }
  expect(values).toEqual([
    { running: { draft: 'running', check: 'idle' } },
    { running: { draft: 'idle', check: 'running' } },
    { running: { draft: 'idle', check: 'deciding' } },
    'stopping',
  ]);
  expect(() => graphMachine({ ...team.descriptor, composition: { pattern: 'loop', children: [] } })).toThrow(
    '"review" is no graph',
  );
});
