import type { AgentEvent, Bag, HookPoint } from '../contracts/index.js';

/** Every point that a host fires. */
export const HOOK_POINTS: readonly HookPoint[] = [
  'session_start',
  'on_user_message',
  'before_run',
  'before_agent',
  'before_model',
  'before_tool_selection',
  'after_model',
  'on_model_error',
  'before_tool',
  'after_tool',
  'on_tool_error',
  'after_agent',
  'after_run',
  'session_end',
  'notification',
  'on_event',
  'pre_compress',
];

/** Points at which a hook that fails blocks: a guard that cannot be understood has not agreed. */
export const GUARD_POINTS: ReadonlySet<string> = new Set(['before_tool', 'before_model']);

/** Points at which nothing can be changed. */
export const OBSERVER_POINTS: ReadonlySet<string> = new Set(['after_run', 'session_end']);

/** Where an event stands, what it is, and what it answers: no hook changes these. */
const FIXED: ReadonlySet<string> = new Set([
  ...['id', 'timestamp', 'seq', 'type', 'agentId', 'threadId', 'runId', 'streamId', 'source'],
  ...['requestId', 'parentRequestId', 'messageId', 'index', 'kind', 'role', 'reason', 'sessionId', 'agentName'],
]);

/** An event as an `on_event` hook would have it: its own fields may be others, not where it stands or what it is. */
export function changedEvent(event: AgentEvent, change: Bag): AgentEvent {
  const fields = Object.entries(change).filter(([key, value]) => !FIXED.has(key) && value !== undefined);
  return fields.length === 0 ? event : ({ ...event, ...Object.fromEntries(fields) } as AgentEvent);
}
