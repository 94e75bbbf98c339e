import type { Clock } from '../contracts/index.js';

const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The wall clock. Its timers do not keep a process alive on their own account longer than their delay. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(task, delayMs) {
    let handle: ReturnType<typeof setTimeout>;
    const arm = (remainingMs: number) => {
      // A longer delay than this fires at once.
      const step = Math.min(remainingMs, LONGEST_TIMEOUT_MS);
      handle = setTimeout(() => (remainingMs > step ? arm(remainingMs - step) : task()), step);
    };
    arm(Math.max(0, delayMs));
    return () => clearTimeout(handle);
  },
};
