import type { Clock, EpochMs } from '../contracts/index.js';

const FIRST_GAP_MS = 100;
const LONGEST_GAP_MS = 5_000;
/** Nobody has asked for so long that there is nothing to hold back. */
const QUIET_GAPS = 10;

interface Slowed {
  /** When the next request may go out. */
  nextAt: EpochMs;
  /** Between two requests. */
  gapMs: number;
  /** How far what the provider asked for reaches. */
  heldUntil: EpochMs;
  waiting: number;
}

/**
 * How fast requests go out to providers that asked for less. One that said "too many" is asked nothing until the time
 * it named, then one request at a time with a gap between, which grows with each "too many" and shrinks with each answer.
 */
export interface Pace {
  isFree(provider: string): boolean;
  slow(provider: string, waitMs: number): void;
  answered(provider: string): void;
  /** Resolves when its turn has come, in order of arrival; at once where nothing holds. Rejects when `signal` fires. */
  wait(provider: string, signal?: AbortSignal): Promise<void>;
}

export function createPace(clock: Clock): Pace {
  const slowed = new Map<string, Slowed>();
  return {
    isFree(provider) {
      const known = slowed.get(provider);
      if (known === undefined) return true;
      const isQuiet = known.waiting === 0 && clock.now() >= known.nextAt + known.gapMs * QUIET_GAPS;
      if (isQuiet) slowed.delete(provider);
      return isQuiet;
    },
    slow(provider, waitMs) {
      if (waitMs <= 0) return;
      const now = clock.now();
      const known = slowed.get(provider);
      const heldUntil = now + waitMs;
      if (known === undefined) {
        slowed.set(provider, { nextAt: heldUntil, gapMs: FIRST_GAP_MS, heldUntil, waiting: 0 });
        return;
      }
      // Requests that were on their way when it spoke up say the same again: that is one slowing, not many.
      if (now >= known.heldUntil) known.gapMs = Math.min(LONGEST_GAP_MS, known.gapMs * 2);
      known.heldUntil = Math.max(known.heldUntil, heldUntil);
      known.nextAt = Math.max(known.nextAt, heldUntil);
    },
    answered(provider) {
      const known = slowed.get(provider);
      if (known === undefined || clock.now() < known.heldUntil) return;
      if (known.waiting === 0) slowed.delete(provider);
      else known.gapMs /= 2;
    },
    async wait(provider, signal) {
      const known = slowed.get(provider);
      if (known === undefined) return;
      known.waiting++;
      try {
        for (;;) {
          signal?.throwIfAborted();
          const now = clock.now();
          if (now >= known.nextAt) {
            known.nextAt = now + known.gapMs;
            return;
          }
          // Each looks again when its moment has come: what was answered meanwhile may have freed it.
          await pause(clock, known.nextAt - now, signal);
        }
      } finally {
        known.waiting--;
      }
    },
  };
}

function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.schedule(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
