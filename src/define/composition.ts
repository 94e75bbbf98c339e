import type {
  AgentConstraints,
  AgentDefinition,
  AgentMetadata,
  Capability,
  ChildSupervision,
  CompositionBehaviour,
  CompositionConfig,
  Open,
  Reducer,
  SchemaInput,
  StateKeyDescriptor,
  SuperviseConfig,
} from '../contracts/index.js';
import { checkDefinition } from '../kernel/definition.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { DEFAULT_INPUT_SCHEMA, readSchema } from '../kernel/schema.js';
import { plainOption, unknownKeys } from './author-options.js';
import type { AgentInput, ChildName, Children, Results, TreeState } from './infer.js';

/** One declared state key. `T` is the type of its values. */
export interface StateKey<T> {
  /** Absent: the key has no value until something writes it. */
  initial?: T;
  /** Decides when two branches write different values; without one that is a `STATE_CONFLICT`. Must not throw. */
  reducer?: 'append' | 'sum' | 'last' | ((current: T, update: T) => T);
}

/** What every composition takes. `Own` is the declared state, key → type of the value. */
export interface CompositionOptions<
  Name extends string,
  C extends Children,
  Own,
  Input extends SchemaInput | undefined,
  OutputKey extends string,
> {
  /** `^[A-Za-z_][A-Za-z0-9_-]*$`, at most 64 characters, unique in its tree. */
  name: Name;
  displayName?: string;
  /** What others read to decide whether to call it. Default: what it does, in words. */
  description?: string;
  /** State keys of the tree: one record, so nested declarations of a key must agree. */
  state?: { [K in keyof Own]: StateKey<Own[K]> };
  /** What a child is given instead of the default input; undefined: the default. Must not change what it is shown. */
  mapInput?: (
    child: NoInfer<ChildName<C>>,
    context: {
      readonly input: CompositionInput<NoInfer<Input>>;
      readonly results: NoInfer<Results<C>>;
      readonly state: Readonly<NoInfer<TreeState<Own, C>>>;
    },
  ) => unknown;
  constraints?: AgentConstraints;
  /** Levels of agents below this one. Default 8. */
  maxDepth?: number;
  supervise?: Supervise<NoInfer<ChildName<C>>>;
  /** Of an object. Default: `{ prompt: string }`, for which plain text stands too. */
  inputSchema?: Input;
  /** The state key that takes the output. */
  outputKey?: OutputKey;
  metadata?: AgentMetadata;
}

/** What `mapInput` sees of the composition's own input: text where no schema says otherwise. */
export type CompositionInput<Input> = [Input] extends [SchemaInput] ? AgentInput<Input> : string;

export interface Supervise<Name extends string> {
  /** Default `one_for_one`. */
  strategy?: Open<'one_for_one' | 'one_for_all' | 'rest_for_one'>;
  children?: { readonly [K in Name]?: ChildSupervision };
}

/** A definition that also knows the names in its tree. */
export interface CompositionDefinition<Name extends string, Input, Output, State, Names extends string>
  extends AgentDefinition<Name, Input, Output, State> {
  readonly children: readonly AgentDefinition[];
  readonly '~types'?:
    | { readonly input: Input; readonly output: Output; readonly state: State; readonly names: Names }
    | undefined;
}

const COMMON = [
  'name',
  'displayName',
  'description',
  'state',
  'mapInput',
  'constraints',
  'maxDepth',
  'supervise',
  'inputSchema',
  'outputKey',
  'metadata',
];

const CAPABILITIES: readonly Capability[] = [
  'composition',
  'streaming',
  'elicitation',
  'pause_resume',
  'cancellation',
  'multi_turn',
  'host_tool_execution',
  'stream_end_events',
];

/** What one pattern adds to what all have in common. */
export interface Pattern {
  children: readonly AgentDefinition[];
  /** Option keys of the pattern, for the check. */
  keys: readonly string[];
  /** Default description. */
  says: (names: string) => string;
  config: Omit<CompositionConfig, 'children'>;
  behaviour?: CompositionBehaviour;
  leader?: AgentDefinition;
  /** What was found wrong before. */
  problems?: readonly Problem[];
  /** What a definition of this pattern can be asked. */
  methods?: object;
}

/**
 * Builds and checks a composition of any pattern. Throws `INVALID_DEFINITION` with every fault of the whole tree.
 * `D` adds what only the caller's types know: names, input, output and state.
 */
export function compose<D extends AgentDefinition>(options: AnyCompositionOptions, pattern: Pattern): D {
  const path = options.name || '(unnamed)';
  const problems: Problem[] = unknownKeys(options, [...COMMON, ...pattern.keys], path);
  problems.push(...(pattern.problems ?? []));
  const children = Object.freeze(Array.isArray(pattern.children) ? [...pattern.children] : []);
  const names = children.map((child) => child?.name);
  const input =
    options.inputSchema === undefined
      ? undefined
      : readSchema(options.inputSchema, { path: `${path}.inputSchema`, objectOnly: true });
  problems.push(...(input?.problems ?? []));
  const definition: AgentDefinition = {
    kind: 'agent',
    name: options.name,
    descriptor: {
      name: options.name,
      ...(options.displayName !== undefined && { displayName: options.displayName }),
      description: options.description ?? pattern.says(names.join(', ')),
      executor: 'composition',
      inputSchema: input?.jsonSchema ?? DEFAULT_INPUT_SCHEMA,
      capabilities: [...CAPABILITIES],
      subAgents: children.map((child) => child?.descriptor),
      ...plainOption('constraints', options.constraints),
      composition: {
        ...defined(pattern.config),
        pattern: pattern.config.pattern,
        children: names,
        ...(options.maxDepth !== undefined && { maxDepth: options.maxDepth }),
        ...plainOption('supervise', options.supervise as SuperviseConfig | undefined),
        ...(options.state && { state: describeState(options.state) }),
      },
      ...plainOption('metadata', options.metadata),
    },
    tools: [],
    children,
    ...(pattern.leader !== undefined && { leader: pattern.leader }),
    ...(options.outputKey !== undefined && { outputKey: options.outputKey }),
    ...(input?.validator && { inputValidator: input.validator }),
    ...pattern.methods,
    behaviour: {
      ...pattern.behaviour,
      ...(options.mapInput && { mapInput: options.mapInput }),
      ...(options.state && { state: options.state }),
      ...(options.supervise && { supervise: options.supervise as SuperviseConfig }),
    },
  };
  // What was checked stays as it was checked.
  Object.freeze(definition.descriptor);
  Object.freeze(definition);
  throwProblems([...problems, ...checkDefinition(definition)]);
  return definition as D;
}

/** The options of any composition, as they are at run time. */
export interface AnyCompositionOptions {
  name: string;
  displayName?: string;
  description?: string;
  state?: Record<string, { initial?: unknown; reducer?: Reducer }>;
  mapInput?: (child: never, context: never) => unknown;
  constraints?: AgentConstraints;
  maxDepth?: number;
  supervise?: object;
  inputSchema?: SchemaInput;
  outputKey?: string;
  metadata?: AgentMetadata;
}

function describeState(state: NonNullable<AnyCompositionOptions['state']>): Record<string, StateKeyDescriptor> {
  return Object.fromEntries(
    Object.entries(state).map(([key, declared]) => [
      key,
      defined({
        initial: declared?.initial,
        reducer: typeof declared?.reducer === 'function' ? ('custom' as const) : declared?.reducer,
      }),
    ]),
  );
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}
