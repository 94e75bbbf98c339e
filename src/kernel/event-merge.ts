import type { AgentEvent, AgentEventDraft, ContentPart } from '../contracts/index.js';
import { appendPart } from './content.js';
import { type Entry, type MergeReader, type MergeSource, Reader } from './merge-reader.js';
import { type Observer, Observers } from './observers.js';
import { Passage } from './passage.js';
import type { Stamp } from './stamp.js';

/** Where events come from: one per thread. Held by the thread; the merge keeps its counters in it. */
export interface Origin {
  readonly threadId: string | undefined;
  readonly agentId: string;
  runId: string | undefined;
  streamId: string | undefined;
  /** The message in flight, folded. */
  message: OpenMessage | undefined;
  /** Events of this thread that wait for the consumer. */
  waiting: number;
  /** Publishers suspended until the consumer has taken some. */
  suspended: (() => void)[] | undefined;
}

export interface OpenMessage {
  readonly first: AgentEvent<'message'>;
  firstSeq: number;
  lastSeq: number;
  lastTimestamp: string;
  lastId: string;
  readonly parts: ContentPart[];
  /**
   * Texts that the last part still lacks. A text that grows by `+=` is a rope of its pieces, and the collector moves every
   * one of them: they are joined once the part is whole.
   */
  texts: string[] | undefined;
}

/** What the merge writes to: one call per event that is kept, not always in `seq` order. */
export interface MergeLog<O extends Origin> {
  append(event: AgentEvent, origin: O): void;
  /** Every `seq` up to this one may be given out from here on. */
  reserve?(toSeq: number, origin: O): void;
}

export interface EventMerge<O extends Origin = Origin> {
  /**
   * Stamps one event and gives it to the readers and the log. Returns nothing while there is room, else a promise
   * that resolves once the consumer has taken some; now and then one that gives the event loop its turn. Order: strict
   * within a thread; across threads, order of arrival. Never rejects; without a consumer it suspends for no room. A `tool_update` beyond the room of a thread is dropped.
   */
  publish(origin: O, draft: AgentEventDraft): undefined | Promise<void>;
  /** The same for a piece of an agent's message, without a draft object. */
  publishMessage(origin: O, messageId: string, role: string, content: ContentPart[]): undefined | Promise<void>;
  /** Gives an event that is in the log already to the readers once more, as it is. */
  show(origin: O, event: AgentEvent): void;
  /** Stamps one event into the log only. */
  record(origin: O, draft: AgentEventDraft): void;
  /** Closes the message in flight of a thread: it goes to the log, whole. */
  completeMessage(origin: O, interrupted?: boolean): void;
  /** Keeps what is published from here on for `consume`, until a reader takes it up or `holdLimit` events went by. */
  hold(): void;
  /** Lets the suspended publishers of a thread go, room or not: it is being stopped. */
  relieve(origin: O): void;
  /**
   * The one reader that publishers wait for, from the held point (`complete`) or, when there is none, from here on.
   * Undefined while another one is open.
   */
  consume(): { reader: MergeReader; complete: boolean } | undefined;
  /**
   * A reader that nobody waits for. It is told once per round of the event loop, sees what a busy run publishes after
   * it, and is told by `onLost` that it fell too far behind.
   */
  observe(onLost: () => void): Observer;
  /** From the next event on all pass through `gate`, where none was given before. */
  passThrough(gate: EventGate<O>): void;
  /** Resolves once all that was published so far is through its `gate`; nothing when it is. */
  whenPassed(): undefined | Promise<void>;
  /** Nothing more comes: observers end once they have read what there is. */
  end(): void;
  /** Messages in flight, as one event each with `_meta.replace`. */
  inFlight(): AgentEvent<'message'>[];
  /** Of the last event that went out. */
  readonly seq: number;
  /** Somebody reads: a consumer or an observer. */
  readonly watched: boolean;
}

export interface EventMergeOptions<O extends Origin> {
  stamp: Stamp;
  log: MergeLog<O>;
  /** First `seq` is one more. Default 0. */
  seq?: number;
  /** Positions up to this one may be given out although nothing is logged at them. Default: all. */
  reservedSeq?: number;
  /** Room per thread, in events. Default 256. */
  highWater?: number;
  /** Room for all threads together. Default 4,096. */
  totalHighWater?: number;
  /** Events an observer may lag before it is cut off and told; of pieces of messages four times as many. Default 8,192. */
  observerLag?: number;
  /** Events kept for a reader that is still to come. Default 1,024. */
  holdLimit?: number;
  /** Every event passes through it, stamped, before anybody sees it; one that takes its time holds those behind it. */
  gate?: EventGate<O> | undefined;
}

