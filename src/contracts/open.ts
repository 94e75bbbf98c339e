/** A plain field with known values that stays open: completion for what is known, any string at run time. */
export type Open<Known extends string> = Known | (string & {});

/** What only one side knows. Unknown keys are kept and passed through. */
export type Bag = Record<string, unknown>;

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Milliseconds since the Unix epoch. */
export type EpochMs = number;

/** Flattens an intersection for display and comparison. */
export type Simplify<T> = { [K in keyof T]: T[K] } & {};
