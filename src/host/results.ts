import type { Thread } from './thread.js';

/** Results by child, in the order of the children; absent where a child has none or failed. */
export function resultsOf(thread: Thread): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  for (const outcome of thread.crew?.outcomes ?? []) {
    if (outcome?.ok && outcome.end.data.result !== undefined) results[outcome.name] = outcome.end.data.result;
  }
  return results;
}
