import type { Bag, HookResult } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import type { Thread } from './thread.js';

/** Fires a hook point in the name of a thread; nothing where no hook listens. A chain that fails blocks. Never rejects. */
export function fireHook(thread: Thread, point: string, payload: Bag): undefined | Promise<HookResult> {
  const { tree } = thread;
  const { hooks, hookPoints } = tree.host;
  if (hooks === undefined || !hookPoints.has(point)) return undefined;
  return hooks
    .fire(point, {
      sessionId: tree.sessionId,
      threadId: thread.threadId,
      principalPath: thread.principalPath,
      mode: tree.settings.permissionMode,
      ...payload,
    })
    .catch((thrown: unknown) => ({ action: 'block', reason: `the hooks failed: ${describeError(thrown).message}` }));
}
