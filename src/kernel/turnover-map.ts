/** So many may go before a new table is begun: one with every entry would cost more than it saves. */
const FEW = 32;
/** Entries that are copied without anybody noticing. */
const SMALL = 1024;

/**
 * A Map for what comes and goes for as long as the process lives. A Map of that age has its table in V8's old space,
 * and so has every table that replaces it as entries come and go; each keeps what stood in it until the next full
 * collection, which made every run cost half as much again. This one begins a new Map, young and in no chain with the
 * last, once more entries have gone than there are; not a large one, whose table is seldom replaced. Iterate over a copy
 * where entries may go meanwhile.
 */
export class TurnoverMap<K, V> {
  #map = new Map<K, V>();
  #gone = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false;
    const { size } = this.#map;
    if (++this.#gone > FEW && this.#gone > size && size <= SMALL) {
      this.#gone = 0;
      this.#map = new Map(this.#map);
    }
    return true;
  }

  clear(): void {
    this.#gone = 0;
    this.#map = new Map();
  }

  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }
}
