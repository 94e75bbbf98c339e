import type { MachineStep } from '../wire.js';

const PER_THREAD = 400;
const MOST = 40_000;

/** The newest steps of the machines of each thread, in their order. */
export class StepHistory {
  readonly #steps = new Map<string, MachineStep[]>();
  #count = 0;
  #perThread = PER_THREAD;

  add(step: MachineStep): void {
    let steps = this.#steps.get(step.threadId);
    if (steps === undefined) {
      steps = [];
      this.#steps.set(step.threadId, steps);
    }
    steps.push(step);
    this.#count++;
    if (steps.length > this.#perThread * 1.5) this.#cut(steps);
    if (this.#count <= MOST) return;
    this.#perThread = Math.max(20, this.#perThread / 2);
    for (const one of this.#steps.values()) if (one.length > this.#perThread) this.#cut(one);
  }

  of(threadId: string): readonly MachineStep[] {
    return this.#steps.get(threadId) ?? [];
  }

  #cut(steps: MachineStep[]): void {
    const gone = steps.length - this.#perThread;
    steps.splice(0, gone);
    this.#count -= gone;
  }
}

/** The state of a session's machine as its events tell it, where nobody listened to the machine itself. */
export function stateFromStatus(status: string): string {
  switch (status) {
    case 'awaiting_tool':
      return 'awaitingTool';
    case 'awaiting_elicitation':
      return 'awaitingElicitation';
    case 'ended':
      return 'ended';
    default:
      return 'running';
  }
}
