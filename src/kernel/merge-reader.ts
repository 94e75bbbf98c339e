import type { AgentEvent } from '../contracts/index.js';
import type { Origin } from './event-merge.js';

/** One place in the merged stream. A reader holds the last entry that it gave; the rest hangs on it. */
export interface Entry {
  readonly event: AgentEvent | undefined;
  readonly seq: number;
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

/** What a reader asks of the merge that it reads. */
export interface MergeSource {
  readonly tail: Entry;
  /** The reader is done with; nobody waits for it any more. */
  detach(reader: Reader): void;
  /** The consumer has taken an entry that counted against its thread's room. */
  release(entry: Entry): void;
}

export class Reader implements MergeReader {
  at: Entry | undefined;
  closed = false;
  resolve: ((result: IteratorResult<AgentEvent, void>) => void) | undefined;
  #last: Entry | undefined;
  /** Observers only: the last entry that they are shown so far. */
  #shown: Entry | undefined;
  readonly #merge: MergeSource;
  readonly #onLost: (() => void) | undefined;

  /** With `onLost` it is an observer: it is shown some of what is there once per round of the event loop, and may lag. */
  constructor(merge: MergeSource, from: Entry, onLost?: () => void) {
    this.#merge = merge;
    this.at = from;
    this.#onLost = onLost;
    if (onLost !== undefined) this.#shown = from;
  }

  next(): Promise<IteratorResult<AgentEvent, void>> {
    const taken = this.#take();
    if (taken !== undefined) return Promise.resolve({ done: false, value: taken });
    if (this.#isDone()) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  /** Observers: shows up to `room` entries more. True: there are others behind them. */
  show(room: number): boolean {
    let shown = this.#shown;
    if (shown === undefined || this.at === undefined) return false;
    for (let left = room; left > 0 && shown.next !== undefined; left--) shown = shown.next;
    this.#shown = shown;
    this.wake();
    return shown.next !== undefined;
  }

  wake(): void {
    const { resolve } = this;
    if (resolve === undefined) return;
    const taken = this.#take();
    if (taken !== undefined) {
      this.resolve = undefined;
      resolve({ done: false, value: taken });
    } else if (this.#isDone()) {
      this.resolve = undefined;
      resolve({ done: true, value: undefined });
    }
  }

  finish(): void {
    if (this.closed || this.#last !== undefined) return;
    this.#last = this.#merge.tail;
    // An observer is still to be shown what is there.
    if (this.#shown === undefined) this.#merge.detach(this);
    this.wake();
  }

  close(): void {
    if (this.closed) return;
    this.#merge.detach(this);
    this.closed = true;
    this.at = undefined;
    this.wake();
  }

  /** Cut off for lagging: nothing more comes from here. */
  lose(): void {
    this.closed = true;
    this.at = undefined;
    this.#onLost?.();
    this.wake();
  }

  #take(): AgentEvent | undefined {
    // In step with the producer, ten observers would take ten turns between any two of its events.
    if (this.at === undefined || this.at === this.#last || this.at === this.#shown) return undefined;
    const entry = this.at.next;
    if (entry === undefined) return undefined;
    this.at = entry;
    if (entry.origin !== undefined && this.#shown === undefined) this.#merge.release(entry);
    return entry.event;
  }

  #isDone(): boolean {
    if (this.closed) return true;
    if (this.#last === undefined || this.at !== this.#last) return false;
    if (this.#shown !== undefined) this.#merge.detach(this);
    // A reader that is kept must not keep what is published after its end.
    this.closed = true;
    this.at = undefined;
    this.#last = undefined;
    return true;
  }
}
