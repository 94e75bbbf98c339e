import type { Clock } from '../contracts/index.js';
import { TurnoverMap } from './turnover-map.js';

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
  let waiting = new TurnoverMap<Entry, Entry>();
  let isArmed = false;
  const arm = () => {
    isArmed = false;
    const due = waiting;
    waiting = new TurnoverMap();
    const now = clock.now();
    for (const entry of due.keys()) entry.cancel = clock.schedule(entry.task, Math.max(0, entry.at - now));
  };
  return (task, delayMs) => {
    const entry: Entry = { task, at: clock.now() + delayMs, cancel: undefined };
    waiting.set(entry, entry);
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
