import { invalid } from '../kernel/agent-check.js';
import { type Problem, TroupeError } from '../kernel/errors.js';
import { inertJson, jsonFault } from '../kernel/json-value.js';
import { didYouMean } from '../kernel/text.js';

/** Throws `INVALID_DEFINITION` for what is no object of options at all; `maker` is the function that was called. */
export function assertOptions(options: unknown, maker: string): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return;
  const given = options === null ? 'null' : Array.isArray(options) ? 'a list' : typeof options;
  const message = `${maker}() takes one object of options, { name: … }, not ${given}`;
  throw new TroupeError({ code: 'INVALID_DEFINITION', message });
}

/** Keys that no option has: in JavaScript, and in data, a typing error would otherwise pass in silence. */
export function unknownKeys(options: object, known: readonly string[], path: string): Problem[] {
  return Object.keys(options)
    .filter((key) => !known.includes(key))
    .map((key) => invalid(`${path}.${key}`, `is unknown${didYouMean(key, known)}; known: ${known.join(', ')}`));
}

/** `{ [key]: value }` with a copy that the author cannot change later; `{}` when absent. What is no JSON stays for the check. */
export function plainOption<K extends string, T extends object>(key: K, value: T | undefined): { [P in K]?: T } {
  if (value === undefined) return {};
  const copy = jsonFault(value) === undefined ? (inertJson(value, key) as T) : value;
  return { [key]: copy } as { [P in K]?: T };
}
