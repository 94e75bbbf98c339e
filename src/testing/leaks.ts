import { getEventListeners } from 'node:events';
import { liveSessions } from '../host/live-sessions.js';
import { type TimerWatch, watchTimers } from './timer-watch.js';

export interface LeakOptions {
  /** Their `abort` listeners must be as many after the action as before it. */
  signals?: readonly AbortSignal[];
  /** Virtual clocks, or anything else that counts its scheduled tasks: as many after as before. */
  clocks?: readonly { readonly pending: number }[];
  /** Resource names (as in `process.getActiveResourcesInfo()`) that may stay. */
  allow?: readonly string[];
  /** Rounds of the event loop that are waited for what is closing. Default 200. */
  rounds?: number;
}

const DEFAULT_ROUNDS = 200;
/** So many rounds turn without waiting; each later one gives the operating system a moment to close or reap. */
const EAGER_ROUNDS = 20;
const PATIENT_MS = 5;

// Taken at load, as a test may fake the globals.
const setRealImmediate = setImmediate;
const setRealTimeout = setTimeout;

/**
 * Runs `action` and resolves with its result once nothing of it is left: sessions with all their actors, whichever host
 * they are open in, timers, sockets, servers, child processes and other handles that hold the process open, unhandled
 * rejections, listeners on `signals`, tasks on `clocks`. Rejects naming what is left when it is still there after
 * `rounds`; with the action's own error when that fails. Unseen: handles that were `unref`ed, save timers; a host that
 * was not closed and has no session. What runs beside the action is counted as its own.
 */
export async function expectNoLeaks<T>(action: () => Promise<T> | T, options: LeakOptions = {}): Promise<T> {
  const { rounds = DEFAULT_ROUNDS } = options;
  const rejections: unknown[] = [];
  const onRejection = (reason: unknown) => void rejections.push(reason);
  process.on('unhandledRejection', onRejection);
  const timers = watchTimers();
  try {
    const before = countAll(options);
    const result = await action();
    let left = whatIsLeft(before, countAll(options), timers, options);
    // A rejection is told of only after the promise jobs of its round: the first rounds are always waited for.
    for (let round = 0; round < rounds && (round < EAGER_ROUNDS || left.length > 0); round++) {
      await turn(round < EAGER_ROUNDS ? 0 : PATIENT_MS);
      left = whatIsLeft(before, countAll(options), timers, options);
    }
    const problems = [...left, ...rejections.map((reason) => `an unhandled rejection: ${sayReason(reason)}`)];
    if (problems.length > 0) throw new Error(`left behind: ${problems.join('; ')}`);
    return result;
  } finally {
    timers.stop();
    process.off('unhandledRejection', onRejection);
  }
}

function turn(waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (waitMs === 0) setRealImmediate(resolve);
    else setRealTimeout(resolve, waitMs);
  });
}

/** Count by name, for everything that is watched. */
function countAll({ signals = [], clocks = [], allow = [] }: LeakOptions): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (!allow.includes(name)) counts.set(sayResource(name), (counts.get(sayResource(name)) ?? 0) + 1);
  }
  for (const [index, signal] of signals.entries()) {
    counts.set(`abort listener of signal ${index}`, getEventListeners(signal, 'abort').length);
  }
  for (const [index, clock] of clocks.entries()) counts.set(`scheduled task of clock ${index}`, clock.pending);
  counts.set('open session', liveSessions.count);
  return counts;
}

function whatIsLeft(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  timers: TimerWatch,
  { allow = [] }: LeakOptions,
): string[] {
  const more = new Map([...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)]));
  // The count of the whole process misses a timer when one of the runner's ended meanwhile.
  if (!allow.includes('Timeout')) more.set(TIMER, Math.max(more.get(TIMER) ?? 0, timers.armed()));
  return [...more].filter(([, count]) => count > 0).map(([name, count]) => `${count} × ${name}`);
}

const TIMER = 'timer (Timeout)';

const RESOURCES: Readonly<Record<string, string>> = {
  Timeout: TIMER,
  Immediate: 'setImmediate callback (Immediate)',
  TCPSocketWrap: 'socket (TCPSocketWrap)',
  TCPServerWrap: 'listening server (TCPServerWrap)',
  PipeWrap: 'pipe or local socket (PipeWrap)',
  ProcessWrap: 'child process (ProcessWrap)',
};

const sayResource = (name: string) => RESOURCES[name] ?? name;

const sayReason = (reason: unknown) => (reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason));
