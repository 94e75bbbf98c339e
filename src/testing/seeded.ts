export { seededRandom } from '../kernel/random.js';

/** A copy of `list` in an order that `random` chooses, each order equally likely. */
export function shuffled<T>(list: Iterable<T>, random: () => number): T[] {
  const drawn = [...list];
  for (let last = drawn.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [drawn[last], drawn[other]] = [drawn[other] as T, drawn[last] as T];
  }
  return drawn;
}
