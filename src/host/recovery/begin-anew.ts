import type { SessionStreamData } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { notice } from '../session-tree.js';
import type { RunRecord, Thread } from '../thread.js';

/**
 * What an executor is given that keeps the conversation itself, in its first turn of a run that broke off: it had
 * nothing of it, so the run begins anew. Undefined: it goes on like any other. Throws `CANNOT_RESUME` where something
 * was done by then that may not be done twice.
 */
export function inboxAnew(thread: Thread, run: RunRecord): readonly SessionStreamData[] | undefined {
  const { past, executor } = thread;
  if (past?.input === undefined || past.isTakenOver) return undefined;
  past.isTakenOver = true;
  if (executor?.keepsContext !== true || past.turns === 0) return undefined;
  const { name } = thread.agent.definition;
  if (past.hadSideEffects) {
    throw new TroupeError({
      code: 'CANNOT_RESUME',
      message: `${name} keeps its conversation out of the host, and had done something by then that may not be done twice: give its session a new message`,
    });
  }
  notice(thread, 'BEGUN_ANEW', 'info', `${name} keeps its conversation out of the host: its run begins anew`);
  return [{ kind: 'message', content: past.input.content, input: run.input }];
}
