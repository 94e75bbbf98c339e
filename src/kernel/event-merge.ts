import type { AgentEvent, AgentEventDraft, ContentPart } from '../contracts/index.js';
import { appendPart } from './content.js';
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
  interrupted: boolean;
}

/** What the merge writes to: one call per event that is kept, not always in `seq` order. */
export interface MergeLog<O extends Origin> {
  append(event: AgentEvent, origin: O): void;
}

interface Entry {
  readonly event: AgentEvent | undefined;
  /** Set while the entry counts against its thread's room. */
  origin: Origin | undefined;
  next: Entry | undefined;
}

/** Reads the merged stream from one point on. */
export interface MergeReader {
  /** Resolves with the next event; `done` after `finish()` once all is read, or after `close()`. */
  next(): Promise<IteratorResult<AgentEvent, void>>;
  /** Ends the reader once it has given what is published by now. */
  finish(): void;
  /** Ends the reader at once and lets every suspended publisher go. */
  close(): void;
  readonly closed: boolean;
}

export interface EventMerge<O extends Origin = Origin> {
  /**
   * Stamps one event and gives it to the readers and the log. Returns nothing while there is room, else a promise
   * that resolves once the consumer has taken some. Order: strict within a thread; across threads, order of arrival.
   * Never rejects; without a consumer it never suspends.
   */
  publish(origin: O, draft: AgentEventDraft): undefined | Promise<void>;
  /** The same for a piece of an agent's message, without a draft object. */
  publishMessage(origin: O, messageId: string, role: string, content: ContentPart[]): undefined | Promise<void>;
  /** Stamps one event into the log only. */
  record(origin: O, draft: AgentEventDraft): void;
  /** Closes the message in flight of a thread: it goes to the log, whole. */
  completeMessage(origin: O, interrupted?: boolean): void;
  /** Keeps what is published from here on for `consume`, until a reader takes it up or `holdLimit` events went by. */
  hold(): void;
  /** Nothing is kept any more. */
  letGo(): void;
  /**
   * The one reader that publishers wait for, from the held point (`complete`) or, when that is gone, from here on.
   * Undefined while another one is open.
   */
  consume(): { reader: MergeReader; complete: boolean } | undefined;
  /** A reader that nobody waits for. It is told once per round of the event loop; `lost` when it fell too far behind. */
  observe(onLost: () => void): MergeReader;
  /** Messages in flight, as one event each with `_meta.replace`. */
  inFlight(): AgentEvent<'message'>[];
  readonly seq: number;
  /** Somebody reads: a consumer or an observer. */
  readonly watched: boolean;
}

export interface EventMergeOptions<O extends Origin> {
  stamp: Stamp;
  log: MergeLog<O>;
  /** First `seq` is one more. Default 0. */
  seq?: number;
  /** Room per thread, in events. Default 256. */
  highWater?: number;
  /** Room for all threads together. Default 4,096. */
  totalHighWater?: number;
  /** Entries an observer may lag before it is cut off and told. Default 8,192. */
  observerLag?: number;
  /** Events kept for a reader that is still to come. Default 1,024. */
  holdLimit?: number;
}

export const createOrigin = (threadId: string | undefined, agentId: string): Origin => ({
  threadId,
  agentId,
  runId: undefined,
  streamId: undefined,
  message: undefined,
  waiting: 0,
  suspended: undefined,
});

/** Ends and aborts pass although buffers are full. */
const ALWAYS_PASSES = new Set(['stream_end', 'agent_completed', 'tool_response', 'elicitation_response', 'error']);
/** Display only. */
const NOT_LOGGED = new Set(['tool_update']);

