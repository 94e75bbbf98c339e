/** Characters of base64 that are held for requests to come. */
const ROOM = 32 * 1_024 * 1_024;

/**
 * Kept media that was sent lately, for the turns after, by what it belongs to and its address. Who used it least lately
 * makes room. What is forgotten is read anew: a session that has taken the id of another finds nothing of it here.
 */
export class MediaCache<Owner> {
  readonly #held = new Map<Owner, Map<string, string>>();
  #size = 0;

  get(owner: Owner, uri: string): string | undefined {
    const own = this.#held.get(owner);
    const data = own?.get(uri);
    if (own === undefined || data === undefined) return undefined;
    this.#held.delete(owner);
    this.#held.set(owner, own);
    return data;
  }

  set(owner: Owner, uri: string, data: string): void {
    const own = this.#held.get(owner) ?? new Map<string, string>();
    if (data.length > ROOM || own.has(uri)) return;
    this.#held.delete(owner);
    for (const oldest of this.#held.keys()) {
      if (this.#size + data.length <= ROOM) break;
      this.forget(oldest);
    }
    // All that is left is its own.
    if (this.#size + data.length > ROOM) {
      own.clear();
      this.#size = 0;
    }
    own.set(uri, data);
    this.#size += data.length;
    this.#held.set(owner, own);
  }

  forget(owner: Owner): void {
    for (const data of this.#held.get(owner)?.values() ?? []) this.#size -= data.length;
    this.#held.delete(owner);
  }

  /** Characters held. */
  get size(): number {
    return this.#size;
  }
}
