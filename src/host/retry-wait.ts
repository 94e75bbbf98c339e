import type { ModelFailure } from '../contracts/index.js';

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** What asks for more is not waited for. */
export const LONGEST_WAIT_MS = 5 * 60_000;

/**
 * How long to wait before a failed call is made again: what the provider named (0 is 0), else 0.5 s, doubled with each
 * failure, less up to half of it by chance. Undefined: it is not worth it.
 */
export function retryWait(
  { retryable, retryAfterMs }: Pick<ModelFailure, 'retryable' | 'retryAfterMs'>,
  failures: number,
  random: () => number,
): number | undefined {
  if (!retryable) return undefined;
  if (retryAfterMs !== undefined) return retryAfterMs > LONGEST_WAIT_MS ? undefined : retryAfterMs;
  const full = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failures - 1));
  return full * (1 - random() / 2);
}
