import type { Bag, HookResult } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { notice, publish } from './session-tree.js';
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
    .then(
      (result) => tell(thread, point, result),
      (thrown: unknown) => ({ action: 'block', reason: `the hooks failed: ${describeError(thrown).message}` }),
    );
}

/** What hooks say to the person, and hooks that failed without blocking anything, are shown. */
function tell(thread: Thread, point: string, result: HookResult): HookResult {
  const { systemMessage, _meta } = result;
  if (systemMessage !== undefined) {
    publish(thread, { type: 'custom', kind: 'hook_message', data: { point, text: systemMessage }, source: 'host' });
  }
  if (Array.isArray(_meta?.faults)) {
    for (const fault of _meta.faults) notice(thread, 'HOOK_FAILED', 'warning', `${point}: ${String(fault)}`);
  }
  return result;
}
