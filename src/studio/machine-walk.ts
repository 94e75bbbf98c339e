import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { initialTransition, transition } from 'xstate';

/** One machine on its way, by itself: nothing that it orders is done. */
export class MachineWalk {
  #snapshot: AnyMachineSnapshot;

  constructor(
    readonly machine: AnyStateMachine,
    input: unknown,
    /** Told of each step. */
    private readonly note: (machine: string, value: unknown, event: string) => void,
  ) {
    [this.#snapshot] = initialTransition(machine, input as never) as [AnyMachineSnapshot, unknown];
    note(machine.id, this.#snapshot.value, 'xstate.init');
  }

  get value(): unknown {
    return this.#snapshot.value;
  }

  get isOver(): boolean {
    return this.#snapshot.status !== 'active';
  }

  /** What the machine has no answer to in its state is left out. */
  send(event: EventObject): void {
    if (this.isOver || !this.#snapshot.can(event)) return;
    [this.#snapshot] = transition(this.machine, this.#snapshot, event) as [AnyMachineSnapshot, unknown];
    this.note(this.machine.id, this.#snapshot.value, event.type);
  }
}
