import type { Clock, EpochMs } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

/** A clock that stands still until it is told to move. */
export interface VirtualClock extends Clock {
  now(): EpochMs;
  schedule(task: () => void, delayMs: number): () => void;
  /**
   * Moves time by `ms` (0 or more) and runs what falls due, in order of time, ties in order of scheduling; `now()` is
   * each task's own time while it runs, and what tasks schedule within the window runs too. Before the first task and
   * after each one, promises and `setImmediate` callbacks settle; real I/O is not waited for. Overlapping calls queue.
   * Rejects with what a task throws; time then stands at that task, the later ones stay scheduled.
   */
  advance(ms: number): Promise<void>;
  /** Tasks that are scheduled and neither ran nor were cancelled. */
  readonly pending: number;
}

interface Timer {
  readonly at: EpochMs;
  readonly order: number;
  readonly task: () => void;
}

// Taken at load: a test runner that fakes the globals later must not stop this clock.
const setRealImmediate = setImmediate;
const LEAST_ROUNDS = 3;
const MOST_ROUNDS = 1_000;

/** Resolves once no `setImmediate` callback is waiting (at least 3 rounds, at most 1,000: something may pump for ever). */
async function settle(): Promise<void> {
  for (let round = 1; round <= MOST_ROUNDS; round++) {
    await new Promise<void>((resolve) => setRealImmediate(resolve));
    if (round >= LEAST_ROUNDS && !process.getActiveResourcesInfo().includes('Immediate')) return;
  }
}

/** Time as data for tests: nothing happens by itself. `startMs` is what `now()` says first (epoch ms). */
export function virtualClock(startMs: EpochMs = 0): VirtualClock {
  let nowMs = startMs;
  let scheduled = 0;
  let queue: Promise<void> = Promise.resolve();
  /** Sorted by time, then by order of scheduling. */
  const timers: Timer[] = [];

  const placeOf = (at: EpochMs, order: number): number => {
    let low = 0;
    let high = timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const timer = timers[middle];
      if (timer !== undefined && (timer.at < at || (timer.at === at && timer.order < order))) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const move = async (ms: number): Promise<void> => {
    const until = nowMs + ms;
    await settle();
    for (let next = timers[0]; next !== undefined && next.at <= until; next = timers[0]) {
      timers.shift();
      nowMs = Math.max(nowMs, next.at);
      next.task();
      await settle();
    }
    nowMs = until;
  };

  return {
    now: () => nowMs,
    schedule(task, delayMs) {
      // NaN is due at once, as with setTimeout.
      const timer: Timer = { at: nowMs + Math.max(0, delayMs || 0), order: scheduled++, task };
      timers.splice(placeOf(timer.at, timer.order), 0, timer);
      return () => {
        const place = placeOf(timer.at, timer.order);
        if (timers[place] === timer) timers.splice(place, 1);
      };
    },
    advance(ms) {
      if (!(ms >= 0 && Number.isFinite(ms))) {
        const message = `a clock can advance by 0 ms or more, not by ${String(ms)}`;
        return Promise.reject(new TroupeError({ code: 'INVALID_OPTION', message }));
      }
      const moved = queue.then(() => move(ms));
      queue = moved.catch(() => undefined);
      return moved;
    },
    get pending() {
      return timers.length;
    },
  };
}
