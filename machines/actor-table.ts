import type { AnyActorRef } from 'xstate';

interface SystemInternals {
  _register?: (sessionId: string, actor: AnyActorRef) => string;
  _unregister?: (actor: AnyActorRef) => void;
}

/**
 * XState enters every actor of a system in a table that nothing reads: actors are found by their `systemId`, which is
 * kept elsewhere. In a system as old as its process that table keeps dead actors, and all that hangs on them, until the
 * next full collection (see `TurnoverMap`). From here on nobody is entered in it.
 */
export function dropActorTable({ system }: AnyActorRef): void {
  const internals = system as unknown as SystemInternals;
  const { _unregister } = internals;
  if (typeof internals._register !== 'function' || typeof _unregister !== 'function') return;
  const register = (sessionId: string) => sessionId;
  const unregister = (actor: AnyActorRef) => {
    if ((actor as AnyActorRef & { systemId?: string }).systemId !== undefined) _unregister(actor);
  };
  internals._register = register;
  internals._unregister = unregister;
}
