import type { ActorLogic, EventObject, NonReducibleUnknown, Snapshot } from 'xstate';
import type { Conclusion, CrewInput, CrewOrder } from '../src/kernel/crew.js';

/** The pool of a composition's children, as the host provides it. */
export interface CrewLogic
  extends ActorLogic<
    Snapshot<undefined>,
    CrewOrder | EventObject,
    { readonly address: string } & NonReducibleUnknown
  > {}

/** What every composition remembers: its plan, and why it ends. */
export interface CompositionContext extends CrewInput {
  readonly conclusion: Conclusion;
}

export const crewInput = ({ context }: { context: CrewInput }) => ({ address: context.address });
