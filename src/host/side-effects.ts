import type { Thread } from './thread.js';

/** Something was done that may not be done again: neither this thread nor one above it starts anew by itself. */
export function markSideEffect(thread: Thread): void {
  for (let at: Thread | undefined = thread; at !== undefined && !at.hadSideEffects; at = at.parent)
    at.hadSideEffects = true;
}
