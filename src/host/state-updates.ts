import type { AgentEventDraft, Bag } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import type { StateUpdate } from '../kernel/state.js';
import { publish } from './session-tree.js';
import type { RunEnd, Thread } from './thread.js';

/** Applies writes to what a thread has of the state, and tells of them. Throws as `StateScope.commit` does, and then nothing changed. */
export function commitUpdates(thread: Thread, updates: readonly StateUpdate[], _meta?: Bag): void {
  if (isInLog(thread)) return;
  thread.state.commit(updates);
  publishDelta(thread, updates, _meta);
}

/** The log of a run that is taken up again has it already, and so has the state. */
export function isInLog({ past, agent }: Thread): boolean {
  if (past === undefined || past.deltas === 0 || agent.behaviour === 'turn') return false;
  past.deltas--;
  return true;
}

/** Says what keys that were written hold by now. */
export function publishDelta(thread: Thread, updates: readonly StateUpdate[], _meta?: Bag): void {
  const stateDelta: Record<string, unknown> = {};
  for (const { key } of updates) stateDelta[key] = thread.state.get(key);
  const draft: AgentEventDraft<'session_update'> = { type: 'session_update', stateDelta, source: 'host' };
  // What a child hands up is what it wrote, not what came of it.
  if (thread.parent !== undefined) draft._meta = { ..._meta, updates };
  else if (_meta !== undefined) draft._meta = _meta;
  publish(thread, draft);
  // The root hands nothing up: what was written is in its log.
  if (thread.parent === undefined) thread.state.settle();
}

/** Writes the result of a run that completed under its agent's `outputKey`. A value that the key does not take makes it a failure. */
export function keepOutput(thread: Thread, end: RunEnd): RunEnd {
  const { outputKeys } = thread.agent;
  const { result } = end.data;
  if (outputKeys === undefined || end.reason !== 'completed' || result === undefined) return end;
  if (thread.past?.ends !== undefined) return end;
  try {
    commitUpdates(
      thread,
      outputKeys.map((key) => ({ key, value: result })),
      // Written once, wherever the process ends: the end that it belongs to stands beside it.
      { ends: end },
    );
    return end;
  } catch (thrown) {
    const { code, message } = describeError(thrown, 'STATE_FAILED');
    publish(thread, { type: 'error', code, message, fatal: false });
    return { reason: 'failed', data: { ...end.data, code, message } };
  }
}
