import type { AnyActorLogic, CallbackActorLogic, EventObject, NonReducibleUnknown } from 'xstate';
import { fromCallback } from 'xstate';

/** Whose effect it is: the host finds session and thread by it. */
export interface EffectInput {
  readonly address: string;
}

/** An effect of the host as an actor: takes orders, reports to its parent with events. */
export type EffectLogic<Order extends EventObject, Input extends EffectInput = EffectInput> = CallbackActorLogic<
  Order,
  Input & NonReducibleUnknown
>;

/** What an effect does while it runs. */
export interface Effect<Order extends EventObject> {
  order(order: Order): void;
  /** The actor was stopped. After a report that ended the effect there must be nothing left to do. */
  dispose(): void;
}

/** Makes an effect of `begin`, which must not throw and reports through `report`. */
export const createEffectLogic = <Order extends EventObject, Report extends EventObject, Input extends EffectInput>(
  begin: (input: Input, report: (event: Report) => void) => Effect<Order>,
): EffectLogic<Order, Input> =>
  fromCallback<Order, Input & NonReducibleUnknown>(({ input, sendBack, receive }) => {
    const effect = begin(input, sendBack);
    receive((order) => effect.order(order));
    return () => effect.dispose();
  });

/**
 * A logic whose place in a machine is named but not filled. Starting it is an error that says which one is missing,
 * so a machine that was not wired fails with a sentence.
 */
export function notProvided<Logic extends AnyActorLogic>(name: string): Logic {
  return asLogic<Logic>(
    fromCallback(() => {
      throw new Error(`actor "${name}" was not provided`);
    }),
  );
}

/** The one cast between actor logics: a machine is not assignable to a wider `ActorLogic` (variance). */
export const asLogic = <Logic extends AnyActorLogic>(logic: AnyActorLogic): Logic => logic as Logic;
