import type { Reducer } from '../contracts/index.js';
import { describeError, TroupeError } from './errors.js';
import { inertJson } from './json-value.js';

/**
 * What the key holds after `updates` came one after the other. `append` adds an array's items, anything else as one
 * item; `sum` adds numbers; `last` and no reducer take the last update; a function is asked once per update.
 * `updates` are inert JSON (see `inertJson`), and so is the result. Throws `INVALID_INPUT` for an update that does not
 * fit, `STATE_REDUCER_FAILED` for a function that throws.
 */
export function reduceState(
  key: string,
  reducer: Reducer | undefined,
  current: unknown,
  updates: readonly unknown[],
): unknown {
  if (updates.length === 0) return current;
  if (reducer === undefined || reducer === 'last') return updates.at(-1);
  if (reducer === 'append') return append(key, current, updates);
  if (reducer === 'sum') return sum(key, current, updates);
  if (typeof reducer === 'function') {
    return updates.reduce((folded, update) => ask(key, reducer, folded, update), current);
  }
  const message = `state key "${key}" has the unknown reducer ${JSON.stringify(reducer)}; known: append, sum, last, or a function`;
  throw new TroupeError({ code: 'INVALID_DEFINITION', message });
}

/** What a key holds before anybody wrote it when its declaration has no `initial`. */
export function emptyState(reducer: Reducer | undefined): unknown {
  return reducer === 'append' ? inertJson([], 'state') : reducer === 'sum' ? 0 : undefined;
}

function append(key: string, current: unknown, updates: readonly unknown[]): unknown {
  const list = current === undefined ? [] : current;
  if (!Array.isArray(list)) throw misfit(key, `append needs an array to add to, and it holds a ${typeof list}`);
  return inertJson([...list, ...updates.flat()], `state key "${key}"`);
}

function sum(key: string, current: unknown, updates: readonly unknown[]): number {
  let total = 0;
  for (const part of [current ?? 0, ...updates]) {
    if (typeof part !== 'number') throw misfit(key, `sum adds numbers, not a ${typeof part}`);
    total += part;
  }
  if (!Number.isFinite(total)) throw misfit(key, 'the sum is no finite number any more');
  return total;
}

function ask(
  key: string,
  reducer: (current: never, update: never) => unknown,
  current: unknown,
  update: unknown,
): unknown {
  let reduced: unknown;
  try {
    reduced = reducer(current as never, update as never);
  } catch (cause) {
    const message = `the reducer of state key "${key}" failed: ${describeError(cause).message}`;
    throw new TroupeError({ code: 'STATE_REDUCER_FAILED', message, cause });
  }
  return inertJson(reduced, `what the reducer of state key "${key}" returned`);
}

function misfit(key: string, why: string): TroupeError {
  return new TroupeError({ code: 'INVALID_INPUT', message: `state key "${key}": ${why}` });
}
