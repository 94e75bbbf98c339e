import type {
  AgentEvent,
  AgentEventBase,
  AgentEventDraft,
  AgentEventType,
  ContentPart,
  ContentPartBase,
  ContentPartType,
  PolicyDecision,
} from '../contracts/index.js';

/** An event of a type that this version does not know: kept and passed through, never acted on. */
export type UnknownEvent = AgentEventBase & { type: string; [key: string]: unknown };

/** The same before a host has stamped it. */
export type UnknownDraft = { type: string; [key: string]: unknown };

/** A part of a type that this version does not know: kept and passed through. */
export type UnknownPart = ContentPartBase & { type: string; [key: string]: unknown };

/** The same object that came in, told apart. `invalid`: not even an event or a part; `reason` says what is missing. */
export type Narrowed<Known, Unknown> =
  | { kind: 'known'; value: Known }
  | { kind: 'unknown'; value: Unknown }
  | { kind: 'invalid'; reason: string };

export type ClosedPermissionMode = 'default' | 'auto_edit' | 'autonomous' | 'plan' | 'dont_ask';
export type ClosedPolicyOutcome = PolicyDecision['outcome'];
export type ClosedElicitationAction = 'accept' | 'decline' | 'cancel';

type FieldType = 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any';
type Fields = Readonly<Record<string, FieldType>>;

// What must be there for the type to be believed. Maps, not objects: a `type` of "constructor" finds nothing in them.
const EVENT_FIELDS: ReadonlyMap<string, Fields> = new Map<AgentEventType, Fields>([
  ['initialize', { sessionId: 'string', agent: 'object', interfaceVersion: 'string', capabilities: 'array' }],
  ['session_update', {}],
  ['message', { messageId: 'string', role: 'string', content: 'array' }],
  ['tool_request', { requestId: 'string', name: 'string', args: 'any', messageId: 'string', index: 'number' }],
  ['tool_update', { requestId: 'string' }],
  ['tool_response', { requestId: 'string', name: 'string', llmContent: 'array' }],
  ['elicitation_request', { requestId: 'string', kind: 'string', message: 'string' }],
  ['elicitation_response', { requestId: 'string', action: 'string' }],
  ['usage', {}],
  ['error', { code: 'string', message: 'string', fatal: 'boolean' }],
  ['stream_end', { reason: 'string' }],
  ['custom', { kind: 'string' }],
  ['agent_started', { agentName: 'string', threadId: 'string' }],
  ['agent_completed', { agentName: 'string', threadId: 'string', reason: 'string' }],
  ['agent_transfer', { from: 'string', to: 'string' }],
  ['loop_iteration', { iteration: 'number', maxIterations: 'number' }],
]);

const PART_FIELDS: ReadonlyMap<string, Fields> = new Map<ContentPartType, Fields>([
  ['text', { text: 'string' }],
  ['thought', { thought: 'string' }],
  ['media', { mimeType: 'string' }],
  ['reference', { text: 'string' }],
  ['refusal', { text: 'string' }],
  ['code', { language: 'string', code: 'string' }],
  ['code_result', { output: 'string' }],
  ['ui', { format: 'string', data: 'any' }],
  ['function_call', { name: 'string', args: 'any', id: 'string' }],
  ['function_response', { name: 'string', response: 'any', id: 'string' }],
]);

/** What need not be there, and is looked at where it is. */
const PART_OPTIONS: ReadonlyMap<string, Fields> = new Map<ContentPartType, Fields>([
  ['thought', { thoughtSignature: 'string' }],
  ['media', { data: 'string', uri: 'string' }],
  ['reference', { uri: 'string', mimeType: 'string', data: 'string' }],
  ['code_result', { exitCode: 'number' }],
  ['function_call', { thoughtSignature: 'string' }],
]);

const BASE_FIELDS: Fields = { id: 'string', timestamp: 'string', seq: 'number' };

const MODES: ReadonlyMap<unknown, ClosedPermissionMode> = new Map<unknown, ClosedPermissionMode>([
  ['default', 'default'],
  ['auto_edit', 'auto_edit'],
  ['autoEdit', 'auto_edit'],
  ['acceptEdits', 'auto_edit'],
  ['autonomous', 'autonomous'],
  ['yolo', 'autonomous'],
  ['bypassPermissions', 'autonomous'],
  ['plan', 'plan'],
  ['dont_ask', 'dont_ask'],
  ['dontAsk', 'dont_ask'],
]);

/** Parses an event from outside, once, at the edge. Only own fields count; the object is neither copied nor changed. */
export function narrowEvent(value: unknown): Narrowed<AgentEvent, UnknownEvent> {
  const fault = isRecord(value) ? faultIn(value, { type: 'string', ...BASE_FIELDS }) : 'an event is an object';
  if (fault !== undefined) return { kind: 'invalid', reason: fault };
  return sort<AgentEvent, UnknownEvent>(value as UnknownEvent, EVENT_FIELDS);
}

/**
 * Parses an event of a source that the host does not number, such as another's session: as `narrowEvent`, but `id`,
 * `timestamp` and `seq` need not be there. They, and the rest of the base, stay on the object.
 */
