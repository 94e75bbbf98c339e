import type { Open, SchemaInput } from '../contracts/index.js';
import { assertOptions } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionOptions,
  compose,
} from './composition.js';
import type { AgentInput, Children, DistinctNames, LastOutput, NamesIn, NoState, StateAbove } from './infer.js';

export interface SequentialOptions<
  Name extends string,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> extends CompositionOptions<Name, C, Own, Input, OutputKey> {
  /** In order; each is given the output of the one before it. */
  children: C & DistinctNames<NoInfer<Name>, NoInfer<C>>;
  /** Default `stop`: the first failure ends it. `continue`: the failure is passed on as data. */
  onFailure?: Open<'stop' | 'continue'>;
}

/** Children one after another; the output is that of the last. */
export function sequential<
  const Name extends string,
  const C extends Children,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: SequentialOptions<Name, C, Own, Input, OutputKey>,
): CompositionDefinition<
  Name,
  AgentInput<Input>,
  LastOutput<C>,
  StateAbove<Own, C, OutputKey, LastOutput<C>>,
  Name | NamesIn<C[number]>
> {
  assertOptions(options, 'sequential');
  return compose(options as AnyCompositionOptions, {
    children: options.children,
    keys: ['children', 'onFailure'],
    says: (names) => `Runs ${names}, one after another.`,
    config: { pattern: 'sequential', onFailure: options.onFailure },
  });
}