export interface EventGate<O extends Origin> {
  /** The event, or another with the same `id`, `seq`, `timestamp` and `threadId`. Never throws or rejects. */
  pass(event: AgentEvent, origin: O): AgentEvent | Promise<AgentEvent>;
  /** Events wait for it, or do so no more. */
  onHeld(isHeld: boolean): void;
}

/** Ends and aborts pass although buffers are full. */
const ALWAYS_PASSES = new Set(['stream_end', 'agent_completed', 'tool_response', 'elicitation_response', 'error']);
/** Display only. */
const NOT_LOGGED = new Set(['tool_update']);
/** What may be told in the middle of a message, which goes on after it. */
const WITHIN_MESSAGE = new Set(['tool_update', 'session_update', 'custom']);

/**
 * A key added to a spread object (`{ ...draft, seq }`) costs a microsecond, one before it (`{ seq, ...draft }`) a
 * tenth: the fields of the stamp stand first throughout.
 */
export const createEventMerge = <O extends Origin>(options: EventMergeOptions<O>): EventMerge<O> => new Merge(options);

/** A class, not closures: there is one per session, and methods on a prototype take no memory in each. */
class Merge<O extends Origin> implements EventMerge<O>, MergeSource {
  tail: Entry;
  consumer: Reader | undefined;
  #observers: Observers | undefined;
  #totalWaiting = 0;
  #suspended: (() => void)[] | undefined;
  #writing: Set<O> | undefined;
  #hasEnded = false;
  #sinceTurn = 0;
  #held: Entry | undefined;
  #heldUntilSeq = 0;
  #lastSeq: number;
  #passage: Passage<O> | undefined;
  readonly #stamp: Stamp;
  readonly #log: MergeLog<O>;
  readonly #highWater: number;
  readonly #totalHighWater: number;
  readonly #observerLag: number;
  readonly #holdLimit: number;
  #reservedSeq: number;

  constructor(options: EventMergeOptions<O>) {
    const {
      stamp,
      log,
      seq = 0,
      highWater = 256,
      totalHighWater = 4096,
      observerLag = 8192,
      holdLimit = 1024,
      reservedSeq = Number.POSITIVE_INFINITY,
      gate,
    } = options;
    this.#reservedSeq = reservedSeq;
    this.#lastSeq = seq;
    if (gate !== undefined) this.passThrough(gate);
    this.tail = { event: undefined, seq, origin: undefined, next: undefined };
    this.#stamp = stamp;
    this.#log = log;
    this.#highWater = highWater;
    this.#totalHighWater = totalHighWater;
    this.#observerLag = observerLag;
    this.#holdLimit = holdLimit;
  }

  get watched(): boolean {
    return this.consumer !== undefined || (this.#observers !== undefined && this.#observers.size > 0);
  }

  get seq(): number {
    return this.#passage?.heldFrom ?? this.#lastSeq;
  }

  publish(origin: O, draft: AgentEventDraft): undefined | Promise<void> {
    const event = this.#stamped(origin, draft);
    return this.#passage === undefined ? this.#admit(event, origin) : this.#passage.take(event, origin);
  }

  #admit(event: AgentEvent, origin: O): undefined | Promise<void> {
    if (event.type === 'message') this.#foldMessage(origin, event);
    else {
      if (origin.message !== undefined && !WITHIN_MESSAGE.has(event.type)) this.#complete(origin, false);
      if (!NOT_LOGGED.has(event.type)) this.#log.append(event, origin);
    }
    return this.#deliver(origin, event, !ALWAYS_PASSES.has(event.type));
  }

