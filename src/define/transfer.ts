import type { ModelMessage, SchemaInput, TransferContext } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';
import { TroupeError } from '../kernel/errors.js';
import { handoverNote, projectConversation } from '../kernel/handover.js';
import { didYouMean } from '../kernel/text.js';
import { assertOptions } from './author-options.js';
import {
  type AnyCompositionOptions,
  type CompositionDefinition,
  type CompositionOptions,
  compose,
} from './composition.js';
import type {
  AgentInput,
  ChildName,
  Children,
  DistinctNames,
  NamesIn,
  NoState,
  OutputOf,
  StateAbove,
} from './infer.js';

export interface TransferOptions<
  Name extends string,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> extends CompositionOptions<Name, C, Own, Input, OutputKey> {
  /** One is active at a time. */
  members: C & DistinctNames<NoInfer<Name>, NoInfer<C>>;
  /** The member that takes the first message. */
  start: NoInfer<ChildName<C>>;
  /** Whom each member may hand over to; one that is not named hands over to nobody. Absent: everybody to everybody. */
  targets?: { readonly [K in NoInfer<ChildName<C>>]?: readonly NoInfer<ChildName<C>>[] };
  /** Default 10. */
  maxTransfers?: number;
  /** What the next member sees of the conversation. Default `full`. A filter gets whole messages and must not change them. */
  context?:
    | 'full'
    | 'summary'
    | 'none'
    | { last: number }
    | ((messages: readonly ModelMessage[]) => readonly ModelMessage[]);
}

/** A transfer, which shows beforehand what a member would see. */
export interface TransferDefinition<
  Name extends string,
  Input,
  Output,
  State,
  Names extends string,
  Member extends string,
> extends CompositionDefinition<Name, Input, Output, State, Names> {
  /**
   * The messages that `target` would begin with if it took over a conversation of `messages`, with the note that says so
   * where `from` is given; none: it is given the message alone. A summary stands in `summary`, as no model is asked here.
   * Throws `UNKNOWN_AGENT` for no member, and what a filter throws.
   */
  preview(
    target: NoInfer<Member>,
    messages?: readonly ModelMessage[],
    options?: { from?: NoInfer<Member>; reason?: string; summary?: string },
  ): ModelMessage[];
}

/** Members that hand the conversation over to one another; the output is that of the member that ends it. */
export function transfer<
  const Name extends string,
  const C extends Children,
  Own = NoState,
  Input extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: TransferOptions<Name, C, Own, Input, OutputKey>,
): TransferDefinition<
  Name,
  AgentInput<Input>,
  OutputOf<C[number]>,
  StateAbove<Own, C, OutputKey, OutputOf<C[number]>>,
  Name | NamesIn<C[number]>,
  ChildName<C>
> {
  assertOptions(options, 'transfer');
  const { context } = options;
  const isFilter = typeof context === 'function';
  const contract = isFilter ? 'custom' : (context as TransferContext | undefined);
  const preview: TransferDefinition<Name, unknown, unknown, unknown, string, string>['preview'] = (
    target,
    messages = [],
    { from, reason, summary = '…' } = {},
  ) => {
    const names = options.members.map((member) => member.name);
    if (!names.includes(target)) {
      const message = `"${target}" is no member of "${options.name}"${didYouMean(target, names)}; members: ${names.join(', ')}`;
      throw new TroupeError({ code: 'UNKNOWN_AGENT', message });
    }
    const shown = projectConversation(messages, { contract, filter: isFilter ? context : undefined, summary });
    if (from === undefined || shown.length === 0) return shown;
    return [...shown, { role: 'user', content: toParts(handoverNote(from, reason)) }];
  };
  return compose(options as AnyCompositionOptions, {
    children: options.members,
    keys: ['members', 'start', 'targets', 'maxTransfers', 'context'],
    says: (names) => `Hands over between ${names}; ${options.start} begins.`,
    config: {
      pattern: 'transfer',
      start: options.start,
      transferTargets: targetsOf(options.members, options.targets),
      maxTransfers: options.maxTransfers,
      context: contract,
    },
    behaviour: { contextFilter: isFilter ? context : undefined },
    methods: { preview },
  });
}

function targetsOf(members: Children, targets: object | undefined): Record<string, string[]> {
  if (targets !== undefined) {
    return Object.fromEntries(
      Object.entries(targets).map(([from, to]: [string, unknown]) => [
        from,
        Array.isArray(to) ? [...to] : (to as string[]),
      ]),
    );
  }
  const names = Array.isArray(members) ? members.map((member) => member?.name) : [];
  return Object.fromEntries(names.map((from) => [from, names.filter((to) => to !== from)]));
}
