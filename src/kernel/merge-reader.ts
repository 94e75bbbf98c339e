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
  readonly #merge: MergeSource;

  constructor(merge: MergeSource, from: Entry) {
    this.#merge = merge;
    this.at = from;
  }

  next(): Promise<IteratorResult<AgentEvent, void>> {
    const taken = this.#take();
    if (taken !== undefined) return Promise.resolve({ done: false, value: taken });
    if (this.#isDone()) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
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
    this.#merge.detach(this);
    this.wake();
  }

  close(): void {
    if (this.closed) return;
    this.#merge.detach(this);
    this.closed = true;
    this.at = undefined;
    this.wake();
  }

  #take(): AgentEvent | undefined {
    if (this.at === undefined || this.at === this.#last) return undefined;
    const entry = this.at.next;
    if (entry === undefined) return undefined;
    this.at = entry;
    if (entry.origin !== undefined) this.#merge.release(entry);
    return entry.event;
  }

  #isDone(): boolean {
    if (this.closed) return true;
    if (this.#last === undefined || this.at !== this.#last) return false;
    // A reader that is kept must not keep what is published after its end.
    this.closed = true;
    this.at = undefined;
    this.#last = undefined;
    return true;
  }
}
