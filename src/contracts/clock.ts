import type { EpochMs } from './open.js';

/** Time as a port: host, limits, backoff and expiry read it; tests drive it. */
export interface Clock {
  now(): EpochMs;
  /** Runs `task` once after `delayMs` (any length; beyond 2^31 ms too). Returns what cancels it. */
  schedule(task: () => void, delayMs: number): () => void;
}
