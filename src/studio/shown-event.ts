import type { AgentEvent } from '../contracts/index.js';

type Kind = 'text' | 'number' | 'list' | 'record';
type Fields = Readonly<Record<string, Kind>>;

/** What a view cannot do without, by the type of the event. A map: a `type` of "constructor" finds nothing in it. */
const NEEDED: ReadonlyMap<unknown, Fields> = new Map<string, Fields>([
  ['initialize', { agent: 'record' }],
  ['message', { messageId: 'text', role: 'text', content: 'list' }],
  ['tool_request', { requestId: 'text', name: 'text' }],
  ['tool_update', { requestId: 'text' }],
  ['tool_response', { requestId: 'text', llmContent: 'list' }],
  ['elicitation_request', { requestId: 'text', kind: 'text', message: 'text' }],
  ['elicitation_response', { requestId: 'text', action: 'text' }],
  ['error', { code: 'text', message: 'text' }],
  ['stream_end', { reason: 'text' }],
  ['custom', { kind: 'text' }],
  ['agent_started', { agentName: 'text' }],
  ['agent_transfer', { from: 'text', to: 'text' }],
  ['loop_iteration', { iteration: 'number', maxIterations: 'number' }],
]);

/** What may be absent, and is left out where it is something else. */
const OPTIONAL: Fields = {
  threadId: 'text',
  agentId: 'text',
  parentThreadId: 'text',
  title: 'text',
  displayName: 'text',
  model: 'text',
  permissionMode: 'text',
  status: 'text',
  expiresAt: 'text',
  reason: 'text',
  progress: 'number',
  inputTokens: 'number',
  outputTokens: 'number',
  displayContent: 'list',
  context: 'record',
  requestedSchema: 'record',
  cost: 'record',
  _meta: 'record',
};
const OPTIONAL_NAMES = Object.keys(OPTIONAL);
const NOTHING: Fields = {};

const PARTS = ['content', 'llmContent', 'displayContent'] as const;

/**
 * A logged event as a page can show it: itself, almost always. A log is a file that anybody may have written: a field of
 * the wrong kind is left out, and an event that says nothing without it is told as one that cannot be read.
 */
export function shownEvent(event: AgentEvent): AgentEvent {
  const given = event as unknown as Record<string, unknown>;
  const isWhole =
    typeof given.type === 'string' &&
    typeof given.timestamp === 'string' &&
    hasAll(given, NEEDED.get(given.type) ?? NOTHING) &&
    (given.type !== 'initialize' || isOf((given.agent as { name?: unknown }).name, 'text'));
  if (!isWhole) return unreadable(given);
  let shown = given;
  const leaveOut = (name: string, instead?: unknown) => {
    if (shown === given) shown = { ...given };
    if (instead === undefined) delete shown[name];
    else shown[name] = instead;
  };
  for (const name of OPTIONAL_NAMES)
    if (given[name] !== undefined && !isOf(given[name], OPTIONAL[name])) leaveOut(name);
  const { cost } = given as { cost?: { usd?: unknown } };
  if (shown.cost !== undefined && !isOf(cost?.usd, 'number')) leaveOut('cost');
  for (const name of PARTS) {
    const parts = shown[name];
    // What a form was answered with has the same name.
    if (!Array.isArray(parts) || given.type === 'elicitation_response') continue;
    if (!parts.every(isPart)) leaveOut(name, parts.filter(isPart));
  }
  if (given.type === 'tool_update' && given.content !== undefined && !isOf(given.content, 'list')) leaveOut('content');
  return shown as unknown as AgentEvent;
}

function unreadable({ id, seq, timestamp, threadId, type }: Record<string, unknown>): AgentEvent {
  return {
    type: 'custom',
    kind: 'notice',
    id: String(id),
    seq: Number(seq),
    timestamp: typeof timestamp === 'string' ? timestamp : new Date(0).toISOString(),
    ...(typeof threadId === 'string' && { threadId }),
    data: {
      code: 'UNREADABLE_EVENT',
      severity: 'warning',
      text: `an event of the type ${JSON.stringify(type) ?? 'unknown'} stands here that cannot be read`,
    },
  };
}

function hasAll(event: Record<string, unknown>, fields: Fields): boolean {
  for (const name in fields) if (!isOf(event[name], fields[name])) return false;
  return true;
}

function isOf(value: unknown, kind: Kind | undefined): boolean {
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'number') return Number.isFinite(value);
  return typeof value === 'object' && value !== null && Array.isArray(value) === (kind === 'list');
}

const isPart = (part: unknown): boolean =>
  isOf(part, 'record') && typeof (part as { type?: unknown }).type === 'string';
