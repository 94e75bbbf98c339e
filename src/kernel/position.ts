import type { AgentEvent } from '../contracts/index.js';
import { TroupeError } from './errors.js';

/** Throws `INVALID_OPTION` for an event that cannot be given a place in a log: its `seq` counts from 1, in whole numbers. */
export function assertPosition({ seq, type }: Pick<AgentEvent, 'seq' | 'type'>): void {
  if (Number.isSafeInteger(seq) && seq > 0) return;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: `the seq of an event must be a whole number above 0, and that of this ${String(type)} is ${String(seq)}`,
  });
}
