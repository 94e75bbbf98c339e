import type {
  AgentEvent,
  ContentPart,
  ElicitationRequest,
  ElicitationResponse,
  OpenContentPart,
  ToolResultData,
} from '../../contracts/index.js';

interface ItemBase {
  readonly key: string;
  readonly seq: number;
  readonly at: string;
}

/** One entry of what a thread has to tell. A change makes a new object of it. */
export type TranscriptItem = ItemBase &
  (
    | { readonly kind: 'message'; readonly role: string; readonly parts: readonly OpenContentPart[] }
    | {
        readonly kind: 'tool';
        readonly name: string;
        readonly title: string | undefined;
        readonly args: unknown;
        readonly status: string;
        readonly progress: number | undefined;
        readonly update: readonly ContentPart[];
        readonly result: ToolResultData | undefined;
        readonly endedAt: string | undefined;
        readonly isOpaque: boolean;
      }
    | {
        readonly kind: 'question';
        readonly request: ElicitationRequest;
        readonly response: ElicitationResponse | undefined;
      }
    | { readonly kind: 'child'; readonly threadId: string; readonly agentName: string }
    | { readonly kind: 'end'; readonly reason: string; readonly data: unknown }
    | { readonly kind: 'error'; readonly code: string; readonly message: string }
    | { readonly kind: 'note'; readonly text: string; readonly severity: string; readonly data: unknown }
  );

/** Whether an event is told in a thread's transcript: its own, and what it spawned. */
export function isToldIn(event: AgentEvent, threadId: string): boolean {
  if (event.type === 'agent_started')
    return (event.parentThreadId ?? '') === threadId && (event.threadId ?? '') !== threadId;
  return (event.threadId ?? '') === threadId;
}

/** What a thread says, folded from its events in their order. */
export class Transcript {
  readonly items: TranscriptItem[] = [];
  readonly #places = new Map<string, number>();

  add(event: AgentEvent): void {
    const { seq, timestamp: at } = event;
    const base = (key: string): ItemBase => ({ key, seq, at });
    switch (event.type) {
      case 'message': {
        const key = `m${event.messageId}`;
        const before = this.#at(key);
        const isNew = before?.kind !== 'message';
        const parts = isNew || event._meta?.replace === true ? event.content : joinParts(before.parts, event.content);
        this.#put({ ...(isNew ? base(key) : before), kind: 'message', role: event.role, parts } as TranscriptItem);
        break;
      }
      case 'tool_request':
        this.#put({
          ...base(`t${event.requestId}`),
          kind: 'tool',
          name: event.displayName ?? event.name,
          title: event.title,
          args: event.args,
          status: 'requested',
          progress: undefined,
          update: [],
          result: undefined,
          endedAt: undefined,
          isOpaque: event._meta?.opaque === true,
        });
        break;
      case 'tool_update': {
        const item = this.#at(`t${event.requestId}`);
        if (item?.kind !== 'tool') break;
        this.#put({
          ...item,
          status: event.status ?? item.status,
          progress: event.progress ?? item.progress,
          update: event.content ?? item.update,
        });
        break;
      }
      case 'tool_response': {
        const item = this.#at(`t${event.requestId}`);
        if (item?.kind !== 'tool') break;
        const status = event.isError === true ? 'failed' : 'done';
        this.#put({ ...item, status, progress: undefined, update: [], result: event, endedAt: at });
        break;
      }
      case 'elicitation_request':
        this.#put({ ...base(`q${event.requestId}`), kind: 'question', request: event, response: undefined });
        this.#waits(event.context?.toolRequestId);
        break;
      case 'elicitation_response': {
        const item = this.#at(`q${event.requestId}`);
        if (item?.kind === 'question') this.#put({ ...item, response: event });
        break;
      }
      case 'agent_started':
        this.#put({ ...base(`c${seq}`), kind: 'child', threadId: event.threadId ?? '', agentName: event.agentName });
        break;
      case 'stream_end':
        this.#put({ ...base(`e${seq}`), kind: 'end', reason: event.reason, data: event.data });
        break;
      case 'error':
        this.#put({ ...base(`e${seq}`), kind: 'error', code: event.code, message: event.message });
        break;
      case 'agent_transfer':
        this.#note(
          base(`n${seq}`),
          `${event.from} hands over to ${event.to}${event.reason ? `: ${event.reason}` : ''}`,
        );
        break;
      case 'loop_iteration':
        this.#note(base(`n${seq}`), `iteration ${event.iteration} of at most ${event.maxIterations}`);
        break;
      case 'session_update':
        this.#note(base(`n${seq}`), updateText(event), 'info', event.stateDelta ?? event.config);
        break;
      case 'custom':
        this.#custom(base(`n${seq}`), event);
        break;
      default:
    }
  }

  #custom(base: ItemBase, { kind, data }: AgentEvent<'custom'>): void {
    if (kind === 'tool_started') return;
    if (kind !== 'notice') return this.#note(base, kind, 'info', data);
    const { text, severity } = (data ?? {}) as { text?: unknown; severity?: unknown };
    this.#note(base, typeof text === 'string' ? text : kind, typeof severity === 'string' ? severity : 'info');
  }

  /** Updates of a call are not kept in the log: that it waits is told by what it asks. */
  #waits(requestId: unknown): void {
    const item = this.#at(`t${requestId}`);
    if (item?.kind === 'tool' && item.result === undefined) this.#put({ ...item, status: 'awaiting_approval' });
  }

  #note(base: ItemBase, text: string, severity = 'info', data?: unknown): void {
    this.#put({ ...base, kind: 'note', text, severity, data });
  }

  #at(key: string): TranscriptItem | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.items[place];
  }

  #put(item: TranscriptItem): void {
    const place = this.#places.get(item.key);
    if (place !== undefined) {
      this.items[place] = item;
      return;
    }
    this.#places.set(item.key, this.items.length);
    this.items.push(item);
  }
}

/** Increments of one message: text goes on where text was, a thought where a thought was. */
export function joinParts(before: readonly OpenContentPart[], more: readonly OpenContentPart[]): OpenContentPart[] {
  const parts = [...before];
  for (const part of more) {
    const last = parts.at(-1);
    if (part.type === 'text' && last?.type === 'text')
      parts[parts.length - 1] = { type: 'text', text: `${last.text}${part.text}` };
    else if (part.type === 'thought' && last?.type === 'thought')
      parts[parts.length - 1] = { type: 'thought', thought: `${last.thought}${part.thought}` };
    else parts.push(part);
  }
  return parts;
}

function updateText({ model, permissionMode, title, tools, stateDelta }: AgentEvent<'session_update'>): string {
  const said = [
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(permissionMode === undefined ? [] : [`mode ${permissionMode}`]),
    ...(title === undefined ? [] : [`title ${title}`]),
    ...(tools === undefined ? [] : [`${tools.length} tools`]),
    ...(stateDelta === undefined ? [] : ['state changed']),
  ];
  return said.length === 0 ? 'settings changed' : said.join(', ');
}
