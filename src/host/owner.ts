import type { SessionHandle } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

/** A session is for its own user only; `userId` absent: whoever asks is not known, and gets it. Throws `SESSION_NOT_FOUND`. */
export function assertOwner({ id, head }: SessionHandle, userId: string | undefined): void {
  const owner = head?.metadata.userId;
  if (owner === undefined || userId === undefined || owner === userId) return;
  throw new TroupeError({
    code: 'SESSION_NOT_FOUND',
    message: `user "${userId}" has no session "${id}": give the userId that it was begun with, or another id`,
  });
}
