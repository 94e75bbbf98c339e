import type { Clock } from '../contracts/index.js';

/** Makes ids and timestamps for one host. */
export interface Stamp {
  /** `<prefix><counter>`: unique within the host, not secret. */
  nextId(): string;
  /** ISO 8601, UTC, ms; never earlier than one given before, even when the clock is set back. */
  timestamp(): string;
  /** None from here on is earlier than this one, which another host may have given. */
  notBefore(timestamp: string): void;
}

/** `prefix` tells hosts apart (a few random characters). */
export function createStamp(clock: Clock, prefix: string): Stamp {
  let counter = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let lastText = '';
  return {
    nextId: () => prefix + (++counter).toString(36),
    timestamp() {
      const nowMs = clock.now();
      if (nowMs > lastMs) {
        lastMs = nowMs;
        lastText = new Date(nowMs).toISOString();
      }
      return lastText;
    },
    notBefore(timestamp) {
      const ms = Date.parse(timestamp);
      if (!(ms > lastMs)) return;
      lastMs = ms;
      lastText = timestamp;
    },
  };
}
