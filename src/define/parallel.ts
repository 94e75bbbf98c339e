import type { Open, SchemaInput } from '../contracts/index.js';
import { assertOptions } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionOptions,
  compose,
} from './composition.js';
import type { AgentInput, Children, DistinctNames, NamesIn, NoState, Results, StateAbove } from './infer.js';

export interface ParallelOptions<
  Name extends string,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> extends CompositionOptions<Name, C, Own, Input, OutputKey> {
  /** All get the same input and see nothing of one another. */
  children: C & DistinctNames<NoInfer<Name>, NoInfer<C>>;
  /** Children live at once, not counting those that wait for outside input. Default 16. */
  concurrency?: number;
  /** Default `settle`: waits for all and keeps what succeeded. `fail_fast`: the first failure aborts the others. */
  failure?: Open<'settle' | 'fail_fast'>;
  /** Default `all`. Otherwise it ends as soon as one, or `quorum`, succeeded, and aborts the rest. */
  join?: Open<'all' | 'any'> | { quorum: number };
}

/** Children at the same time; the output maps the name of each child that succeeded to its output. */
export function parallel<
  const Name extends string,
  const C extends Children,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: ParallelOptions<Name, C, Own, Input, OutputKey>,
): CompositionDefinition<
  Name,
  AgentInput<Input>,
  Results<C>,
  StateAbove<Own, C, OutputKey, Results<C>>,
  Name | NamesIn<C[number]>
> {
  assertOptions(options, 'parallel');
  return compose(options as AnyCompositionOptions, {
    children: options.children,
    keys: ['children', 'concurrency', 'failure', 'join'],
    says: (names) => `Runs ${names} at the same time.`,
    config: {
      pattern: 'parallel',
      concurrency: options.concurrency,
      failure: options.failure,
      join: options.join,
    },
  });
}
