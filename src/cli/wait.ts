import { setTimeout } from 'node:timers/promises';

/** Resolves after that time, or at once when the signal fires. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