export function createEventMerge<O extends Origin>(options: EventMergeOptions<O>): EventMerge<O> {
  const { stamp, log, highWater = 256, totalHighWater = 4096, observerLag = 8192, holdLimit = 1024 } = options;
  let seq = options.seq ?? 0;
  let tail: Entry = { event: undefined, origin: undefined, next: undefined };
  let consumer: Reader | undefined;
  let totalWaiting = 0;
  const suspendedByTotal: (() => void)[] = [];
  const observers = new Set<Reader>();
  const writing = new Set<O>();
  let wakeScheduled = false;
  let sinceLagCheck = 0;
  let held: Entry | undefined;
  let heldUntilSeq = 0;

  class Reader implements MergeReader {
    at: Entry | undefined;
    closed = false;
    last: Entry | undefined;
    resolve: ((result: IteratorResult<AgentEvent, void>) => void) | undefined;
    constructor(
      from: Entry,
      readonly onLost?: () => void,
    ) {
      this.at = from;
    }

    next(): Promise<IteratorResult<AgentEvent, void>> {
      const taken = this.take();
      if (taken !== undefined) return Promise.resolve({ done: false, value: taken });
      if (this.isDone()) return Promise.resolve({ done: true, value: undefined });
      return new Promise((resolve) => {
        this.resolve = resolve;
      });
    }

    take(): AgentEvent | undefined {
      if (this.closed || this.at === undefined || this.at === this.last) return undefined;
      const entry = this.at.next;
      if (entry === undefined) return undefined;
      this.at = entry;
      if (entry.origin !== undefined && this === consumer) release(entry);
      return entry.event;
    }

    isDone(): boolean {
      if (this.closed) return true;
      if (this.last === undefined || this.at !== this.last) return false;
      // A reader that is kept must not keep what is published after its end.
      this.closed = true;
      this.at = undefined;
      this.last = undefined;
      return true;
    }

    wake(): void {
      const { resolve } = this;
      if (resolve === undefined) return;
      const taken = this.take();
      if (taken !== undefined) {
        this.resolve = undefined;
        resolve({ done: false, value: taken });
      } else if (this.isDone()) {
        this.resolve = undefined;
        resolve({ done: true, value: undefined });
      }
    }

    finish(): void {
      if (this.closed || this.last !== undefined) return;
      this.last = tail;
      this.detach();
      this.wake();
    }

    close(): void {
      if (this.closed) return;
      this.closed = true;
      this.detach();
      this.at = undefined;
      this.wake();
    }

    detach(): void {
      observers.delete(this);
      if (consumer !== this) return;
      // What is still queued counts no more: nobody waits for this reader now.
      for (let entry = this.at?.next; entry !== undefined; entry = entry.next) {
        if (entry.origin !== undefined) {
          entry.origin.waiting = 0;
          resumeAll(entry.origin);
          entry.origin = undefined;
        }
      }
      consumer = undefined;
      totalWaiting = 0;
      for (const resume of suspendedByTotal.splice(0)) resume();
    }
  }

  function resumeAll(origin: Origin): void {
    const { suspended } = origin;
    if (suspended === undefined) return;
    origin.suspended = undefined;
    for (const resume of suspended) resume();
  }

  function release(entry: Entry): void {
    const origin = entry.origin as Origin;
    entry.origin = undefined;
    totalWaiting--;
    if (--origin.waiting <= highWater >> 1 && origin.suspended !== undefined) resumeAll(origin);
    if (suspendedByTotal.length > 0 && totalWaiting <= totalHighWater >> 1) {
      for (const resume of suspendedByTotal.splice(0)) resume();
    }
  }

  function wakeObservers(): void {
    wakeScheduled = false;
    for (const observer of [...observers]) observer.wake();
  }

  function cutLaggards(): void {
    sinceLagCheck = 0;
    for (const observer of [...observers]) {
      let lag = 0;
      for (let entry = observer.at; entry !== undefined && lag <= observerLag; entry = entry.next) lag++;
      if (lag > observerLag) {
        observers.delete(observer);
        observer.at = undefined;
        observer.onLost?.();
        observer.wake();
      }
    }
  }

  function deliver(origin: Origin, event: AgentEvent, mayWait: boolean): undefined | Promise<void> {
    const entry: Entry = { event, origin: undefined, next: undefined };
    tail.next = entry;
    tail = entry;
    if (held !== undefined && seq > heldUntilSeq) held = undefined;
    if (observers.size > 0) {
      if (!wakeScheduled) {
        wakeScheduled = true;
        setImmediate(wakeObservers);
      }
      if (++sinceLagCheck >= 1024) cutLaggards();
    }
    if (consumer === undefined) return undefined;
    if (consumer.resolve !== undefined) {
      consumer.wake();
      return undefined;
    }
    entry.origin = origin;
    origin.waiting++;
    totalWaiting++;
    if (!mayWait) return undefined;
    if (origin.waiting >= highWater) {
      return new Promise((resolve) => {
        origin.suspended ??= [];
        origin.suspended.push(resolve);
      });
    }
    if (totalWaiting >= totalHighWater) return new Promise((resolve) => suspendedByTotal.push(resolve));
    return undefined;
  }

  function completeMessage(origin: O, interrupted = false): void {
    const open = origin.message;
    if (open === undefined) return;
    origin.message = undefined;
    writing.delete(origin);
    if (open.firstSeq === open.lastSeq && !interrupted) {
      log.append(open.first, origin);
      return;
    }
    const _meta = { ...open.first._meta, firstSeq: open.firstSeq, ...(interrupted ? { interrupted: true } : {}) };
    log.append(
      {
        ...open.first,
        id: open.lastId,
        seq: open.lastSeq,
        timestamp: open.lastTimestamp,
        content: open.parts,
        _meta,
      },
      origin,
    );
  }

  function foldMessage(origin: O, event: AgentEvent<'message'>): void {
    const open = origin.message;
    if (open !== undefined && open.first.messageId === event.messageId) {
      open.lastSeq = event.seq;
      open.lastTimestamp = event.timestamp;
      open.lastId = event.id;
      for (const part of event.content) appendPart(open.parts, part);
      return;
    }
    completeMessage(origin);
    const parts: ContentPart[] = [];
    for (const part of event.content) appendPart(parts, part);
    origin.message = {
      first: event,
      firstSeq: event.seq,
      lastSeq: event.seq,
      lastTimestamp: event.timestamp,
      lastId: event.id,
      parts,
      interrupted: false,
    };
    writing.add(origin);
  }

  function stamped(origin: Origin, draft: AgentEventDraft): AgentEvent {
    const event = { ...draft, id: stamp.nextId(), timestamp: stamp.timestamp(), seq: ++seq } as AgentEvent;
    if (event.agentId === undefined) event.agentId = origin.agentId;
    // A host event about a child names the child's thread itself.
    if (event.threadId === undefined && origin.threadId !== undefined) event.threadId = origin.threadId;
    if (origin.runId !== undefined) event.runId = origin.runId;
    if (origin.streamId !== undefined) event.streamId = origin.streamId;
    return event;
  }

  return {
    publish(origin, draft) {
      const event = stamped(origin, draft);
      if (event.type === 'message') foldMessage(origin, event);
      else {
        if (origin.message !== undefined && event.type !== 'tool_update') completeMessage(origin);
        if (!NOT_LOGGED.has(event.type)) log.append(event, origin);
      }
      return deliver(origin, event, !ALWAYS_PASSES.has(event.type));
    },

    publishMessage(origin, messageId, role, content) {
      const event: AgentEvent<'message'> =
        origin.threadId === undefined
          ? {
              id: stamp.nextId(),
              timestamp: stamp.timestamp(),
              seq: ++seq,
              type: 'message',
              messageId,
              role,
              content,
              agentId: origin.agentId,
              runId: origin.runId as string,
              streamId: origin.streamId as string,
            }
          : {
              id: stamp.nextId(),
              timestamp: stamp.timestamp(),
              seq: ++seq,
              type: 'message',
              messageId,
              role,
              content,
              agentId: origin.agentId,
              threadId: origin.threadId,
              runId: origin.runId as string,
              streamId: origin.streamId as string,
            };
      foldMessage(origin, event);
      return deliver(origin, event, true);
    },

    record(origin, draft) {
      completeMessage(origin);
      log.append(stamped(origin, draft), origin);
    },

    completeMessage,

    hold() {
      held = tail;
      heldUntilSeq = seq + holdLimit;
    },

    letGo() {
      held = undefined;
    },

    consume() {
      if (consumer !== undefined) return undefined;
      const complete = held !== undefined;
      consumer = new Reader(held ?? tail);
      held = undefined;
      return { reader: consumer, complete };
    },

    observe(onLost) {
      const observer = new Reader(tail, onLost);
      observers.add(observer);
      return observer;
    },

    inFlight() {
      return [...writing].map((origin) => {
        const open = origin.message as OpenMessage;
        return {
          ...open.first,
          id: open.lastId,
          seq: open.lastSeq,
          timestamp: open.lastTimestamp,
          content: structuredClone(open.parts),
          _meta: { ...open.first._meta, firstSeq: open.firstSeq, replace: true },
        };
      });
    },

    get seq() {
      return seq;
    },
    get watched() {
      return consumer !== undefined || observers.size > 0;
    },
  };
}
