import type {
  AgentDefinition,
  DefaultAgentInput,
  InferInput,
  InferOutput,
  SchemaInput,
  SchemaPair,
  Simplify,
  StandardSchema,
} from '../contracts/index.js';

/** A schema that carries the type of its values; plain JSON Schema does not. */
type TypedSchema = StandardSchema<unknown, unknown> | SchemaPair<unknown, unknown>;

/** What a tool's function is given: the values that come out of its schema. */
export type ToolArgs<S> = S extends TypedSchema ? InferOutput<S> : Record<string, unknown>;

/** What a tool's function ends with, be it a value, a promise or a generator of progress. */
export type ToolReturn<R> = R extends AsyncGenerator<unknown, infer Returned, never> ? Awaited<Returned> : Awaited<R>;

/** What an agent may be given: data of its schema, else text. */
export type AgentInput<S> = [S] extends [SchemaInput]
  ? [S] extends [TypedSchema]
    ? InferInput<S>
    : object
  : string | DefaultAgentInput;

/** What an agent ends with: data of its schema, else text. */
export type AgentOutput<S> = [S] extends [SchemaInput]
  ? [S] extends [TypedSchema]
    ? InferOutput<S>
    : unknown
  : string;

/** The state keys that an `outputKey` writes: absent until the agent has ended. */
export type WrittenState<Key extends string, Output> = [Key] extends [never]
  ? Record<never, never>
  : { [K in Key]?: Output };

/** No state declared: neutral when states are joined. */
export type NoState = Record<never, never>;

export type Children = readonly AgentDefinition[];
export type NameOf<D extends AgentDefinition> = D['name'];
export type OutputOf<D extends AgentDefinition> = NonNullable<D['~types']>['output'];
export type StateOf<D extends AgentDefinition> = NonNullable<D['~types']>['state'];
export type ChildName<C extends Children> = NameOf<C[number]>;

/** Name → output, absent for a child that has not ended well. Children made at run time: `Record<string, …>`. */
export type Results<C extends Children> = Simplify<{ [D in C[number] as NameOf<D>]?: OutputOf<D> }>;

/** The output of the last child. */
export type LastOutput<C extends Children> = C extends readonly [
  ...AgentDefinition[],
  infer Last extends AgentDefinition,
]
  ? OutputOf<Last>
  : OutputOf<C[number]>;

/** The state of a tree as its root sees it: its own declarations before those below. Unknown below: any key. */
export type TreeState<Own, C extends Children> =
  unknown extends StateOf<C[number]>
    ? Simplify<Declared<Own> & Record<string, unknown>>
    : Simplify<Declared<Own> & Omit<Joined<StateOf<C[number]>>, keyof Own>>;

/** What those above a composition see of its state: the tree's, and the key that takes its output. */
export type StateAbove<Own, C extends Children, Key extends string, Output> = Simplify<
  TreeState<Own, C> & WrittenState<Key, Output>
>;

/** The declared keys with the types of their values, from their initial values. */
export type Declared<Own> = { [K in keyof Own]: Wide<Own[K]> };

/** An empty list says nothing about what will be in it. */
type Wide<T> = [T] extends [readonly (infer Item)[]] ? ([Item] extends [never] ? unknown[] : T) : T;

type Joined<U> = { [K in SureKeys<U>]: ValueAt<U, K> } & { [K in Exclude<AnyKeys<U>, SureKeys<U>>]?: ValueAt<U, K> };
type AnyKeys<U> = U extends unknown ? keyof U : never;
// biome-ignore lint/complexity/noBannedTypes: the test for an optional key
type SureKeys<U> = U extends unknown ? { [K in keyof U]-?: {} extends Pick<U, K> ? never : K }[keyof U] : never;
type ValueAt<U, K> = U extends unknown ? (K extends keyof U ? U[K] : never) : never;

/** Every name in the tree of a definition, its own among them. */
export type NamesIn<D extends AgentDefinition> = D extends unknown
  ? NonNullable<D['~types']> extends { names: infer N extends string }
    ? N
    : NameOf<D>
  : never;

/** Adds nothing when all names in the tree differ, else what no list of children can fit. */
export type DistinctNames<Name extends string, C extends Children> = [Repeated<C, Name>] extends [never]
  ? unknown
  : { 'this name stands twice in the tree': Repeated<C, Name> };

type Repeated<C extends Children, Seen extends string, Found extends string = never> = C extends readonly [
  infer Head extends AgentDefinition,
  ...infer Rest extends Children,
]
  ? Repeated<Rest, Seen | NamesIn<Head>, Found | (string extends NamesIn<Head> ? never : Extract<NamesIn<Head>, Seen>)>
  : Found;
