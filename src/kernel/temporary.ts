import type { AgentEvent } from '../contracts/index.js';

const isTemporary = (key: unknown): boolean => typeof key === 'string' && key.startsWith('temp:');
const keyOf = (write: unknown): unknown => (write as { key?: unknown } | null)?.key;

/** An event as it is stored: state keys named `temp:…` live as long as the session is open, and are in no log. */
export function withoutTemporary(event: AgentEvent): AgentEvent {
  if (event.type !== 'session_update' && event.type !== 'agent_completed') return event;
  const { stateDelta, _meta } = event;
  const updates: readonly unknown[] = Array.isArray(_meta?.updates) ? _meta.updates : [];
  const isInDelta = stateDelta !== undefined && Object.keys(stateDelta).some(isTemporary);
  const isInUpdates = updates.some((write) => isTemporary(keyOf(write)));
  if (!isInDelta && !isInUpdates) return event;
  const stored = { ...event };
  if (isInDelta)
    stored.stateDelta = Object.fromEntries(Object.entries(stateDelta).filter(([key]) => !isTemporary(key)));
  if (isInUpdates) stored._meta = { ..._meta, updates: updates.filter((write) => !isTemporary(keyOf(write))) };
  return stored;
}
