import type { AgentEventDraft, Bag, HookResult } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { abortStop, stopRun } from './end-run.js';
import { notice, publish } from './session-tree.js';
import type { Thread } from './thread.js';

/**
 * Fires a hook point in the name of a thread, and shows what the hooks say to the person; nothing where no hook
 * listens. A chain that fails blocks; `continue: false` blocks and ends the run of the tree. Never rejects.
 */
export function fireHook(thread: Thread, point: string, payload: Bag): undefined | Promise<HookResult> {
  return askHooks(thread, point, payload)?.then((result) => tellHooks(thread, point, result));
}

/** The same, with nothing shown and nothing ended yet: for what comes before an event that must be the first. */
export function askHooks(thread: Thread, point: string, payload: Bag): undefined | Promise<HookResult> {
  const { hooks, hookPoints } = thread.tree.host;
  if (hooks === undefined || !hookPoints.has(point)) return undefined;
  try {
    return hooks.fire(point, hookPayload(thread, payload)).catch(broken);
  } catch (thrown) {
    return Promise.resolve(broken(thrown));
  }
}

export const broken = (thrown: unknown): HookResult => ({
  action: 'block',
  reason: `the hooks failed: ${describeError(thrown).message}`,
});

/** What every hook is told, and what this one is. */
export function hookPayload(thread: Thread, payload: Bag) {
  const { tree, threadId, principalPath } = thread;
  return { sessionId: tree.sessionId, threadId, principalPath, mode: tree.settings.permissionMode, ...payload };
}

/** Notices and messages about hooks that are fired by events and notices: those are not fired for them again. */
export const aboutHooks = new WeakSet<object>();

/** What hooks say to the person, and hooks that failed without blocking anything, are shown; who ends the run does. */
export function tellHooks(thread: Thread, point: string, result: HookResult): HookResult {
  const { systemMessage, _meta } = result;
  if (systemMessage !== undefined) {
    say(thread, point, { type: 'custom', kind: 'hook_message', data: { point, text: systemMessage }, source: 'host' });
  }
  if (_meta !== undefined) {
    for (const fault of listIn(_meta.faults)) warn(thread, point, 'HOOK_FAILED', String(fault));
    for (const told of listIn(_meta.notices)) {
      const { code, text } = Object(told) as Bag;
      warn(thread, point, String(code), String(text));
    }
  }
  if (result.continue !== false) return result;
  const { stopReason = result.reason ?? `a hook at ${point} ended the run` } = result;
  stopRun(thread.tree.root, abortStop(stopReason, 'hook'));
  return { ...result, action: 'block', reason: result.reason ?? stopReason };
}

/** Tells that a hook, or the hooks of a point, came to something that the person should know. */
export function warn(thread: Thread, point: string, code: string, text: string): void {
  const said = `${point}: ${text}`;
  if (!isRefired(point)) return notice(thread, code, 'warning', said);
  say(thread, point, {
    type: 'custom',
    kind: 'notice',
    data: { code, severity: 'warning', text: said },
    source: 'host',
  });
}

const isRefired = (point: string) => point === 'on_event' || point === 'notification';
const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function say(thread: Thread, point: string, draft: AgentEventDraft<'custom'>): void {
  if (thread.tree.isClosed) return;
  if (isRefired(point)) aboutHooks.add(draft.data as object);
  publish(thread, draft);
}
