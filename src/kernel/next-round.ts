/** So many steps may a loop over what others produce take without a wait: timers, sockets and aborts must have their turn. */
export const STEPS_PER_ROUND = 512;

/** One round of the event loop. */
export const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
