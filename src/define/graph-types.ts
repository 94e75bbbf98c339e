import type { AgentDefinition, StateView } from '../contracts/index.js';
import type { NamesIn, OutputOf } from './infer.js';

/** A step without a model. What it returns, JSON, is its output; one that returns nothing passes on what it was given. */
export type NodeFunction = (context: NodeContext) => unknown;

/** What a function is given. */
export interface NodeContext {
  /** The output of the node before it; of several that joined, name → output; at the start the graph's own input. */
  readonly input: unknown;
  /** Outputs of the nodes that have ended so far, by name. */
  readonly results: Readonly<Record<string, unknown>>;
  /** What is written counts once the function has returned. */
  readonly state: StateView;
  /** Fires when the run is aborted. */
  readonly signal: AbortSignal;
}

export type Nodes = Readonly<Record<string, AgentDefinition | NodeFunction>>;

export type NodeName<N extends Nodes> = keyof N & string;

/** The agents among them. */
export type NodeAgents<N extends Nodes> = readonly Extract<N[keyof N], AgentDefinition>[];

/** What one of them ends with. */
export type NodeOutput<N extends Nodes, Name extends string> = Name extends keyof N ? OutputOfNode<N[Name]> : unknown;

type OutputOfNode<T> = T extends AgentDefinition
  ? OutputOf<T>
  : T extends (...args: never[]) => infer Returned
    ? Awaited<Returned>
    : unknown;

/** Name → output, absent for a node that has not ended well. */
export type NodeResults<N extends Nodes> = { [K in NodeName<N>]?: OutputOfNode<N[K]> };

/** Every name in the trees of the nodes. */
export type NamesInNodes<N extends Nodes> = { [K in NodeName<N>]: K | InnerNames<N[K]> }[NodeName<N>];

type InnerNames<T> = T extends AgentDefinition ? NamesIn<T> : never;

/** Adds nothing where each agent stands under its own name and no name twice in the tree, else what that node cannot be. */
export type WellNamed<Name extends string, N extends Nodes> = {
  [K in keyof N]: N[K] extends AgentDefinition<infer Own>
    ? string extends Own
      ? unknown
      : Own extends K
        ? Distinct<Name, N, K>
        : { 'this agent has another name': Own }
    : Distinct<Name, N, K>;
};

type Distinct<Name extends string, N extends Nodes, K extends keyof N> = [
  Literal<Extract<(K & string) | InnerNames<N[K]>, Name | NamesInNodes<Omit<N, K>>>>,
] extends [never]
  ? unknown
  : {
      'this name stands twice in the tree': Literal<
        Extract<(K & string) | InnerNames<N[K]>, Name | NamesInNodes<Omit<N, K>>>
      >;
    };

type Literal<T> = T extends string ? (string extends T ? never : T) : never;
