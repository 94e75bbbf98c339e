import type { ActorLogic, AnyActorLogic, EventObject, Snapshot } from 'xstate';
import { fromCallback } from 'xstate';

/** Whose effect it is: the host finds session and thread by it. */
export interface EffectInput {
  readonly address: string;
}

/** An effect of the host as an actor: takes orders, reports to its parent with events. */
export interface EffectLogic<Order extends EventObject, Input extends EffectInput = EffectInput>
  extends ActorLogic<EffectSnapshot<Input>, Order, Input> {}

export type EffectSnapshot<Input extends EffectInput = EffectInput> = Snapshot<undefined> & { readonly input: Input };

/** What an effect does while it runs. */
export interface Effect<Order extends EventObject> {
  order(order: Order): void;
  /** The actor was stopped. After a report that ended the effect there must be nothing left to do. */
  dispose(): void;
}

/**
 * Makes an effect of `begin`, which must not throw and reports through `report`. A logic of our own: `fromCallback`
 * keeps what runs in a table that outlives it until the next full collection.
 */
export function createEffectLogic<Order extends EventObject, Report extends EventObject, Input extends EffectInput>(
  begin: (input: Input, report: (event: Report) => void) => Effect<Order>,
): EffectLogic<Order, Input> {
  type Running = EffectSnapshot<Input> & { effect: Effect<Order> | undefined };
  return {
    getInitialSnapshot: (_, input) =>
      ({ status: 'active', output: undefined, error: undefined, input, effect: undefined }) as Running,
    start(snapshot, { self }) {
      (snapshot as Running).effect = begin(snapshot.input, (event) => self._parent?.send(event));
    },
    transition(snapshot, event) {
      const { effect } = snapshot as Running;
      if ((event as EventObject).type !== 'xstate.stop') {
        effect?.order(event);
        return snapshot;
      }
      (snapshot as Running).effect = undefined;
      effect?.dispose();
      return { ...snapshot, status: 'stopped' } as EffectSnapshot<Input>;
    },
    getPersistedSnapshot: ({ status, output, error, input }) =>
      ({ status, output, error, input }) as unknown as Snapshot<unknown>,
    restoreSnapshot: (snapshot) => ({ ...snapshot, effect: undefined }) as unknown as EffectSnapshot<Input>,
  };
}

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
