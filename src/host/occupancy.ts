import { beginWork, endWork } from './limits.js';
import type { Thread } from './thread.js';
import type { Call } from './tool-call.js';

/**
 * What a running tool takes up: its time, that of its thread, and a place among the requests in flight. All of it is
 * given back while the tool waits for a person.
 */
export class Occupancy {
  readonly #call: Call;
  #release: (() => void) | undefined;
  #isHeld = false;
  #isOver = false;
  #waits = 0;
  #limitMs = Number.POSITIVE_INFINITY;
  #usedMs = 0;
  #since = 0;
  #onTimeout: (() => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(call: Call, release: (() => void) | undefined) {
    this.#call = call;
    this.#release = release;
    this.#hold();
  }

  get #thread(): Thread {
    return this.#call.thread;
  }

  /** `onTimeout` runs once `limitMs` of the tool's own time are used up. */
  limit(limitMs: number, onTimeout: () => void): void {
    this.#limitMs = limitMs;
    this.#onTimeout = onTimeout;
    if (this.#isHeld) this.#startTimer();
  }

  /** A question is open. */
  suspend(): void {
    if (this.#waits++ > 0) return;
    this.#letGo();
    this.#release?.();
  }

  /** It has its answer: the tool goes on once there is a place for it again. */
  resume(): undefined | Promise<void> {
    if (--this.#waits > 0 || this.#isOver) return undefined;
    if (this.#release === undefined) {
      this.#hold();
      return undefined;
    }
    return this.#thread.tree.host.permits.take().then((release) => {
      if (this.#isOver || this.#waits > 0) return release();
      this.#release = release;
      this.#hold();
    });
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#isHeld) this.#release?.();
    this.#letGo();
  }

  #hold(): void {
    this.#isHeld = true;
    beginWork(this.#thread);
    if (this.#onTimeout !== undefined) this.#startTimer();
  }

  #letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    endWork(this.#thread);
    if (this.#cancelTimer === undefined) return;
    this.#cancelTimer();
    this.#cancelTimer = undefined;
    this.#usedMs += this.#thread.tree.host.clock.now() - this.#since;
  }

  #startTimer(): void {
    const { clock, lateTimer } = this.#thread.tree.host;
    this.#since = clock.now();
    this.#cancelTimer = lateTimer(() => {
      this.#cancelTimer = undefined;
      this.#onTimeout?.();
    }, this.#limitMs - this.#usedMs);
  }
}
