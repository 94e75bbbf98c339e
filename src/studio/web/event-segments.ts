import type { AgentEvent } from '../../contracts/index.js';

/** So many events stand in one segment. */
export const SEGMENT = 2_000;

export interface Segment {
  readonly firstSeq: number;
  lastSeq: number;
  count: number;
  /** Undefined once it was let go: the server has it. */
  events: AgentEvent[] | undefined;
  characters: number;
  readonly threads: Set<string>;
}

/**
 * The events of a session in their order, of which the oldest are let go when there are too many to keep: what they were
 * about stays known, and they can be put back. Holds about `most` characters of JSON beyond the newest segment.
 */
export class EventSegments {
  readonly segments: Segment[] = [];
  #characters = 0;

  constructor(private readonly most: number) {}

  /** `characters`: about how long the event is as JSON. Events that are not newer than the last are left out. */
  add(event: AgentEvent, characters: number): boolean {
    let segment = this.segments.at(-1);
    if (segment !== undefined && event.seq <= segment.lastSeq) return false;
    if (segment === undefined || segment.count >= SEGMENT) {
      segment = {
        firstSeq: event.seq,
        lastSeq: event.seq,
        count: 0,
        events: [],
        characters: 0,
        threads: new Set(),
      };
      this.segments.push(segment);
      this.#letGo(segment);
    }
    segment.events?.push(event);
    segment.lastSeq = event.seq;
    segment.count++;
    segment.characters += characters;
    this.#characters += characters;
    segment.threads.add(event.threadId ?? '');
    return true;
  }

  /**
   * Puts a whole message at its place among those that are there: where another process writes the log, one may come
   * behind later events of other threads. False where it is there, or where its segment was let go.
   */
  insert(event: AgentEvent<'message'>, characters: number): boolean {
    const segment = this.segments[Math.max(0, this.indexOf(event.seq))];
    const { events } = segment ?? {};
    if (segment === undefined || events === undefined) return false;
    const { messageId, threadId } = event;
    const isThere = events.some(
      (one) =>
        one.seq === event.seq || (one.type === 'message' && one.messageId === messageId && one.threadId === threadId),
    );
    if (isThere) return false;
    const at = events.findIndex(({ seq }) => seq > event.seq);
    events.splice(at < 0 ? events.length : at, 0, event);
    segment.count++;
    segment.characters += characters;
    this.#characters += characters;
    segment.threads.add(threadId ?? '');
    return true;
  }

  get lastSeq(): number {
    return this.segments.at(-1)?.lastSeq ?? 0;
  }

  get firstSeq(): number {
    return this.segments[0]?.firstSeq ?? 0;
  }

  /** Where the segment stands that a position belongs to; -1 before the first. */
  indexOf(seq: number): number {
    let low = 0;
    let high = this.segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.segments[middle]?.firstSeq ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** Puts a segment back; others that are older or newer are let go for it. */
  restore(segment: Segment, events: AgentEvent[], characters: number): void {
    if (segment.events !== undefined) return;
    segment.events = events;
    segment.characters = characters;
    this.#characters += characters;
    this.#letGo(segment);
  }

  /** The segments that are gone and tell of a thread, newest first. */
  missingOf(threadId: string): Segment[] {
    return this.segments.filter(({ events, threads }) => events === undefined && threads.has(threadId)).reverse();
  }

  #letGo(kept: Segment): void {
    const newest = this.segments.at(-1);
    for (const segment of this.segments) {
      if (this.#characters <= this.most) return;
      if (segment === kept || segment === newest || segment.events === undefined) continue;
      segment.events = undefined;
      this.#characters -= segment.characters;
    }
  }
}
