import type { AgentEvent } from '../contracts/index.js';

interface Gate<O> {
  pass(event: AgentEvent, origin: O): AgentEvent | Promise<AgentEvent>;
  onHeld(isHeld: boolean): void;
}

/**
 * Keeps events in order while a gate takes its time with one of them: what comes after it waits behind it. A gate that
 * answers at once holds nobody.
 */
export class Passage<O> {
  /** The last `seq` that went out before events were held; undefined while none is. */
  heldFrom: number | undefined;
  readonly #waiting: (() => void | Promise<void>)[] = [];

  constructor(
    private readonly gate: Gate<O>,
    private readonly admit: (event: AgentEvent, origin: O) => undefined | Promise<void>,
  ) {}

  get isHeld(): boolean {
    return this.heldFrom !== undefined;
  }

  /** Returns what to wait for: that it is through, and that there is room again. */
  take(event: AgentEvent, origin: O): undefined | Promise<void> {
    if (this.isHeld) return this.#wait(event.seq, () => this.gate.pass(event, origin), origin);
    const passed = this.gate.pass(event, origin);
    if (!(passed instanceof Promise)) return this.admit(passed, origin);
    return this.#wait(event.seq, () => passed, origin);
  }

  /** Runs `task` when all that waits now is through. */
  behind(task: () => void): void {
    this.#waiting.push(task);
  }

  #wait(seq: number, pass: () => AgentEvent | Promise<AgentEvent>, origin: O): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        const go = (event: AgentEvent) => {
          // Room is for who published it to wait for, not for those behind.
          this.heldFrom = seq;
          const full = this.admit(event, origin);
          if (full === undefined) resolve();
          else void full.then(resolve);
        };
        const passed = pass();
        return passed instanceof Promise ? passed.then(go) : go(passed);
      });
      if (this.isHeld) return;
      this.heldFrom = seq - 1;
      this.gate.onHeld(true);
      void this.#letThrough();
    });
  }

  async #letThrough(): Promise<void> {
    for (let task = this.#waiting.shift(); task !== undefined; task = this.#waiting.shift()) {
      const passing = task();
      if (passing !== undefined) await passing;
    }
    this.heldFrom = undefined;
    this.gate.onHeld(false);
  }
}
