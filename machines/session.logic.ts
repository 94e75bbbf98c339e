import type { ActorScope, AnyActorLogic, AnyActorRef, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { createActor } from 'xstate';
import type { SessionContext, SessionEvent, SessionInput } from './session.events.js';

type Scope = ActorScope<AnyMachineSnapshot, EventObject>;
type Children = Record<string, AnyActorRef>;

/** Who inspects the actors of a host at the moment. */
export interface InspectionAudience {
  isThere: boolean;
}

/**
 * The session's machine as a logic that takes its everyday steps without working them out anew: a message, the turns
 * and batches of calls that follow one another, the end. The machine computes sets of states and copies its snapshot
 * several times for each, which is most of what a short run costs. The snapshots are the machine's own, of the same
 * form, and every other step is its. While somebody inspects, the machine takes all of them: its microsteps and actions
 * are to be seen.
 */
export function quickSession(
  machine: AnyStateMachine,
  audience: InspectionAudience = { isThere: false },
): AnyActorLogic {
  const steps = new QuickSteps(machine, audience);
  return {
    config: machine.config,
    getInitialSnapshot: (scope: Scope, input: SessionInput) =>
      audience.isThere ? machine.getInitialSnapshot(scope as never, input as never) : steps.begin(input),
    transition: (snapshot: AnyMachineSnapshot, event: SessionEvent, scope: Scope) =>
      steps.next(snapshot, event, scope) ?? machine.transition(snapshot, event, scope),
    start: (snapshot: AnyMachineSnapshot) => machine.start(snapshot as never),
    getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options: unknown) =>
      machine.getPersistedSnapshot(snapshot as never, options),
    restoreSnapshot: (snapshot: never, scope: Scope) => machine.restoreSnapshot(snapshot, scope as never),
  } as unknown as AnyActorLogic;
}

class QuickSteps {
  readonly #idle: AnyMachineSnapshot;
  readonly #running: AnyMachineSnapshot;
  readonly #awaitingTool: AnyMachineSnapshot;
  readonly #ended: AnyMachineSnapshot;
  readonly #actors: Readonly<Record<string, AnyActorLogic>>;

  readonly #audience: InspectionAudience;

  constructor(machine: AnyStateMachine, audience: InspectionAudience) {
    this.#audience = audience;
    const at = (value: string) => machine.resolveState({ value } as never) as unknown as AnyMachineSnapshot;
    this.#idle = at('idle');
    this.#running = at('running');
    this.#awaitingTool = at('awaitingTool');
    this.#ended = at('ended');
    this.#actors = machine.implementations.actors as Record<string, AnyActorLogic>;
  }

  begin(input: SessionInput): AnyMachineSnapshot {
    const { address, oneRun, behaviour, leads, plan } = input;
    const context: SessionContext = { questions: 0, behind: 'nothing', address, oneRun, behaviour, leads, plan };
    return { ...this.#idle, context, children: {} };
  }

  /** Undefined: a step for the machine itself. */
  next(snapshot: AnyMachineSnapshot, event: SessionEvent, scope: Scope): AnyMachineSnapshot | undefined {
    if (this.#audience.isThere) return undefined;
    const context = snapshot.context as SessionContext;
    // A leader's children live beside its turns, and questions beside anything.
    if (context.leads || context.questions > 0 || snapshot.status !== 'active') return undefined;
    const { children } = snapshot;
    switch (snapshot.value) {
      case 'idle':
        if (event.type === 'session.message') return this.#turn(context, scope);
        return undefined;
      case 'running':
        if (event.type === 'turn.ended') return this.#end(context, children, event, scope);
        if (event.type === 'turn.needsTools') {
          stop(scope, children.turn);
          const calls = this.#spawn(scope, 'calls', 'calls', { address: context.address });
          return { ...this.#awaitingTool, context, children: { calls } };
        }
        if (event.type !== 'turn.continued') return undefined;
        stop(scope, children.turn);
        return this.#turn(context, scope);
      case 'awaitingTool':
        if (event.type === 'turn.ended') return this.#end(context, children, event, scope);
        if (event.type !== 'calls.settled') return undefined;
        stop(scope, children.calls);
        return this.#turn(context, scope);
      default:
        return undefined;
    }
  }

  #turn(context: SessionContext, scope: Scope): AnyMachineSnapshot {
    const { address, plan, behaviour } = context;
    return {
      ...this.#running,
      context,
      children: { turn: this.#spawn(scope, 'turn', behaviour, { address, plan }) },
    };
  }

  #end(
    context: SessionContext,
    children: Children,
    { reason, endsSession }: SessionEvent & { type: 'turn.ended' },
    scope: Scope,
  ): AnyMachineSnapshot {
    for (const id in children) stop(scope, children[id]);
    if (!context.oneRun && !endsSession) return { ...this.#idle, context, children: {} };
    return { ...this.#ended, context, children, output: { reason } } as unknown as AnyMachineSnapshot;
  }

  /** As the machine does it: made in the step, started after it. */
  #spawn(scope: Scope, id: string, src: string, input: object): AnyActorRef {
    const logic = this.#actors[src] as AnyActorLogic;
    const child = createActor(logic, { id, src, parent: scope.self, syncSnapshot: false, input } as object);
    scope.defer(() => void child.start());
    return child;
  }
}

function stop(scope: Scope, child: AnyActorRef | undefined): void {
  if (child !== undefined) scope.defer(() => scope.stopChild(child));
}
