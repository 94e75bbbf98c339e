import type { AgentDefinition, Capability, GraphEdgeDescriptor, SchemaInput } from '../contracts/index.js';
import { invalid } from '../kernel/agent-check.js';
import type { Problem } from '../kernel/errors.js';
import { FUNCTION_EXECUTOR } from '../kernel/function-executor.js';
import { DEFAULT_INPUT_SCHEMA } from '../kernel/schema.js';
import { assertOptions, unknownKeys } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionInput,
  type CompositionOptions,
  compose,
  type Supervise,
} from './composition.js';
import type {
  NamesInNodes,
  NodeAgents,
  NodeFunction,
  NodeName,
  NodeOutput,
  NodeResults,
  Nodes,
  WellNamed,
} from './graph-types.js';
import type { AgentInput, Children, NoState, StateAbove, TreeState } from './infer.js';

/** What a guard is shown: the run so far. It must only read. */
export interface GuardContext<N extends Nodes, State, Input> {
  /** The graph's own. */
  readonly input: Input;
  /** The output of the node that has just ended. */
  readonly last: unknown;
  readonly results: NodeResults<N>;
  readonly state: Readonly<State>;
  /** How often each node has ended well. */
  readonly visits: Readonly<Record<NodeName<N>, number>>;
}

/** A way from one node to another. Every edge whose guard holds is taken: several begin what they lead to at once. */
export interface GraphEdge<Name extends string, Context> {
  from: Name;
  to: Name;
  /** Asked when `from` has ended; absent: always taken. `otherwise`: taken when no guarded edge of the same node is. */
  guard?: 'otherwise' | ((context: Context) => boolean | Promise<boolean>);
  /** What the guard asks, in a word or two, for people. */
  label?: string;
}

export interface GraphOptions<
  Name extends string,
  N extends Nodes,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
  Start extends string,
  End extends string,
> extends Omit<CompositionOptions<Name, Children, Own, Input, OutputKey>, 'mapInput' | 'supervise'> {
  /** Agents, compositions and plain functions, each under its name. */
  nodes: N & WellNamed<NoInfer<Name>, NoInfer<N>>;
  edges: readonly GraphEdge<
    NodeName<NoInfer<N>>,
    GuardContext<NoInfer<N>, TreeState<NoInfer<Own>, NodeAgents<NoInfer<N>>>, CompositionInput<NoInfer<Input>>>
  >[];
  /** The node that is given the input. */
  start: Start & NodeName<NoInfer<N>>;
  /** The node whose output is the output; of several, the one that ends last. */
  end: (End & NodeName<NoInfer<N>>) | readonly (End & NodeName<NoInfer<N>>)[];
  /**
   * Of each node that several edges lead to. `all` waits for every node that is still on its way there; `any` begins
   * with the first that arrives, and what is still on its way there is aborted.
   */
  joins?: { readonly [K in NodeName<NoInfer<N>>]?: 'all' | 'any' };
  /** Runs of nodes, all together, at most. Required when there is a cycle; where it is reached, the run has failed. */
  maxSteps?: number;
  /** What a node is given instead of the default input; undefined: the default. Must not change what it is shown. */
  mapInput?: (
    node: NodeName<NoInfer<N>>,
    context: {
      readonly input: CompositionInput<NoInfer<Input>>;
      readonly results: NodeResults<NoInfer<N>>;
      readonly state: Readonly<TreeState<NoInfer<Own>, NodeAgents<NoInfer<N>>>>;
    },
  ) => unknown;
  supervise?: Supervise<NodeName<NoInfer<N>>>;
}

/** Nodes and the ways between them, compiled to one state machine; the output is that of the end that was reached last. */
export function graph<
  const Name extends string,
  const N extends Nodes,
  const Start extends string,
  const End extends string,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: GraphOptions<Name, N, Own, Input, OutputKey, Start, End>,
): CompositionDefinition<
  Name,
  AgentInput<Input>,
  NodeOutput<N, End>,
  StateAbove<Own, NodeAgents<N>, OutputKey, NodeOutput<N, End>>,
  Name | NamesInNodes<N>
> {
  assertOptions(options, 'graph');
  const given = options as unknown as AnyGraphOptions;
  const path = given.name || '(unnamed)';
  const edges = Array.isArray(given.edges) ? given.edges : [];
  const problems = edges.flatMap((edge, index) =>
    typeof edge === 'object' && edge !== null ? unknownKeys(edge, EDGE_KEYS, `${path}.edges[${index}]`) : [],
  );
  return compose(given, {
    children: childrenOf(given.nodes, path, problems),
    problems,
    keys: ['nodes', 'edges', 'start', 'end', 'joins', 'maxSteps'],
    says: (names) => `Runs ${names} as its edges lead, from ${given.start} to ${[given.end].flat().join(' or ')}.`,
    config: {
      pattern: 'graph',
      start: given.start,
      end: Array.isArray(given.end) ? [...given.end] : given.end,
      edges: Array.isArray(given.edges) ? edges.map(describeEdge) : given.edges,
      joins: typeof given.joins === 'object' && given.joins !== null ? { ...given.joins } : given.joins,
      maxSteps: given.maxSteps,
    },
    behaviour: { guards: edges.map((edge) => (typeof edge?.guard === 'function' ? edge.guard : undefined)) },
  });
}

type AnyEdge = GraphEdge<string, never>;

/** The options as they are at run time. */
interface AnyGraphOptions extends AnyCompositionOptions {
  nodes: unknown;
  edges: AnyEdge[];
  start: string;
  end: string | string[];
  joins?: Record<string, 'all' | 'any'>;
  maxSteps?: number;
}

const EDGE_KEYS = ['from', 'to', 'guard', 'label'];

function describeEdge(edge: AnyEdge): GraphEdgeDescriptor {
  const { from, to, guard, label } = edge ?? ({} as AnyEdge);
  return {
    from,
    to,
    ...(guard !== undefined && { guard: typeof guard === 'function' ? ('custom' as const) : guard }),
    ...(label !== undefined && { label }),
  };
}

function childrenOf(nodes: unknown, path: string, problems: Problem[]): AgentDefinition[] {
  if (Array.isArray(nodes)) return nodes;
  if (typeof nodes !== 'object' || nodes === null) return [];
  return Object.entries(nodes).map(([name, node]: [string, unknown]) => {
    if (typeof node === 'function') return functionAgent(name, node as NodeFunction);
    const own = (node as Partial<AgentDefinition> | null)?.name;
    if (typeof own === 'string' && own !== name) {
      problems.push(invalid(`${path}.nodes.${name}`, `holds the agent "${own}"; a node has the name of its agent`));
    }
    if ((node as Partial<AgentDefinition> | null)?.kind === 'agent') return node as AgentDefinition;
    problems.push(
      invalid(`${path}.nodes.${name}`, 'is neither an agent, as agent() or a composition makes it, nor a function'),
    );
    return functionAgent(name, () => undefined);
  });
}

const CAPABILITIES: readonly Capability[] = ['cancellation', 'multi_turn', 'stream_end_events'];

/** A plain function as an agent: a thread of its own, a result, no model. */
function functionAgent(name: string, run: NodeFunction): AgentDefinition {
  const descriptor = Object.freeze({
    name,
    description: `The function ${name}.`,
    executor: FUNCTION_EXECUTOR,
    inputSchema: DEFAULT_INPUT_SCHEMA,
    capabilities: [...CAPABILITIES],
  });
  return Object.freeze({ kind: 'agent' as const, name, descriptor, tools: [], backend: run });
}
