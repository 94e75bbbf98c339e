import type { AgentDefinition, SchemaInput } from '../contracts/index.js';
import { assertOptions } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionOptions,
  compose,
} from './composition.js';
import type { AgentInput, Children, DistinctNames, NamesIn, NoState, OutputOf, StateAbove } from './infer.js';

export interface HierarchicalOptions<
  Name extends string,
  Leader extends AgentDefinition,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> extends CompositionOptions<Name, C, Own, Input, OutputKey> {
  /** Leads: it sees each child as a tool and keeps its conversation from message to message. */
  agent: Leader;
  children: C & DistinctNames<NoInfer<Name> | NoInfer<Leader>['name'], NoInfer<C>>;
  /** Children live at once, not counting those that wait for outside input. Default 16. */
  concurrency?: number;
}

/** An agent that has its children as tools; the output is the leader's. */
export function hierarchical<
  const Name extends string,
  const Leader extends AgentDefinition,
  const C extends Children,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: HierarchicalOptions<Name, Leader, C, Own, Input, OutputKey>,
): CompositionDefinition<
  Name,
  AgentInput<Input>,
  OutputOf<Leader>,
  StateAbove<Own, readonly [Leader, ...C], OutputKey, OutputOf<Leader>>,
  Name | NamesIn<Leader | C[number]>
> {
  assertOptions(options, 'hierarchical');
  const leader: AgentDefinition | undefined = options.agent;
  return compose(options as AnyCompositionOptions, {
    children: options.children,
    leader,
    keys: ['agent', 'children', 'concurrency'],
    says: (names) => leader?.descriptor?.description ?? `Leads ${names}.`,
    config: { pattern: 'hierarchical', leader: leader?.name, concurrency: options.concurrency },
  });
}
