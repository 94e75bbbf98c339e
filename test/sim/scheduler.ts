import type { Clock } from '../../src/contracts/index.js';

/** What runs in one process of a simulation: its timers end with it. */
export interface SimProcess extends Clock {
  readonly isDead: boolean;
  /** Timers that neither ran nor were cancelled. */
  readonly pending: number;
  /** Nothing of it happens any more: what was scheduled is dropped, what is scheduled later never runs. */
  kill(): void;
}

export interface Scheduler {
  now(): number;
  /** A process of the host that is simulated, or of the world around it. */
  process(): SimProcess;
  /** Resolves `true` once `isOver` holds, `false` when it does not and nothing is left to run. Throws where there is no end. */
  drive(isOver: () => boolean): Promise<boolean>;
  /** Gives the globals back. */
  restore(): void;
  /** Timers of the wall clock that were set meanwhile, by where from. */
  readonly realTimers: readonly string[];
}

interface Task {
  readonly at: number;
  readonly run: () => void;
  isOff: boolean;
}

const realImmediate = setImmediate;
const realTimeout = setTimeout;
const realNow = performance.now;
const MOST_STEPS = 200_000;
/** Rounds of at least 1 ms. */
const MOST_IDLE = 200;

/**
 * Time and order as data: at every step `random` chooses between the oldest `setImmediate` callback and the timers that
 * are due (ties in any order); before it, all promises have settled. While it is installed, `setImmediate` and
 * `performance.now` of the global object are its own, so that nothing depends on how fast the machine is.
 */
export function installScheduler(random: () => number): Scheduler {
  let nowMs = 0;
  let steps = 0;
  let tasks: Task[] = [];
  const immediates: { run: () => void; isOff: boolean }[] = [];
  const realTimers: string[] = [];

  const immediate = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
    const entry = { run: () => run(...args), isOff: false };
    immediates.push(entry);
    return entry;
  };
  const timeout = (...args: unknown[]) => {
    realTimers.push(new Error('set').stack?.split('\n').slice(2, 4).join(' ') ?? 'unknown');
    return Reflect.apply(realTimeout, globalThis, args);
  };
  Object.assign(globalThis, { setImmediate: immediate, setTimeout: timeout });
  performance.now = () => nowMs;

  const promisesSettle = () => new Promise<void>((resolve) => realImmediate(resolve));

  const due = (): Task[] => tasks.filter((task) => task.at <= nowMs);

  /** Runs one thing that is ready; false where there is none. */
  const step = (): boolean => {
    if (++steps > MOST_STEPS) throw new Error(`no end after ${MOST_STEPS} steps`);
    while (immediates[0]?.isOff) immediates.shift();
    const ready = due();
    const choices = ready.length + (immediates.length > 0 ? 1 : 0);
    if (choices === 0) return false;
    const choice = choices === 1 ? 0 : Math.floor(random() * choices);
    const task = ready[choice];
    if (task === undefined) immediates.shift()?.run();
    else {
      tasks = tasks.filter((one) => one !== task);
      task.run();
    }
    return true;
  };

  const toNext = (): boolean => {
    if (tasks.length === 0) return false;
    nowMs = Math.max(nowMs, Math.min(...tasks.map(({ at }) => at)));
    return true;
  };

  return {
    now: () => nowMs,
    process() {
      const own = new Set<Task>();
      let isDead = false;
      return {
        now: () => nowMs,
        schedule(run, delayMs) {
          if (isDead) return () => {};
          const task: Task = {
            at: nowMs + Math.max(0, delayMs || 0),
            run: () => {
              own.delete(task);
              run();
            },
            isOff: false,
          };
          own.add(task);
          tasks.push(task);
          return () => {
            if (!own.delete(task)) return;
            tasks = tasks.filter((one) => one !== task);
          };
        },
        kill() {
          isDead = true;
          tasks = tasks.filter((task) => !own.has(task));
          own.clear();
        },
        get isDead() {
          return isDead;
        },
        get pending() {
          return own.size;
        },
      };
    },
    async drive(isOver) {
      let idle = 0;
      for (;;) {
        await promisesSettle();
        if (isOver()) return true;
        if (step() || toNext()) idle = 0;
        // A module may be on its way from its file.
        else if (++idle > MOST_IDLE) return false;
        else await new Promise((resolve) => realTimeout(resolve, 1));
      }
    },
    restore() {
      Object.assign(globalThis, { setImmediate: realImmediate, setTimeout: realTimeout });
      performance.now = realNow;
    },
    realTimers,
  };
}
