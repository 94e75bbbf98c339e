import type { SchemaInput } from '../contracts/index.js';
import { assertOptions } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionOptions,
  compose,
} from './composition.js';
import type {
  AgentInput,
  Children,
  DistinctNames,
  LastOutput,
  NamesIn,
  NoState,
  StateAbove,
  TreeState,
} from './infer.js';

export interface LoopOptions<
  Name extends string,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> extends CompositionOptions<Name, C, Own, Input, OutputKey> {
  /** In order, again and again. */
  children: C & DistinctNames<NoInfer<Name>, NoInfer<C>>;
  /** At least 1. Without `until` and without an escalation exactly that many. */
  maxIterations: number;
  /** Asked after each iteration (1-based). `last` is the output of the last child. Must only read. */
  until?: (context: {
    readonly state: Readonly<NoInfer<TreeState<Own, C>>>;
    readonly last: NoInfer<LastOutput<C>>;
    readonly iteration: number;
  }) => boolean | Promise<boolean>;
}

/** Children in order until one escalates, `until` holds, or `maxIterations` are done; the output is that of the last. */
export function loop<
  const Name extends string,
  const C extends Children,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: LoopOptions<Name, C, Own, Input, OutputKey>,
): CompositionDefinition<
  Name,
  AgentInput<Input>,
  LastOutput<C>,
  StateAbove<Own, C, OutputKey, LastOutput<C>>,
  Name | NamesIn<C[number]>
> {
  assertOptions(options, 'loop');
  return compose(options as AnyCompositionOptions, {
    children: options.children,
    keys: ['children', 'maxIterations', 'until'],
    says: (names) => `Repeats ${names}, at most ${options.maxIterations} times.`,
    config: { pattern: 'loop', maxIterations: options.maxIterations },
    behaviour: { until: options.until },
  });
}