export function narrowEventDraft(value: unknown): Narrowed<AgentEventDraft, UnknownDraft> {
  const fault = isRecord(value) ? faultIn(value, { type: 'string' }) : 'an event is an object';
  if (fault !== undefined) return { kind: 'invalid', reason: fault };
  return sort<AgentEventDraft, UnknownDraft>(value as UnknownDraft, EVENT_FIELDS);
}

/** Parses a content part from outside. Only own fields count; the object is neither copied nor changed. */
export function narrowContentPart(value: unknown): Narrowed<ContentPart, UnknownPart> {
  const fault = isRecord(value) ? faultInPart(value) : 'a content part is an object';
  if (fault !== undefined) return { kind: 'invalid', reason: fault };
  return sort<ContentPart, UnknownPart>(value as UnknownPart, PART_FIELDS);
}

function faultInPart(value: Record<string, unknown>): string | undefined {
  const fault = faultIn(value, { type: 'string' });
  if (fault !== undefined) return fault;
  const type = own(value, 'type') as string;
  if (type === '') return 'type must not be empty';
  const options = PART_OPTIONS.get(type);
  const wrong = optionFault(value, '_meta', 'object') ?? (options && wrongOption(value, options));
  if (wrong !== undefined) return `${type}: ${wrong}`;
  const isEmpty = type === 'media' && own(value, 'data') === undefined && own(value, 'uri') === undefined;
  return isEmpty && own(value, 'mimeType') !== undefined ? 'media: data or uri is missing' : undefined;
}

function wrongOption(value: object, options: Fields): string | undefined {
  for (const name of Object.keys(options)) {
    const wrong = optionFault(value, name, options[name] as FieldType);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function optionFault(value: object, name: string, type: FieldType): string | undefined {
  const given = own(value, name);
  return given === undefined || isOf(type, given) ? undefined : `${name} must be of type ${type}`;
}

/** The mode that a name, ours or another tool's, stands for. Anything else is `default`, in which the host asks. */
export function narrowPermissionMode(mode: unknown): ClosedPermissionMode {
  return MODES.get(mode) ?? 'default';
}

/** Anything but the three known outcomes is a deny. */
export function narrowPolicyOutcome(outcome: unknown): ClosedPolicyOutcome {
  return outcome === 'allow' || outcome === 'ask_user' ? outcome : 'deny';
}

/** What an evaluator of another's making said, read as one of ours: whatever is not understood denies, and says so. */
export function narrowPolicyDecision(decision: unknown): PolicyDecision {
  const record = isRecord(decision) ? decision : {};
  const outcome = own(record, 'outcome');
  const rule = text(record, 'rule');
  switch (narrowPolicyOutcome(outcome)) {
    case 'allow':
      return { outcome: 'allow', ...text(record, 'message'), ...rule, ...commandsIn(record) };
    case 'ask_user':
      return { outcome: 'ask_user', ...text(record, 'hint'), ...rule, ...commandsIn(record) };
    default: {
      const unclear =
        outcome === 'deny'
          ? 'denied'
          : `the policy's outcome is not known: ${typeof outcome === 'string' ? `"${outcome}"` : typeof outcome}`;
      return { outcome: 'deny', reason: unclear, ...text(record, 'reason'), ...rule };
    }
  }
}

const NOTHING = {};

/** The commands of a command line, for whoever is asked about it. */
function commandsIn(record: object): { commands?: readonly string[] } {
  const commands = own(record, 'commands');
  return Array.isArray(commands) ? { commands: commands.filter((one) => typeof one === 'string') } : NOTHING;
}

/** Anything but the three known actions is a cancel. */
export function narrowElicitationAction(action: unknown): ClosedElicitationAction {
  return action === 'accept' || action === 'decline' ? action : 'cancel';
}

function sort<Known extends { type: string }, Unknown extends { type: string }>(
  value: Unknown,
  known: ReadonlyMap<string, Fields>,
): Narrowed<Known, Unknown> {
  const fields = known.get(value.type);
  if (fields === undefined) return { kind: 'unknown', value };
  const fault = faultIn(value, fields);
  if (fault !== undefined) return { kind: 'invalid', reason: `${value.type}: ${fault}` };
  return { kind: 'known', value: value as unknown as Known };
}

function faultIn(value: object, fields: Fields): string | undefined {
  for (const [name, type] of Object.entries(fields)) {
    if (!Object.hasOwn(value, name)) {
      // JSON drops undefined, so that arguments or data may be missing altogether.
      if (type === 'any') continue;
      return `${name} is missing`;
    }
    if (!isOf(type, own(value, name))) return `${name} must be ${type === 'any' ? 'a value' : `of type ${type}`}`;
  }
  return undefined;
}

function isOf(type: FieldType, value: unknown): boolean {
  if (type === 'any') return true;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isRecord(value);
  return typeof value === type && (type !== 'number' || Number.isFinite(value));
}

function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}

function text<K extends string>(value: object, name: K): { [P in K]?: string } {
  const found = own(value, name);
  return (typeof found === 'string' ? { [name]: found } : {}) as { [P in K]?: string };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
