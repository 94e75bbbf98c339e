import type { Clock } from '../contracts/index.js';

/** Runs `task` once after `delayMs`; returns what cancels it. */
export type Schedule = Clock['schedule'];

interface Entry {
  readonly task: () => void;
  readonly at: number;
  cancel: (() => void) | undefined;
}

/**
 * Timers for what nearly always ends within the round of the event loop that begins it: only those that are still
 * waited for after that round become timers of the clock. The time counts from the call.
 */
export function createLateTimer(clock: Clock): Schedule {
  let waiting = new Set<Entry>();
  let isArmed = false;
  const arm = () => {
    isArmed = false;
    const due = waiting;
    waiting = new Set();
    const now = clock.now();
    for (const entry of due) entry.cancel = clock.schedule(entry.task, Math.max(0, entry.at - now));
  };
  return (task, delayMs) => {
    const entry: Entry = { task, at: clock.now() + delayMs, cancel: undefined };
    waiting.add(entry);
    if (!isArmed) {
      isArmed = true;
      setImmediate(arm);
    }
    return () => {
      waiting.delete(entry);
      entry.cancel?.();
    };
  };
}
