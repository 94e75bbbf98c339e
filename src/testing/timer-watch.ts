/** What is known of the timers that were made while it watched. */
export interface TimerWatch {
  /** Of those, how many are still armed; `unref`ed ones count. */
  armed(): number;
  /** Ends the watch. Twice does nothing. */
  stop(): void;
}

const watches = new Set<(timer: unknown) => void>();
let restoreGlobals: (() => void) | undefined;
/** Watching for long costs no more than what is armed, times two. */
const LEAST_KEPT = 64;

/**
 * Watches `setTimeout` and `setInterval` of the global object by identity: a count of the process's timers would be
 * moved by those of the test runner. Unseen: timers of code that took the functions before, and fake ones.
 */
export function watchTimers(): TimerWatch {
  let made: unknown[] = [];
  let pruneAt = LEAST_KEPT;
  const take = (timer: unknown) => {
    made.push(timer);
    if (made.length < pruneAt) return;
    made = made.filter(isArmed);
    pruneAt = Math.max(LEAST_KEPT, made.length * 2);
  };
  watches.add(take);
  restoreGlobals ??= replaceGlobals();
  return {
    armed: () => made.filter(isArmed).length,
    stop() {
      watches.delete(take);
      if (watches.size > 0) return;
      restoreGlobals?.();
      restoreGlobals = undefined;
    },
  };
}

/** Node has no public question for this; the field is set when a timer is cleared or has fired for the last time. */
function isArmed(timer: unknown): boolean {
  return typeof timer === 'object' && timer !== null && Reflect.get(timer, '_destroyed') === false;
}

function replaceGlobals(): () => void {
  const { setTimeout, setInterval } = globalThis;
  const watched = { setTimeout: watching(setTimeout), setInterval: watching(setInterval) };
  Object.assign(globalThis, watched);
  return () => {
    // A runner's fake timers that were installed meanwhile stay.
    if (globalThis.setTimeout === watched.setTimeout) globalThis.setTimeout = setTimeout;
    if (globalThis.setInterval === watched.setInterval) globalThis.setInterval = setInterval;
  };
}

function watching<F extends typeof setTimeout | typeof setInterval>(real: F): F {
  const wrapper = (...args: unknown[]): unknown => {
    const timer: unknown = Reflect.apply(real, globalThis, args);
    for (const take of watches) take(timer);
    return timer;
  };
  // `util.promisify` finds its own version of `setTimeout` there.
  return Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(real)) as F;
}
