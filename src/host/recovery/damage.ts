import type { LogGap, SessionHandle } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';

/** The first part in the middle of a log that cannot be read; undefined where all but a torn end can. */
export const damageIn = ({ gaps }: SessionHandle): LogGap | undefined => gaps?.find(({ kind }) => kind !== 'torn');

/** Throws `SESSION_DAMAGED`: a log that has lost something is not written on. `remedy`: what would help. */
export function assertUndamaged(handle: SessionHandle, remedy: string): void {
  const damage = damageIn(handle);
  if (damage === undefined) return;
  const { line, afterSeq, reason } = damage;
  throw new TroupeError({
    code: 'SESSION_DAMAGED',
    message: `the log of session "${handle.id}" is damaged at line ${line} (behind event ${afterSeq}): ${reason}; ${remedy}`,
  });
}
