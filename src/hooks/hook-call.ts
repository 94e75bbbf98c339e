import type { HookCall, HookPayloadBase } from '../contracts/index.js';

/** One call of one hook. Its controller is made when the signal is first read: most hooks answer without it. */
export class Call implements HookCall {
  #controller: AbortController | undefined;
  #abortedBecause: string | undefined;
  /** What the hook will have answered. */
  answer: Promise<unknown> | undefined;
  readonly #open: Set<Call>;
  readonly #payload: HookPayloadBase;

  /** `open` holds it from the first reading of its signal until it has answered, in time or not. */
  constructor(open: Set<Call>, payload: HookPayloadBase) {
    this.#open = open;
    this.#payload = payload;
  }

  /** Whether it was made for a thread of a session, or for one below that. */
  isOf(sessionId: string, threadId: string | undefined): boolean {
    if (this.#payload.sessionId !== sessionId) return false;
    return threadId === undefined || `${this.#payload.threadId ?? ''}.`.startsWith(`${threadId}.`);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#open.add(this);
      if (this.#abortedBecause !== undefined) this.abort(this.#abortedBecause);
    }
    return this.#controller.signal;
  }

  /** Nobody waits for the answer any more. */
  abort(reason: string): void {
    this.#abortedBecause = reason;
    this.#controller?.abort(new DOMException(reason, 'AbortError'));
  }

  /** It has answered. */
  end(): void {
    this.#open.delete(this);
  }
}
