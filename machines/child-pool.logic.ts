import type { ActorLogic, ActorScope, AnyActorLogic, AnyActorRef, EventObject, Snapshot } from 'xstate';
import { createActor } from 'xstate';
import type { EffectInput } from './agent-logic.js';

/** Actors below one parent, kept outside a machine's snapshot: starting or stopping one does not grow with the others. */
export interface Pool {
  /** Starts a child; its end reaches `childEnded`. The id is free again once the child has ended. */
  spawn(id: string, logic: AnyActorLogic, input: unknown): AnyActorRef;
  stop(id: string): void;
  /** Sends an event to the pool's parent. */
  report(event: EventObject): void;
  readonly size: number;
}

/** What a pool does with orders and ends. None of it may throw. */
export interface PoolEffect<Order extends EventObject> {
  order(order: Order): void;
  /** `error` is set when the child's actor itself failed. The child is gone from the pool by now. */
  childEnded(id: string, output: unknown, error: unknown): void;
  /** The pool was stopped; its children are stopped already. */
  dispose(): void;
}

export type PoolSnapshot = Snapshot<undefined> & {
  readonly input: EffectInput;
  readonly live: number;
  readonly started: number;
};

interface PoolState<Order extends EventObject> {
  readonly children: Map<string, AnyActorRef>;
  effect: PoolEffect<Order> | undefined;
  started: number;
}

export interface ChildPoolLogic<Order extends EventObject> extends ActorLogic<PoolSnapshot, Order, EffectInput> {}

const DONE = 'xstate.done.actor.';
const ERROR = 'xstate.error.actor.';

/** A pool whose behaviour is `begin`. It persists nothing of its children: a session tree is rebuilt from its log. */
export function createChildPool<Order extends EventObject>(
  begin: (input: EffectInput, pool: Pool) => PoolEffect<Order>,
): ChildPoolLogic<Order> {
  type Scope = ActorScope<PoolSnapshot, Order>;
  const states = new WeakMap<AnyActorRef, PoolState<Order>>();
  const stateOf = (scope: Scope) => states.get(scope.self) as PoolState<Order>;

  const poolOf = (scope: Scope, state: PoolState<Order>): Pool => ({
    spawn(id, logic, input) {
      const child = createActor(logic, { id, input, parent: scope.self } as object);
      state.children.set(id, child);
      state.started++;
      child.start();
      return child;
    },
    stop(id) {
      const child = state.children.get(id);
      if (child === undefined) return;
      state.children.delete(id);
      scope.stopChild(child);
    },
    report(event) {
      scope.self._parent?.send(event);
    },
    get size() {
      return state.children.size;
    },
  });

  const snapshotOf = (snapshot: PoolSnapshot, state: PoolState<Order>): PoolSnapshot =>
    snapshot.live === state.children.size && snapshot.started === state.started
      ? snapshot
      : { ...snapshot, live: state.children.size, started: state.started };

  return {
    getInitialSnapshot: (_, input) => ({
      status: 'active',
      output: undefined,
      error: undefined,
      input,
      live: 0,
      started: 0,
    }),

    start(snapshot, scope) {
      const state: PoolState<Order> = { children: new Map(), effect: undefined, started: 0 };
      states.set(scope.self, state);
      state.effect = begin(snapshot.input, poolOf(scope, state));
    },

    transition(snapshot, event, scope) {
      const state = stateOf(scope);
      const { type } = event as EventObject;
      if (type === 'xstate.stop') {
        for (const child of state.children.values()) scope.stopChild(child);
        state.children.clear();
        state.effect?.dispose();
        return { ...snapshot, status: 'stopped', live: 0 } as PoolSnapshot;
      }
      const isDone = type.startsWith(DONE);
      if (isDone || type.startsWith(ERROR)) {
        const id = type.slice(isDone ? DONE.length : ERROR.length);
        const child = state.children.get(id);
        if (child !== undefined) {
          state.children.delete(id);
          scope.stopChild(child);
          const { output, error } = event as { output?: unknown; error?: unknown };
          state.effect?.childEnded(id, output, isDone ? undefined : (error ?? new Error('the actor failed')));
        }
      } else {
        state.effect?.order(event);
      }
      return snapshotOf(snapshot, state);
    },

    getPersistedSnapshot: (snapshot) => ({ ...snapshot, live: 0 }),
    restoreSnapshot: (snapshot) => snapshot as PoolSnapshot,
  };
}
