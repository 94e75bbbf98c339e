import type { CompositionConfig } from '../contracts/index.js';

/** A graph as numbers: nodes are indexes of the composition's children. All of it JSON. */
export interface GraphPlan {
  readonly nodes: readonly string[];
  /** The first leads from outside (-1) to the start; the others in the order of the definition. */
  readonly edges: readonly GraphPlanEdge[];
  /** By node. */
  readonly joins: readonly ('all' | 'any' | null)[];
  readonly ends: readonly number[];
  /** Runs of nodes; null: no bound, as there is no cycle. */
  readonly maxSteps: number | null;
  /** By node: those that stand before it on some way from the start, ways back left out. */
  readonly before: readonly (readonly number[])[];
}

export interface GraphPlanEdge {
  readonly from: number;
  readonly to: number;
  readonly guard: 'none' | 'custom' | 'otherwise';
  readonly label: string;
  /** It leads back to a node that stands before it. */
  readonly isBack: boolean;
}

/** What a composition's options say about a graph; names that are none are left out, as the check tells of them. */
export function graphPlan(config: CompositionConfig): GraphPlan {
  const nodes = config.children;
  const at = (name: string | undefined) => nodes.indexOf(name ?? '');
  const start = at(config.start);
  const ways = (config.edges ?? []).map((edge) => ({ ...edge, fromIndex: at(edge.from), toIndex: at(edge.to) }));
  const known = ways.filter((way) => way.fromIndex >= 0 && way.toIndex >= 0);
  const back = waysBack(nodes.length, start, known);
  const edges: GraphPlanEdge[] = [{ from: -1, to: start, guard: 'none', label: '', isBack: false }];
  for (const way of known) {
    edges.push({
      from: way.fromIndex,
      to: way.toIndex,
      guard: GUARDS.find((one) => one === way.guard) ?? 'none',
      label: labelOf(way),
      isBack: back.has(way),
    });
  }
  return {
    nodes,
    edges,
    joins: nodes.map((name) => joinOf(config.joins, name)),
    ends: endsOf(config)
      .map(at)
      .filter((index) => index >= 0),
    maxSteps: config.maxSteps ?? null,
    before: ancestors(nodes.length, edges),
  };
}

const GUARDS = ['custom', 'otherwise'] as const;
const JOINS = ['all', 'any'] as const;

export const endsOf = ({ end }: CompositionConfig): readonly string[] =>
  Array.isArray(end) ? end : end === undefined ? [] : [end];

function labelOf({ label, guard }: { label?: string; guard?: string }): string {
  return label ?? (guard === 'otherwise' ? 'otherwise' : guard === undefined ? '' : 'guard');
}

function joinOf(joins: CompositionConfig['joins'], name: string): 'all' | 'any' | null {
  const join = joins !== undefined && Object.hasOwn(joins, name) ? joins[name] : undefined;
  return JOINS.find((one) => one === join) ?? null;
}

export interface Way {
  readonly fromIndex: number;
  readonly toIndex: number;
}

/** Ways that lead back to what stands before them, found by following every way from the start in the order of the definition. */
export function waysBack<W extends Way>(count: number, start: number, ways: readonly W[]): ReadonlySet<W> {
  const out = Array.from({ length: count }, (): W[] => []);
  for (const way of ways) out[way.fromIndex]?.push(way);
  const back = new Set<W>();
  const state = new Uint8Array(count);
  // By hand: a chain of thousands of nodes is deeper than the stack.
  const visit = (from: number) => {
    const path = [{ node: from, next: 0 }];
    state[from] = 1;
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const way = out[top.node]?.[top.next++];
      if (way === undefined) {
        state[top.node] = 2;
        path.pop();
      } else if (state[way.toIndex] === 1) back.add(way);
      else if (state[way.toIndex] === 0) {
        state[way.toIndex] = 1;
        path.push({ node: way.toIndex, next: 0 });
      }
    }
  };
  if (start >= 0) visit(start);
  for (let node = 0; node < count; node++) if (state[node] === 0) visit(node);
  return back;
}

function ancestors(count: number, edges: readonly GraphPlanEdge[]): number[][] {
  const into = Array.from({ length: count }, (): number[] => []);
  for (const { from, to, isBack } of edges) if (from >= 0 && !isBack) into[to]?.push(from);
  return into.map((direct) => {
    const found = new Set(direct);
    for (const node of found) for (const before of into[node] ?? []) found.add(before);
    return [...found].sort((one, other) => one - other);
  });
}

/** Indexes of the nodes that can be reached from `starts` by following the edges, `starts` among them. */
export function reachable(
  starts: readonly number[],
  edges: readonly Pick<GraphPlanEdge, 'from' | 'to'>[],
): ReadonlySet<number> {
  const out = new Map<number, number[]>();
  for (const { from, to } of edges) {
    const list = out.get(from);
    if (list === undefined) out.set(from, [to]);
    else list.push(to);
  }
  const reached = new Set(starts);
  for (const node of reached) for (const next of out.get(node) ?? []) reached.add(next);
  return reached;
}
