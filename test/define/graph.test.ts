import { expect, test } from 'vitest';
import { agent } from '../../src/define/agent.js';
import { analyseTeam } from '../../src/define/analyse.js';
import { graph } from '../../src/define/graph.js';
import { describeAgent } from '../../src/kernel/definition.js';
import { faultsOf } from './faults.js';

const a = agent({ name: 'a' });
const b = agent({ name: 'b' });
const c = agent({ name: 'c' });
const d = agent({ name: 'd' });

/** What no compiler stands in the way of: options as data. */
const faults = (options: object) => faultsOf(() => graph({ name: 'g', ...options } as never));

const chain = [
  { from: 'a', to: 'b' },
  { from: 'b', to: 'c' },
];

test('it is plain data: nodes in order, edges with what guards them, joins, the bound', () => {
  const made = graph({
    name: 'g',
    nodes: { a, count: () => 1, b },
    edges: [
      { from: 'a', to: 'count' },
      { from: 'count', to: 'b', guard: () => true, label: 'enough' },
      { from: 'count', to: 'a', guard: 'otherwise' },
    ],
    start: 'a',
    end: 'b',
    maxSteps: 9,
  });
  const { composition, subAgents, description } = describeAgent(made);
  expect(composition).toEqual({
    pattern: 'graph',
    children: ['a', 'count', 'b'],
    start: 'a',
    end: 'b',
    edges: [
      { from: 'a', to: 'count' },
      { from: 'count', to: 'b', guard: 'custom', label: 'enough' },
      { from: 'count', to: 'a', guard: 'otherwise' },
    ],
    maxSteps: 9,
  });
  expect(subAgents?.map(({ name, executor }) => [name, executor])).toEqual([
    ['a', 'local'],
    ['count', 'function'],
    ['b', 'local'],
  ]);
  expect(description).toBe('Runs a, count, b as its edges lead, from a to b.');
});

test('nodes may be given as a list of agents, as files do', () => {
  expect(faults({ nodes: [a, b, c], edges: chain, start: 'a', end: 'c' })).toEqual([]);
});

test('every fault is told at once', () => {
  expect(
    faults({
      nodes: { a, b, c, d },
      edges: [
        { from: 'a', to: 'b' },
        { from: 'a', to: 'c' },
        { from: 'b', to: 'c' },
        { from: 'c', to: 'a', guard: () => true },
        { from: 'a', to: 'b', guard: 'otherwise' },
      ],
      start: 'a',
      end: 'b',
      maxStep: 3,
    }),
  ).toEqual([
    'g.maxStep: is unknown (did you mean "maxSteps"?); known: ' +
      'name, displayName, description, state, mapInput, constraints, maxDepth, supervise, inputSchema, outputKey, metadata, nodes, edges, start, end, joins, maxSteps',
    'g.edges[4]: leads from "a" to "b" as edges[0] does; one edge, with one guard',
    'g.nodes.d: cannot be reached: no edge leads from "a" to it',
    'g.joins.b: is missing: "a" and "a" lead to it; "all" waits for those on their way, "any" begins with the first',
    'g.joins.c: is missing: "a" and "b" lead to it; "all" waits for those on their way, "any" begins with the first',
    'g.nodes.a: has an edge for "otherwise", but none with a guard',
    'g.nodes.b: is an end, but an edge is taken from it in any case, so nothing can end with it',
    'g.maxSteps: is required, a whole number from 1: the graph has a cycle (a → c → a)',
  ]);
});

test('names that are no nodes', () => {
  expect(
    faults({
      nodes: { a, b },
      edges: [
        { from: 'a', to: 'bb' },
        { from: 'x', to: 'b' },
      ],
      start: 'A',
      end: ['b', 'y'],
      joins: { z: 'all' },
    }),
  ).toEqual([
    'g.start: "A" (did you mean "a"?) is no node; nodes: a, b',
    'g.end[1]: "y" is no node; nodes: a, b',
    'g.edges[0].to: "bb" (did you mean "b"?) is no node; nodes: a, b',
    'g.edges[1].from: "x" is no node; nodes: a, b',
    'g.joins.z: "z" is no node; nodes: a, b',
  ]);
});

