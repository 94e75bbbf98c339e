import type { Clock } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { Turn } from './turn-context.js';

/** How long a strategy of the router may take by itself, and each model that it asks. What waits for a permit may wait. */
const LONGEST_MS = 30_000;

/** Waits for one strategy of the router: until it answers, takes too long, or its turn is ended. */
export class StrategyWait {
  readonly #clock: Clock;
  readonly #turn: Turn;
  #controller: AbortController | undefined;
  #fail: ((why: TroupeError) => void) | undefined;
  #cancel: (() => void) | undefined;
  /** Nobody waits any more, and why. */
  #why: TroupeError | undefined;
  /** Calls of a model that are not admitted yet. */
  #queued = 0;

  constructor(clock: Clock, turn: Turn) {
    this.#clock = clock;
    this.#turn = turn;
  }

  /** Fires once nobody waits for the strategy any more. */
  signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#why !== undefined) this.#controller.abort(this.#why);
    }
    return this.#controller.signal;
  }

  /** Rejects with `TIMEOUT`, or `ABORTED`. */
  async for<Answer>(given: Answer | PromiseLike<Answer>): Promise<Answer> {
    if (!isLater(given)) return given;
    const { signal } = this.#turn;
    const onAbort = () => this.#over(new TroupeError({ code: 'ABORTED', message: 'its turn was ended' }));
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
    this.#restart();
    try {
      return await Promise.race([given, failed]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#cancel?.();
      this.#fail = undefined;
    }
  }

  /** The time that a call of a model waits to be admitted is not the strategy's. */
  async whileAsking<Answer>(
    ask: (call: { purpose: 'classify'; signal(): AbortSignal; onAdmitted(): void }) => Promise<Answer>,
  ): Promise<Answer> {
    if (this.#why !== undefined) throw this.#why;
    let isQueued = true;
    this.#queued++;
    const admit = () => {
      if (isQueued) this.#queued--;
      isQueued = false;
      this.#restart();
    };
    this.#restart();
    try {
      return await ask({ purpose: 'classify', signal: () => this.signal(), onAdmitted: admit });
    } finally {
      admit();
    }
  }

  #restart(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#fail === undefined || this.#queued > 0) return;
    const message = `it gave no answer within ${LONGEST_MS / 1_000} s`;
    this.#cancel = this.#clock.schedule(() => this.#over(new TroupeError({ code: 'TIMEOUT', message })), LONGEST_MS);
  }

  #over(why: TroupeError): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    this.#fail?.(why);
    this.#controller?.abort(why);
  }
}

const isLater = <Answer>(given: Answer | PromiseLike<Answer>): given is PromiseLike<Answer> =>
  typeof (given as { then?: unknown } | null | undefined)?.then === 'function';
