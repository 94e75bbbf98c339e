import type { Bag } from './open.js';

/** A JSON Schema, draft 2020-12, as plain JSON. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The part of the Standard Schema interface that is read here (zod 4, arktype, valibot …). */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: string }) => Bag;
      readonly output: (options: { readonly target: string }) => Bag;
    };
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A validator that cannot say its JSON Schema, with the schema beside it. */
export interface SchemaPair<Input = unknown, Output = Input> {
  readonly schema: StandardSchema<Input, Output>;
  readonly jsonSchema: JsonSchema;
}

/** What an author may hand in wherever a schema is taken. */
export type SchemaInput<Output = unknown> = StandardSchema<unknown, Output> | SchemaPair<unknown, Output> | JsonSchema;

/** The type of the values that a schema accepts, before defaults and transforms. Plain JSON Schema: `unknown`. */
export type InferInput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : unknown
  : S extends { readonly schema: infer Inner extends StandardSchema<unknown, unknown> }
    ? InferInput<Inner>
    : unknown;

/** The type of the values that come out of a schema. Plain JSON Schema: `unknown`. */
export type InferOutput<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : unknown
  : S extends { readonly schema: infer Inner extends StandardSchema<unknown, unknown> }
    ? InferOutput<Inner>
    : unknown;
