/**
 * Heights of the rows of a long list, of which most were never measured. Places are found in time that grows with the
 * logarithm of the number of rows.
 */
export class RowHeights {
  #heights: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** Sums over stretches of rows, as a Fenwick tree: 1-based. */
  #sums: Float64Array<ArrayBuffer> = new Float64Array(1);
  #count = 0;

  constructor(private readonly estimate: number) {}

  get count(): number {
    return this.#count;
  }

  get total(): number {
    return this.offsetOf(this.#count);
  }

  /** Rows beyond are as high as the estimate; rows that go take their heights with them. */
  resize(count: number): void {
    if (count === this.#count) return;
    const kept = Math.min(count, this.#count);
    if (count > this.#heights.length || count < this.#count) {
      const heights = new Float64Array(Math.max(64, count * 2)).fill(this.estimate);
      heights.set(this.#heights.subarray(0, kept));
      this.#heights = heights;
      this.#sums = new Float64Array(heights.length + 1);
      for (let at = 1; at <= heights.length; at++) {
        this.#sums[at] = (this.#sums[at] ?? 0) + (heights[at - 1] ?? 0);
        const above = at + (at & -at);
        if (above <= heights.length) this.#sums[above] = (this.#sums[above] ?? 0) + (this.#sums[at] ?? 0);
      }
    }
    this.#count = count;
  }

  /** Returns by how much the row grew. */
  set(index: number, height: number): number {
    const grown = height - (this.#heights[index] ?? height);
    if (index >= this.#count || grown === 0) return 0;
    this.#heights[index] = height;
    for (let at = index + 1; at < this.#sums.length; at += at & -at) this.#sums[at] = (this.#sums[at] ?? 0) + grown;
    return grown;
  }

  /** Where a row begins; of `count`: where the last one ends. */
  offsetOf(index: number): number {
    let sum = 0;
    for (let at = Math.min(index, this.#count); at > 0; at -= at & -at) sum += this.#sums[at] ?? 0;
    return sum;
  }

  /** The row that stands at an offset; the first or the last where it is outside. */
  indexAt(offset: number): number {
    let at = 0;
    let left = offset;
    for (let step = 2 ** Math.floor(Math.log2(this.#sums.length)); step >= 1; step /= 2) {
      const next = at + step;
      if (next >= this.#sums.length || (this.#sums[next] ?? 0) > left) continue;
      at = next;
      left -= this.#sums[next] ?? 0;
    }
    return Math.max(0, Math.min(at, this.#count - 1));
  }
}
