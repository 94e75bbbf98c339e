import type { AgentEvent } from '../contracts/index.js';
import type { OpenMessage } from './event-merge.js';
import type { MergeReader } from './merge-reader.js';
import type { Stamp } from './stamp.js';

/** Events in one round of the event loop that only a run which waits for nothing publishes. */
const BUSY = 128;
/** Events that all observers together are shown in a round: of a busy one a part, else a number. */
const BUSY_SHARE = 50;
const ROUND = 2048;
/** Each is woken for so many at once, or for all that there are: to wake it costs as much as to give it ten. */
const BURST = 8;
const LAG_CHECK_EVERY = 1024;
/** Pieces of messages are kept as their texts: of them an observer may lag so many times more. */
const PIECES = 4;

/**
 * All readers of one merged stream that nobody waits for. They are told once per round of the event loop, see what a
 * busy run publishes mostly after it, and each may lag by so much; what one has not read yet is kept once for all.
 */
export class Observers {
  /** Readers. */
  size = 0;
  /** So many events may be read. */
  shown = 0;
  #tail = new Stretch(undefined, 0, 0);
  /** The count that the id of the next piece has, if it still belongs to the last stretch; 0: none does. */
  #nextCount = 0;
  /** The message that the last stretch is of, and those of its texts that are in it. */
  #open: OpenMessage | undefined;
  #texts: readonly string[] | undefined;
  /** Without the pieces of the last stretch, as long as more may belong to it. */
  #published = 0;
  #publishedBefore = 0;
  /** What each reader may be shown, in events: with many of them less than one in a round. */
  #room = 0;
  #checkLagAt = LAG_CHECK_EVERY;
  #isScheduled = false;
  readonly #readers = new Set<Observer>();
  readonly #stamp: Stamp;
  readonly #mostLag: number;

  /** `mostLag`: events that a reader may lag before it is cut off and told. */
  constructor(stamp: Stamp, mostLag: number) {
    this.#stamp = stamp;
    this.#mostLag = mostLag;
  }

  /** Events so far. No more belong to the last stretch then. */
  published(): number {
    this.#close();
    return this.#published;
  }

