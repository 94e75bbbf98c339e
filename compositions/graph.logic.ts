import type {
  ActorScope,
  AnyActorLogic,
  AnyActorScope,
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  Snapshot,
} from 'xstate';
import { asLogic } from '../machines/agent-logic.js';
import type { CrewInput } from '../src/kernel/crew.js';
import type { GraphPlan } from '../src/kernel/graph-plan.js';
import { planMachine } from './graph.machine.js';

type Scope = ActorScope<AnyMachineSnapshot, EventObject> & AnyActorScope;

/**
 * Every graph is a machine of its own, while a host knows its compositions by name: this is the logic by that name. It
 * begins with the machine of the plan that it is given and from then on is that machine.
 */
export const graphComposition = {
  provide(implementations: { actors: { crew: never } }): AnyActorLogic {
    // A plan is shared by all runs of its definition; wiring a machine costs as much as a hundred steps.
    const wired = new WeakMap<GraphPlan, AnyStateMachine>();
    const machineOf = ({ plan }: CrewInput): AnyStateMachine => {
      const graph = plan.graph as GraphPlan;
      const known = wired.get(graph) ?? planMachine(graph).provide(implementations);
      wired.set(graph, known);
      return known;
    };
    const logic: AnyActorLogic = {
      getInitialSnapshot: (scope: Scope, input: CrewInput) => machineOf(input).getInitialSnapshot(scope, input),
      start: (snapshot: AnyMachineSnapshot) => snapshot.machine.start(snapshot),
      transition: (snapshot: AnyMachineSnapshot, event: EventObject, scope: Scope) =>
        snapshot.machine.transition(snapshot, event, scope),
      getPersistedSnapshot: (snapshot: AnyMachineSnapshot, options?: unknown) =>
        snapshot.machine.getPersistedSnapshot(snapshot, options),
      restoreSnapshot: (persisted: Snapshot<unknown>, scope: Scope) =>
        machineOf((persisted as AnyMachineSnapshot).context as CrewInput).restoreSnapshot(persisted, scope),
    };
    return asLogic(logic);
  },
};
