import type { ActorLogic, ActorScope, AnyActorLogic, AnyActorRef, EventObject, Snapshot } from 'xstate';
import { createActor } from 'xstate';
import { TurnoverMap } from '../src/kernel/turnover-map.js';
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

export interface ChildPoolLogic<Order extends EventObject> extends ActorLogic<PoolSnapshot, Order, EffectInput> {}

const DONE = 'xstate.done.actor.';
const ERROR = 'xstate.error.actor.';

/**
 * A pool whose behaviour is `begin`. It persists nothing of its children: a session tree is rebuilt from its log. What
 * runs hangs on the snapshot, not in a table beside it: such a table keeps the dead until the next full collection.
 */
export function createChildPool<Order extends EventObject>(
  begin: (input: EffectInput, pool: Pool) => PoolEffect<Order>,
): ChildPoolLogic<Order> {
  type Running = PoolSnapshot & { pool: ActorPool<Order> | undefined };
  return {
    getInitialSnapshot: (_, input) =>
      ({
        status: 'active',
        output: undefined,
        error: undefined,
        input,
        live: 0,
        started: 0,
        pool: undefined,
      }) as Running,

    start(snapshot, scope) {
      const pool = new ActorPool<Order>(scope);
      (snapshot as Running).pool = pool;
      pool.effect = begin(snapshot.input, pool);
    },

    transition(snapshot, event, scope) {
      const { pool } = snapshot as Running;
      if (pool === undefined) return snapshot;
      if ((event as EventObject).type === 'xstate.stop') {
        pool.stopAll(scope);
        return { ...snapshot, status: 'stopped', live: 0, pool: undefined } as unknown as PoolSnapshot;
      }
      if (!pool.endOf(event, scope)) pool.effect?.order(event);
      const { size, started } = pool;
      return snapshot.live === size && snapshot.started === started ? snapshot : { ...snapshot, live: size, started };
    },

    getPersistedSnapshot: ({ status, output, error, input, started }) =>
      ({ status, output, error, input, live: 0, started }) as unknown as Snapshot<unknown>,
    restoreSnapshot: (snapshot) => ({ ...snapshot, pool: undefined }) as unknown as PoolSnapshot,
  };
}

type Scope<Order extends EventObject> = ActorScope<PoolSnapshot, Order>;

class ActorPool<Order extends EventObject> implements Pool {
  effect: PoolEffect<Order> | undefined;
  started = 0;
  readonly #children = new TurnoverMap<string, AnyActorRef>();
  readonly #scope: Scope<Order>;

  constructor(scope: Scope<Order>) {
    this.#scope = scope;
  }

  get size(): number {
    return this.#children.size;
  }

  spawn(id: string, logic: AnyActorLogic, input: unknown): AnyActorRef {
    const child = createActor(logic, { id, input, parent: this.#scope.self } as object);
    this.#children.set(id, child);
    this.started++;
    child.start();
    return child;
  }

  stop(id: string): void {
    const child = this.#children.get(id);
    if (child === undefined) return;
    this.#children.delete(id);
    this.#scope.stopChild(child);
  }

  report(event: EventObject): void {
    this.#scope.self._parent?.send(event);
  }

  /** Tells the effect of a child's end. False: the event is none. */
  endOf(event: EventObject, scope: Scope<Order>): boolean {
    const { type } = event;
    const isDone = type.startsWith(DONE);
    if (!isDone && !type.startsWith(ERROR)) return false;
    const id = type.slice(isDone ? DONE.length : ERROR.length);
    const child = this.#children.get(id);
    if (child === undefined) return true;
    this.#children.delete(id);
    scope.stopChild(child);
    const { output, error } = event as { output?: unknown; error?: unknown };
    this.effect?.childEnded(id, output, isDone ? undefined : (error ?? new Error('the actor failed')));
    return true;
  }

  stopAll(scope: Scope<Order>): void {
    for (const child of this.#children.values()) scope.stopChild(child);
    this.#children.clear();
    this.effect?.dispose();
    this.effect = undefined;
  }
}