  /** Reads from here on. */
  add(onLost: () => void): Observer {
    const reader = new Observer(this, this.published(), this.#tail, onLost);
    this.#readers.add(reader);
    this.size++;
    return reader;
  }

  remove(reader: Observer): void {
    if (this.#readers.delete(reader)) this.size--;
  }

  /** Each ends once it has read what there is. */
  finish(): void {
    for (const reader of [...this.#readers]) reader.finish();
  }

  push(event: AgentEvent): void {
    this.#begin(event, undefined, 0);
  }

  /** A piece of the message `open`, which has taken it already, that was published as one; `count` is that of its id. */
  pushPiece(piece: AgentEvent<'message'>, open: OpenMessage, count: number): void {
    const tail = this.#tail;
    const { texts } = open;
    if (
      // Ids are given one after the other: nothing else was published in between.
      count === this.#nextCount &&
      open === this.#open &&
      texts !== undefined &&
      texts === (this.#texts ?? texts) &&
      tail.goesOnWith(piece)
    ) {
      this.#nextCount = count + 1;
      if (this.#texts === undefined) {
        this.#texts = texts;
        tail.share(texts);
      }
      return;
    }
    this.#begin(piece, open, count);
  }

  /** The event at a place of a stretch; observers in step are given the same one. */
  eventAt(stretch: Stretch, index: number): AgentEvent {
    return stretch.eventAt(index, this.#stamp);
  }

  #begin(event: AgentEvent, open: OpenMessage | undefined, count: number): void {
    this.#close();
    const next = new Stretch(event, count, this.#tail.ordinal + 1);
    this.#tail.next = next;
    this.#tail = next;
    this.#open = open;
    this.#texts = undefined;
    this.#nextCount = count === 0 ? 0 : count + 1;
    this.#published++;
    if (!this.#isScheduled) this.#schedule();
    if (this.#published >= this.#checkLagAt) this.#cutLaggards();
  }

  #close(): void {
    if (this.#nextCount === 0) return;
    const tail = this.#tail;
    tail.length = this.#nextCount - tail.count;
    this.#published += tail.length - 1;
    this.#nextCount = 0;
  }

  /** Once per round of the event loop, however many events it brought. */
  #schedule(): void {
    this.#isScheduled = true;
    setImmediate(() => this.#show());
  }

  /**
   * What a run publishes as fast as it can, its observers see after it: together they are shown a part of it meanwhile,
   * or they would take several times as long as the run itself.
   */
  #show(): void {
    this.#isScheduled = false;
    if (this.size === 0) return;
    const published = this.published();
    const added = published - this.#publishedBefore;
    this.#publishedBefore = published;
    this.#room += (added < BUSY ? ROUND : added / BUSY_SHARE) / this.size;
    const left = published - this.shown;
    if (left > 0 && this.#room >= Math.min(BURST, left)) {
      const room = Math.floor(this.#room);
      this.#room -= room;
      this.shown = Math.min(published, this.shown + room);
      for (const reader of [...this.#readers]) reader.wake();
    }
    if (this.shown < published && !this.#isScheduled) this.#schedule();
  }

  #cutLaggards(): void {
    this.#checkLagAt = this.#published + LAG_CHECK_EVERY;
    for (const reader of [...this.#readers]) {
      const lag = this.#published - reader.read;
      const stretches = this.#tail.ordinal - (reader.at?.ordinal ?? 0);
      if (stretches > this.#mostLag || lag > this.#mostLag * PIECES) reader.lose();
    }
  }
}

/**
 * One event and, where the same message just went on after it, a view of the texts of those pieces. Kept as events, ten
 * thousand of them that nobody has read cost the collector as much time as the run that they come from.
 */
class Stretch {
  next: Stretch | undefined;
  /** Events; known once no more belong to it. */
  length = 1;
  #texts: readonly string[] | undefined;
  #firstText = 0;
  #made: AgentEvent | undefined;
  #madeIndex = 0;

  constructor(
    readonly event: AgentEvent | undefined,
    /** Of its id. */
    readonly count: number,
    readonly ordinal: number,
  ) {}

  /** Of a piece of the same message. False: it is more than the text that follows at once. */
  goesOnWith(piece: AgentEvent<'message'>): boolean {
    const event = this.event as AgentEvent<'message'>;
    return piece.timestamp === event.timestamp && piece.role === event.role && isTextAlone(piece);
  }

  /** The texts that its pieces are taken from: the last one is the first of them. */
  share(texts: readonly string[]): void {
    this.#texts = texts;
    this.#firstText = texts.length - 1;
  }

  eventAt(index: number, stamp: Stamp): AgentEvent {
    if (index === 0) return this.event as AgentEvent;
    if (index !== this.#madeIndex) {
      this.#madeIndex = index;
      const id = stamp.idOf(this.count + index);
      const text = this.#texts?.[this.#firstText + index - 1] as string;
      this.#made = pieceOf(this.event as AgentEvent<'message'>, index, id, text);
    }
    return this.#made as AgentEvent;
  }
}

/** It can be made again from its text. */
function isTextAlone({ content }: AgentEvent<'message'>): boolean {
  const part = content[0];
  if (content.length !== 1 || part?.type !== 'text') return false;
  for (const key in part) if (key !== 'type' && key !== 'text') return false;
  return true;
}

/** As `publishMessage` of the merge makes it. */
function pieceOf(first: AgentEvent<'message'>, index: number, id: string, text: string): AgentEvent<'message'> {
  const { timestamp, runId, streamId, agentId, threadId, messageId, role } = first;
  const seq = first.seq + index;
  const content = [{ type: 'text' as const, text }];
  return threadId === undefined
    ? { id, timestamp, seq, runId, streamId, agentId, type: 'message', messageId, role, content }
    : { id, timestamp, seq, runId, streamId, agentId, threadId, type: 'message', messageId, role, content };
}

/** Holds the place that it has read up to; what comes after hangs on that. */
export class Observer implements MergeReader {
  closed = false;
  at: Stretch | undefined;
  /** In the count of events published. */
  read: number;
  #index: number;
  #last = -1;
  #resolve: ((result: IteratorResult<AgentEvent, void>) => void) | undefined;
  readonly #all: Observers;
  readonly #onLost: () => void;

  /** `read`: events that are past; `from` holds the last of them. */
  constructor(all: Observers, read: number, from: Stretch, onLost: () => void) {
    this.#all = all;
    this.at = from;
    this.read = read;
    this.#index = from.length;
    this.#onLost = onLost;
  }

  next(): Promise<IteratorResult<AgentEvent, void>> {
    const value = this.take();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#isDone()) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Gives what it waits for, if that is there. */
  wake(): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    const value = this.take();
    if (value === undefined && !this.#isDone()) return;
    this.#resolve = undefined;
    resolve(value === undefined ? { done: true, value } : { done: false, value });
  }

  finish(): void {
    if (this.closed || this.#last >= 0) return;
    this.#last = this.#all.published();
    this.wake();
  }

  close(): void {
    if (this.closed) return;
    this.#end();
    this.wake();
  }

  /** Cut off for lagging: nothing more comes from here. */
  lose(): void {
    this.#end();
    this.#onLost();
    this.wake();
  }

  /** The next event, if it is there and may be read. */
  take(): AgentEvent | undefined {
    const { at } = this;
    if (at === undefined || this.read === this.#last || this.read >= this.#all.shown) return undefined;
    this.read++;
    if (this.#index < at.length) return this.#all.eventAt(at, this.#index++);
    const next = at.next as Stretch;
    this.at = next;
    this.#index = 1;
    return next.event;
  }

  #isDone(): boolean {
    if (!this.closed && this.read === this.#last) this.#end();
    return this.closed;
  }

  /** A reader that is kept must not keep what is published after its end. */
  #end(): void {
    this.closed = true;
    this.at = undefined;
    this.#all.remove(this);
  }
}
