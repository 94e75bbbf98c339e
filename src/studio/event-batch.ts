import type { AgentEvent } from '../contracts/index.js';

type Message = AgentEvent<'message'>;

interface Spoken {
  /** Its place in the batch. */
  at: number;
  /** A copy of ours that further increments are added to; absent as long as there is one. */
  sum: Message | undefined;
}

/**
 * Events of a moment, in order. Increments of one message become one, at the place of the last, where nothing else of
 * their thread stands between them: a page draws them at once anyway.
 */
export class EventBatch {
  #events: (AgentEvent | undefined)[] = [];
  /** By thread: the increment that is its newest event. */
  readonly #spoken = new Map<string, Spoken>();

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  add(event: AgentEvent): void {
    const { threadId = '' } = event;
    const spoken = this.#spoken.get(threadId);
    if (event.type !== 'message' || wordsOf(event) === undefined) {
      if (spoken !== undefined) this.#spoken.delete(threadId);
      this.#events.push(event);
      return;
    }
    const at = this.#events.length;
    const before = spoken && (this.#events[spoken.at] as Message);
    if (spoken === undefined || before === undefined || !isSameMessage(before, event)) {
      this.#spoken.set(threadId, { at, sum: undefined });
      this.#events.push(event);
      return;
    }
    const sum = spoken.sum ?? { ...before };
    sum.content = [{ type: 'text', text: `${wordsOf(sum)}${wordsOf(event)}` }];
    sum.id = event.id;
    sum.seq = event.seq;
    sum.timestamp = event.timestamp;
    this.#events[spoken.at] = undefined;
    this.#events.push(sum);
    spoken.at = at;
    spoken.sum = sum;
  }

  /** All of them; it is empty then. */
  take(): AgentEvent[] {
    const events = this.#events.filter((event) => event !== undefined);
    this.#events = [];
    this.#spoken.clear();
    return events;
  }
}

/** The text of an increment that is text alone. */
function wordsOf({ role, content }: Message): string | undefined {
  const part = content[0];
  if (role !== 'agent' || content.length !== 1 || part?.type !== 'text') return undefined;
  for (const key in part) if (key !== 'type' && key !== 'text') return undefined;
  return (part as { text?: string }).text;
}

const isSameMessage = (one: Message, other: Message): boolean =>
  one.messageId === other.messageId && one._meta === undefined && other._meta === undefined;
