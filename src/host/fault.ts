import { describeError } from '../kernel/errors.js';
import { publish } from './session-tree.js';
import type { Thread } from './thread.js';

/** Tells of a fault in code that an author wrote (`where` is what it belongs to). Returns it as the data of an end. */
export function publishFault(
  thread: Thread,
  where: string,
  thrown: unknown,
  fallbackCode: string,
): { code: string; message: string } {
  const fault = describeError(thrown, fallbackCode);
  const message = `${where}: ${fault.message}`;
  publish(thread, { type: 'error', code: fault.code, message, fatal: false });
  return { code: fault.code, message };
}
