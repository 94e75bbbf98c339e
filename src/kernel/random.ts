/** Numbers in [0, 1), the same sequence for the same `seed` (its lower 32 bits count). Not for secrets. */
export function seededRandom(seed: number): () => number {
  // Neighbouring seeds start far apart; xorshift has no way out of 0.
  let state = scatter(seed | 0) || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    // The raw state of successive steps is correlated; scattered it is not.
    return (scatter(state) >>> 0) / 2 ** 32;
  };
}

/** Every bit of the input moves about half of the bits of the output; one to one on 32 bits. */
function scatter(word: number): number {
  const once = Math.imul(word ^ (word >>> 16), 0x7feb352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
  return twice ^ (twice >>> 16);
}
