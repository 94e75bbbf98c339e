import type { AgentDefinition, CompositionConfig } from '../contracts/index.js';
import { endsOf, type GraphPlan, graphPlan, reachable } from './graph-plan.js';
import { didYouMean } from './text.js';

type Say = (key: string, message: string) => void;

/** Faults of a graph: names that are no nodes, nodes that cannot be reached or left, joins that are missing, cycles without a bound. */
export function checkGraph(config: CompositionConfig, definition: AgentDefinition, say: Say): void {
  if (!Array.isArray(config.children)) return;
  const hasShape = checkShape(config, definition, say);
  const hasNames = hasShape && checkNames(config, say);
  if (!hasNames) return;
  const plan = graphPlan(config);
  checkReach(plan, say);
  checkJoins(config, plan, say);
  checkEdges(plan, say);
  if (config.maxSteps === undefined && plan.edges.some(({ isBack }) => isBack)) {
    say('maxSteps', `is required, a whole number from 1: the graph has a cycle (${cycleOf(plan)})`);
  }
}

function checkShape(config: CompositionConfig, definition: AgentDefinition, say: Say): boolean {
  let isSound = true;
  const fault = (key: string, message: string) => {
    isSound = false;
    say(key, message);
  };
  if (config.maxSteps !== undefined && !(Number.isSafeInteger(config.maxSteps) && config.maxSteps >= 1)) {
    say('maxSteps', 'must be a whole number from 1');
  }
  if (!Array.isArray(config.edges)) fault('edges', 'must be a list of { from, to, guard? }');
  else {
    const edges: readonly unknown[] = config.edges;
    for (const [index, edge] of edges.entries()) {
      const { from, to, guard, label } = (edge ?? {}) as Record<string, unknown>;
      if (typeof from !== 'string' || typeof to !== 'string') fault(`edges[${index}]`, 'must be { from, to, guard? }');
      const asks = definition.behaviour?.guards?.[index];
      const isGuard =
        guard === undefined || guard === 'otherwise' || (guard === 'custom' && typeof asks === 'function');
      if (!isGuard) say(`edges[${index}].guard`, 'must be a function or "otherwise"');
      if (label !== undefined && typeof label !== 'string') say(`edges[${index}].label`, 'must be a text');
    }
  }
  const { joins, start } = config;
  if (joins !== undefined && (typeof joins !== 'object' || joins === null || Array.isArray(joins))) {
    fault('joins', 'must be { node: "all" or "any" }');
  }
  if (typeof start !== 'string') fault('start', 'is required: the name of the node that begins');
  if (endsOf(config).length === 0 || !endsOf(config).every((name: unknown) => typeof name === 'string')) {
    fault('end', 'is required: the name of the node whose output is the output, or several');
  }
  return isSound;
}

function checkNames(config: CompositionConfig, say: Say): boolean {
  const { children, edges = [], joins = {}, start } = config;
  const known = new Set(children);
  let isSound = true;
  const check = (key: string, name: string | undefined) => {
    if (name !== undefined && known.has(name)) return;
    isSound = false;
    say(key, `"${name}"${didYouMean(name ?? '', known)} is no node; nodes: ${children.join(', ') || 'none'}`);
  };
  check('start', start);
  const isList = Array.isArray(config.end);
  for (const [index, name] of endsOf(config).entries()) check(isList ? `end[${index}]` : 'end', name);
  const seen = new Map<string, number>();
  for (const [index, { from, to }] of edges.entries()) {
    check(`edges[${index}].from`, from);
    check(`edges[${index}].to`, to);
    const first = seen.get(JSON.stringify([from, to]));
    if (first === undefined) seen.set(JSON.stringify([from, to]), index);
    else say(`edges[${index}]`, `leads from "${from}" to "${to}" as edges[${first}] does; one edge, with one guard`);
  }
  for (const [name, join] of Object.entries(joins)) {
    check(`joins.${name}`, name);
    if (join !== 'all' && join !== 'any') say(`joins.${name}`, 'must be "all" or "any"');
  }
  return isSound;
}

function checkReach({ nodes, edges, ends }: GraphPlan, say: Say): void {
  const reached = reachable([-1], edges);
  const leads = reachable(
    ends,
    edges.map(({ from, to }) => ({ from: to, to: from })),
  );
  for (const [index, name] of nodes.entries()) {
    if (!reached.has(index)) {
      say(`nodes.${name}`, `cannot be reached: no edge leads from "${nodes[edges[0]?.to ?? 0]}" to it`);
    } else if (!leads.has(index)) {
      const why = edges.some(({ from }) => from === index) ? 'no path leads from it to the end' : 'leads nowhere';
      say(`nodes.${name}`, `${why}; add an edge, or name it in end`);
    }
  }
}

/** Ways back to a node need none: they lead to it one at a time. */
function checkJoins({ joins = {} }: CompositionConfig, plan: GraphPlan, say: Say): void {
  for (const [index, name] of plan.nodes.entries()) {
    const into = plan.edges.filter(({ from, to, isBack }) => to === index && from >= 0 && !isBack);
    const from = into.map((edge) => `"${plan.nodes[edge.from]}"`).join(' and ');
    if (into.length > 1 && !Object.hasOwn(joins, name)) {
      say(
        `joins.${name}`,
        `is missing: ${from} lead to it; "all" waits for those on their way, "any" begins with the first`,
      );
    }
  }
}

function checkEdges({ nodes, edges, ends }: GraphPlan, say: Say): void {
  for (const [index, name] of nodes.entries()) {
    const out = edges.filter(({ from }) => from === index);
    const isAlways = out.some(({ guard }) => guard === 'none') || hasOtherwise(out);
    if (ends.includes(index) && isAlways) {
      say(`nodes.${name}`, 'is an end, but an edge is taken from it in any case, so nothing can end with it');
    }
    if (out.some(({ guard }) => guard === 'otherwise') && !out.some(({ guard }) => guard === 'custom')) {
      say(`nodes.${name}`, 'has an edge for "otherwise", but none with a guard');
    }
  }
}

const hasOtherwise = (out: readonly { guard: string }[]) =>
  out.some(({ guard }) => guard === 'otherwise') && out.some(({ guard }) => guard === 'custom');

function cycleOf({ nodes, edges }: GraphPlan): string {
  const back = edges.find(({ isBack }) => isBack);
  if (back === undefined) return '';
  // The shortest way from where it leads to where it comes from.
  const cameFrom = new Map<number, number>([[back.to, -1]]);
  for (const [node] of cameFrom) {
    for (const { from, to } of edges) if (from === node && !cameFrom.has(to)) cameFrom.set(to, node);
  }
  const way: number[] = [];
  for (let node: number | undefined = back.from; node !== undefined && node >= 0; node = cameFrom.get(node))
    way.unshift(node);
  return [...way, back.to].map((node) => nodes[node]).join(' → ');
}
