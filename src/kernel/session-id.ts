import { TroupeError } from './errors.js';

const FORM = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
/** Names that mean a device on Windows, whatever follows the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i;

export const isSessionId = (id: unknown): id is string =>
  typeof id === 'string' && FORM.test(id) && !id.includes('..') && !DEVICE.test(id);

/** An id may become the name of a directory, whatever the store: it is checked before anything is looked up by it. */
export function assertSessionId(id: unknown): asserts id is string {
  if (isSessionId(id)) return;
  throw new TroupeError({
    code: 'INVALID_SESSION_ID',
    message: `${JSON.stringify(String(id).slice(0, 60))} is no session id: letters, digits, ".", "_" and "-", at most 128, no ".." and no name of a device`,
  });
}
