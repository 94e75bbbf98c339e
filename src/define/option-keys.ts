import { invalid } from '../kernel/agent-check.js';
import type { Problem } from '../kernel/errors.js';

/** Keys that no option has: in JavaScript, and in data, a typing error would otherwise pass in silence. */
export function unknownKeys(options: object, known: readonly string[], path: string): Problem[] {
  return Object.keys(options)
    .filter((key) => !known.includes(key))
    .map((key) => invalid(`${path}.${key}`, `is unknown; known: ${known.join(', ')}`));
}
