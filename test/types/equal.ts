/** Exactly the same type, `readonly` and `?` included; `any` equals only `any`. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** A compile error unless `T` is true. */
export type Expect<T extends true> = T;

export type Not<T extends boolean> = T extends true ? false : true;

/** What `any` would let through. */
export type IsAny<T> = 0 extends 1 & T ? true : false;