  publishMessage(origin: O, messageId: string, role: string, content: ContentPart[]): undefined | Promise<void> {
    const event: AgentEvent<'message'> =
      origin.threadId === undefined
        ? {
            id: this.#stamp.nextId(),
            timestamp: this.#stamp.timestamp(),
            seq: ++this.#lastSeq,
            runId: origin.runId as string,
            streamId: origin.streamId as string,
            agentId: origin.agentId,
            type: 'message',
            messageId,
            role,
            content,
          }
        : {
            id: this.#stamp.nextId(),
            timestamp: this.#stamp.timestamp(),
            seq: ++this.#lastSeq,
            runId: origin.runId as string,
            streamId: origin.streamId as string,
            agentId: origin.agentId,
            threadId: origin.threadId,
            type: 'message',
            messageId,
            role,
            content,
          };
    if (this.#passage !== undefined) return this.#passage.take(event, origin);
    const { count } = this.#stamp;
    this.#foldMessage(origin, event);
    return this.#deliver(origin, event, true, count);
  }

  show(origin: O, event: AgentEvent): void {
    const deliver = () => void this.#deliver(origin, event, false);
    if (this.#passage?.isHeld) this.#passage.behind(deliver);
    else deliver();
  }

  record(origin: O, draft: AgentEventDraft): void {
    const event = this.#stamped(origin, draft);
    if (this.#passage?.isHeld) return this.#passage.behind(() => this.#keep(event, origin));
    this.#keep(event, origin);
  }

  #keep(event: AgentEvent, origin: O): void {
    if (origin.message !== undefined && !WITHIN_MESSAGE.has(event.type)) this.#complete(origin, false);
    this.#log.append(event, origin);
  }

  completeMessage(origin: O, interrupted = false): void {
    if (this.#passage?.isHeld) return this.#passage.behind(() => this.#complete(origin, interrupted));
    this.#complete(origin, interrupted);
  }

  passThrough(gate: EventGate<O>): void {
    this.#passage ??= new Passage(gate, (event, origin) => this.#admit(event, origin));
  }

  whenPassed(): undefined | Promise<void> {
    const passage = this.#passage;
    return passage?.isHeld ? new Promise((resolve) => passage.behind(resolve)) : undefined;
  }

  #complete(origin: O, interrupted: boolean): void {
    const open = origin.message;
    if (open === undefined) return;
    origin.message = undefined;
    joinTexts(open);
    this.#writing?.delete(origin);
    if (open.firstSeq === open.lastSeq && !interrupted) {
      this.#log.append(open.first, origin);
      return;
    }
    const { first, firstSeq } = open;
    this.#log.append(
      {
        ...first,
        id: open.lastId,
        seq: open.lastSeq,
        timestamp: open.lastTimestamp,
        content: open.parts,
        _meta: { firstSeq, ...first._meta, ...(interrupted && { interrupted: true }) },
      },
      origin,
    );
  }

  hold(): void {
    // Where nobody reads on from the last event, it need not be kept.
    if (this.consumer === undefined)
      this.tail = { event: undefined, seq: this.seq, origin: undefined, next: undefined };
    this.#held = this.tail;
    this.#heldUntilSeq = this.seq + this.#holdLimit;
  }

  relieve(origin: O): void {
    resumeAll(origin);
    this.#resumeSuspended();
  }

  consume(): { reader: MergeReader; complete: boolean } | undefined {
    if (this.consumer !== undefined) return undefined;
    const complete = this.#held !== undefined;
    this.consumer = new Reader(this, this.#held ?? this.tail);
    this.#held = undefined;
    return { reader: this.consumer, complete };
  }

  observe(onLost: () => void): Observer {
    // Those who came before and are gone hold nothing up.
    if (this.#observers === undefined || this.#observers.size === 0) {
      this.#observers = new Observers(this.#stamp, this.#observerLag);
    }
    const observer = this.#observers.add(onLost);
    if (this.#hasEnded) observer.finish();
    return observer;
  }

  end(): void {
    this.#hasEnded = true;
    this.#observers?.finish();
  }

  inFlight(): AgentEvent<'message'>[] {
    return [...(this.#writing ?? [])].map((origin) => {
      const open = origin.message as OpenMessage;
      return {
        ...open.first,
        id: open.lastId,
        seq: open.lastSeq,
        timestamp: open.lastTimestamp,
        content: structuredClone(wholeParts(open)),
        _meta: { ...open.first._meta, firstSeq: open.firstSeq, replace: true },
      };
    });
  }

  /** The consumer has taken an entry that counted against its thread's room. */
  release(entry: Entry): void {
    const origin = entry.origin as Origin;
    entry.origin = undefined;
    this.#totalWaiting--;
    if (--origin.waiting <= this.#highWater >> 1 && origin.suspended !== undefined) resumeAll(origin);
    if (this.#suspended !== undefined && this.#totalWaiting <= this.#totalHighWater >> 1) this.#resumeSuspended();
  }

  detach(reader: Reader): void {
    if (this.consumer !== reader) return;
    // What is still queued counts no more: nobody waits for this reader now.
    for (let entry = reader.at?.next; entry !== undefined; entry = entry.next) {
      if (entry.origin === undefined) continue;
      entry.origin.waiting = 0;
      resumeAll(entry.origin);
      entry.origin = undefined;
    }
    this.consumer = undefined;
    this.#totalWaiting = 0;
    this.#resumeSuspended();
  }

  #resumeSuspended(): void {
    const suspended = this.#suspended;
    this.#suspended = undefined;
    for (const resume of suspended ?? []) resume();
  }

  #stamped(origin: O, draft: AgentEventDraft): AgentEvent {
    const id = this.#stamp.nextId();
    const timestamp = this.#stamp.timestamp();
    const seq = ++this.#lastSeq;
    const { agentId, threadId, runId, streamId } = origin;
    // A host event about a child names the child's thread itself: the draft's fields win.
    if (runId === undefined || streamId === undefined) {
      const event =
        threadId === undefined
          ? { id, timestamp, seq, agentId, ...draft }
          : { id, timestamp, seq, agentId, threadId, ...draft };
      return event as AgentEvent;
    }
    return threadId === undefined
      ? ({ id, timestamp, seq, runId, streamId, agentId, ...draft } as AgentEvent)
      : ({ id, timestamp, seq, runId, streamId, agentId, threadId, ...draft } as AgentEvent);
  }

  #foldMessage(origin: O, event: AgentEvent<'message'>): void {
    const open = origin.message;
    if (open !== undefined && open.first.messageId === event.messageId) {
      open.lastSeq = event.seq;
      open.lastTimestamp = event.timestamp;
      open.lastId = event.id;
      appendContent(open, event.content);
      return;
    }
    this.#complete(origin, false);
    const parts: ContentPart[] = [];
    for (const part of event.content) appendPart(parts, part);
    origin.message = {
      first: event,
      firstSeq: event.seq,
      lastSeq: event.seq,
      lastTimestamp: event.timestamp,
      lastId: event.id,
      parts,
      texts: undefined,
    };
    this.#writing ??= new Set();
    this.#writing.add(origin);
  }

  /** `count`: of its id, where it is a piece of a message that was published as one. */
  #deliver(origin: Origin, event: AgentEvent, mayWait: boolean, count = 0): undefined | Promise<void> {
    // Whoever shows progress without waiting for room shows no more of it than there is room for.
    if (origin.waiting > this.#highWater && event.type === 'tool_update') return undefined;
    if (event.seq > this.#reservedSeq) {
      this.#reservedSeq = event.seq + RESERVED_AHEAD;
      this.#log.reserve?.(this.#reservedSeq, origin as O);
    }
    const entry: Entry = { event, seq: this.seq, origin: undefined, next: undefined };
    this.tail.next = entry;
    this.tail = entry;
    if (this.#held !== undefined && this.seq > this.#heldUntilSeq) this.#held = undefined;
    if (this.#observers !== undefined && this.#observers.size > 0) {
      if (count === 0) this.#observers.push(event);
      else this.#observers.pushPiece(event as AgentEvent<'message'>, origin.message as OpenMessage, count);
    }
    const { consumer } = this;
    // Where nothing but promises is waited for, nobody else would have a turn: timers, other threads, observers.
    const turn = mayWait && ++this.#sinceTurn >= TURN_EVERY ? this.#giveTurn() : undefined;
    if (consumer === undefined) return turn;
    if (consumer.resolve !== undefined) {
      consumer.wake();
      return turn;
    }
    entry.origin = origin;
    origin.waiting++;
    this.#totalWaiting++;
    if (!mayWait) return undefined;
    if (origin.waiting >= this.#highWater) {
      return new Promise((resolve) => {
        origin.suspended ??= [];
        origin.suspended.push(resolve);
      });
    }
    if (this.#totalWaiting < this.#totalHighWater) return turn;
    return new Promise((resolve) => {
      this.#suspended ??= [];
      this.#suspended.push(resolve);
    });
  }

  #giveTurn(): Promise<void> {
    this.#sinceTurn = 0;
    return new Promise((resolve) => setImmediate(resolve));
  }
}

/** Positions that are reserved at once. */
const RESERVED_AHEAD = 4096;
/** Events of a stream that never waits, between two turns of the event loop. */
const TURN_EVERY = 512;

function resumeAll(origin: Origin): void {
  const { suspended } = origin;
  if (suspended === undefined) return;
  origin.suspended = undefined;
  for (const resume of suspended) resume();
}

function appendContent(open: OpenMessage, content: readonly ContentPart[]): void {
  const { parts } = open;
  for (const part of content) {
    const last = parts[parts.length - 1];
    if (part.type === 'text' && last?.type === 'text' && last._meta === undefined && part._meta === undefined) {
      if (open.texts === undefined) open.texts = [part.text];
      else open.texts.push(part.text);
      continue;
    }
    joinTexts(open);
    appendPart(parts, part);
  }
}

function joinTexts(open: OpenMessage): void {
  if (open.texts === undefined) return;
  (open.parts[open.parts.length - 1] as ContentPart<'text'>).text += open.texts.join('');
  open.texts = undefined;
}

/** As they are now: the message goes on. */
function wholeParts({ parts, texts }: OpenMessage): ContentPart[] {
  if (texts === undefined) return parts;
  const last = parts[parts.length - 1] as ContentPart<'text'>;
  return [...parts.slice(0, -1), { ...last, text: last.text + texts.join('') }];
}
