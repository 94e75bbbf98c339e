import type { Thread } from './thread.js';

/** A question, or a call that the consumer runs, opens (1) or closes (-1) in a thread. Those above learn of it: O(depth). */
export function noteOutsideWait(thread: Thread, by: 1 | -1): void {
  thread.outsideWaits += by;
  noteBlocked(thread);
}

/**
 * Keeps the count of children that take no place in their parent's concurrency, from a thread upwards as far as it
 * changes. A child that is answered goes on at once, even where another has taken its place meanwhile.
 */
export function noteBlocked(thread: Thread): void {
  for (let at = thread; at.parent?.crew !== undefined; at = at.parent) {
    const { crew } = at.parent;
    const isBlocked = waitsForOutside(at);
    if (isBlocked === (crew.blocked?.has(at) === true)) return;
    if (isBlocked) {
      crew.blocked ??= new Set();
      crew.blocked.add(at);
      crew.pump();
    } else crew.blocked?.delete(at);
  }
}

/** Nothing in it, or below it, goes on before somebody outside does something. */
function waitsForOutside({ outsideWaits, crew, hasEnded }: Thread): boolean {
  if (hasEnded) return false;
  const places = crew?.places() ?? 0;
  return (outsideWaits > 0 || places > 0) && places === (crew?.blocked?.size ?? 0);
}
