import type { Clock } from '../contracts/index.js';

/** Makes ids and timestamps for one host. */
export interface Stamp {
  /** `<prefix><counter>`: unique within the host, not secret. */
  nextId(): string;
  /** Of the ids given out so far: `idOf(count)` is the last one. */
  readonly count: number;
  idOf(count: number): string;
  /** ISO 8601, UTC, ms; never earlier than one given before, even when the clock is set back. */
  timestamp(): string;
  /** None from here on is earlier than this one, which another host may have given. */
  notBefore(timestamp: string): void;
}

/** `prefix` tells hosts apart (a few random characters). */
export const createStamp = (clock: Clock, prefix: string): Stamp => new HostStamp(clock, prefix);

class HostStamp implements Stamp {
  count = 0;
  #lastMs = Number.NEGATIVE_INFINITY;
  #lastText = '';

  constructor(
    private readonly clock: Clock,
    private readonly prefix: string,
  ) {}

  nextId(): string {
    return this.prefix + (++this.count).toString(36);
  }

  idOf(count: number): string {
    return this.prefix + count.toString(36);
  }

  timestamp(): string {
    const nowMs = this.clock.now();
    if (nowMs > this.#lastMs) {
      this.#lastMs = nowMs;
      this.#lastText = new Date(nowMs).toISOString();
    }
    return this.#lastText;
  }

  notBefore(timestamp: string): void {
    const ms = Date.parse(timestamp);
    if (!(ms > this.#lastMs)) return;
    this.#lastMs = ms;
    this.#lastText = timestamp;
  }
}
