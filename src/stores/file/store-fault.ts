import { TroupeError } from '../../kernel/errors.js';
import { codeOf } from './file-port.js';

const KNOWN: Readonly<Record<string, readonly [code: string, what: string]>> = {
  ENOSPC: ['STORE_FULL', 'the disk is full; free some space'],
  EDQUOT: ['STORE_FULL', 'the disk quota is used up; free some space'],
  EFBIG: ['STORE_FULL', 'the file has reached the largest size that is allowed'],
  EROFS: ['STORE_READ_ONLY', 'the file system is read-only; use a directory that can be written'],
  EACCES: ['STORE_DENIED', 'permission denied; use a directory of your own'],
  EPERM: ['STORE_DENIED', 'not permitted; use a directory of your own'],
  EMFILE: ['STORE_BUSY', 'too many open files; close some sessions'],
  ENFILE: ['STORE_BUSY', 'too many open files on this machine'],
  ENOTDIR: ['STORE_FAILED', 'a part of this path is a file, not a directory'],
};

/** What the file system refused, as an error that says what to do. A `TroupeError` stays what it is. */
export function storeFault(thrown: unknown, doing: string): TroupeError {
  if (thrown instanceof TroupeError) return thrown;
  const system = codeOf(thrown);
  const [code, what] = KNOWN[String(system)] ?? [
    'STORE_FAILED',
    thrown instanceof Error ? thrown.message : String(thrown),
  ];
  const told = typeof system === 'string' && KNOWN[system] !== undefined ? `${what} (${system})` : what;
  return new TroupeError({ code, message: `${doing}: ${told}`, cause: thrown, retryable: code === 'STORE_BUSY' });
}

/** Waits for file work and says what was being done when it fails. */
export async function doing<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw storeFault(thrown, what);
  }
}