test('nodes that lead nowhere, or never to the end', () => {
  expect(
    faults({
      nodes: { a, b, c },
      edges: [
        { from: 'a', to: 'b' },
        { from: 'a', to: 'c' },
      ],
      start: 'a',
      end: 'b',
    }),
  ).toEqual(['g.nodes.c: leads nowhere; add an edge, or name it in end']);
  const round = [...chain, { from: 'c', to: 'b', guard: () => true }, { from: 'a', to: 'd' }];
  expect(faults({ nodes: { a, b, c, d }, edges: round, start: 'a', end: 'd', maxSteps: 3 })).toEqual([
    'g.nodes.b: no path leads from it to the end; add an edge, or name it in end',
    'g.nodes.c: no path leads from it to the end; add an edge, or name it in end',
  ]);
});

test('forms that are none', () => {
  expect(faults({})).toEqual([
    'g.nodes: needs at least one agent',
    'g.edges: must be a list of { from, to, guard? }',
    'g.start: is required: the name of the node that begins',
    'g.end: is required: the name of the node whose output is the output, or several',
  ]);
  expect(
    faults({
      nodes: { a, b: 7 },
      edges: [null, { from: 'a', to: 'b', guard: 'sometimes', lable: 'x' }],
      start: 'a',
      end: 'b',
      joins: { b: 'some' },
      maxSteps: 0,
    }),
  ).toEqual([
    'g.edges[1].lable: is unknown (did you mean "label"?); known: from, to, guard, label',
    'g.nodes.b: is neither an agent, as agent() or a composition makes it, nor a function',
    'g.maxSteps: must be a whole number from 1',
    'g.edges[0]: must be { from, to, guard? }',
    'g.edges[1].guard: must be a function or "otherwise"',
  ]);
  expect(faults({ nodes: { x: a }, edges: [], start: 'a', end: 'a' })).toEqual([
    'g.nodes.x: holds the agent "a"; a node has the name of its agent',
  ]);
});

test('a node that leads to itself is a cycle', () => {
  const self = [{ from: 'a', to: 'a', guard: () => true }];
  expect(faults({ nodes: { a }, edges: self, start: 'a', end: 'a' })).toEqual([
    'g.maxSteps: is required, a whole number from 1: the graph has a cycle (a → a)',
  ]);
  expect(faults({ nodes: { a }, edges: self, start: 'a', end: 'a', maxSteps: 2 })).toEqual([]);
});

test('the worst case of a graph: each node once; with a cycle as often as its steps allow', () => {
  const nodes = { a, look: () => 1, b: agent({ name: 'b', constraints: { maxTurns: 3 } }) };
  const edges = [
    { from: 'a', to: 'look' },
    { from: 'look', to: 'b' },
  ] as const;
  const plain = graph({ name: 'g', nodes, edges, start: 'a', end: 'b' });
  expect(analyseTeam(plain, { hostTools: [], executors: ['local'] })).toMatchObject({
    problems: [],
    worstCase: { modelCalls: 18, assumptions: [] },
  });
  const round = graph({
    name: 'g',
    nodes,
    edges: [...edges, { from: 'b', to: 'a', guard: () => true }],
    start: 'a',
    end: 'b',
    maxSteps: 4,
  });
  expect(analyseTeam(round, { hostTools: [] }).worstCase.modelCalls).toBe(60);
});

test('what flows along an edge must fit where it leads', () => {
  const takes = agent({
    name: 'takes',
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  });
  const gives = agent({ name: 'gives', outputSchema: { type: 'object', properties: { m: { type: 'number' } } } });
  const team = (nodes: object, from: string) =>
    graph({ name: 'g', nodes, edges: [{ from, to: 'takes' }], start: from, end: 'takes' } as never);
  expect(analyseTeam(team({ gives, takes }, 'gives'), { hostTools: [] }).problems).toEqual([
    {
      code: 'SCHEMA_MISMATCH',
      path: 'g/takes.inputSchema',
      message: 'needs "n", which "gives" does not give (it gives "m")',
    },
  ]);
  expect(analyseTeam(team({ make: () => ({ n: 1 }), takes }, 'make'), { hostTools: [] }).problems).toEqual([]);
});
