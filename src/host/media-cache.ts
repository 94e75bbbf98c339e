/** Characters of base64 that are held for requests to come. */
const ROOM = 32 * 1_024 * 1_024;

/** Kept media that was sent lately, for the turns after; what was not used for longest makes room. */
export class MediaCache {
  readonly #held = new Map<string, string>();
  #size = 0;

  get(key: string): string | undefined {
    const data = this.#held.get(key);
    if (data === undefined) return undefined;
    this.#held.delete(key);
    this.#held.set(key, data);
    return data;
  }

  set(key: string, data: string): void {
    if (data.length > ROOM / 2 || this.#held.has(key)) return;
    this.#held.set(key, data);
    this.#size += data.length;
    for (const [oldest, { length }] of this.#held) {
      if (this.#size <= ROOM) break;
      this.#held.delete(oldest);
      this.#size -= length;
    }
  }
}
