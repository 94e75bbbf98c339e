import type { AnyActorLogic } from 'xstate';
import { asLogic, createEffectLogic, type EffectInput } from '../../machines/agent-logic.js';
import { createChildPool } from '../../machines/child-pool.logic.js';
import { type ElicitationInput, elicitationMachine } from '../../machines/elicitation.machine.js';
import type { SessionEvent, StopOrder } from '../../machines/session.events.js';
import { type InspectionAudience, quickSession } from '../../machines/session.logic.js';
import { sessionMachine } from '../../machines/session.machine.js';
import type { CrewOrder } from '../kernel/crew.js';
import { beginCrew } from './crew.js';
import type { HostCore } from './host-core.js';
import { cancelQuestion } from './questions.js';
import type { Thread } from './thread.js';
import { beginCalls } from './tool-batch.js';
import { beginTurn } from './turn.js';

/** A composition's machine, as far as the host knows it: it names a `crew` and is wired once per host. */
export interface CompositionMachine {
  provide(implementations: { actors: { crew: never } }): AnyActorLogic;
}

/**
 * Ties the knot: the session's machine with every logic that it names, wired once per host. Compositions come in by
 * name, so that a sequence can hold a parallel that holds a sequence without any of them importing another. Where
 * somebody inspects from the start sessions run the machine itself.
 */
export function wireSession(
  host: HostCore,
  compositions: Readonly<Record<string, CompositionMachine>>,
  audience: InspectionAudience,
): AnyActorLogic {
  const threadAt = (address: string) => host.threads.get(address) as Thread;
  const crew = createChildPool<CrewOrder>((input, pool) => beginCrew(threadAt(input.address), pool));
  const wired = Object.entries(compositions).map(([pattern, machine]) => [
    pattern === 'hierarchical' ? 'delegation' : pattern,
    machine.provide({ actors: { crew: crew as never } }),
  ]);
  const deadline = createEffectLogic<{ type: 'none' }, { type: 'none' }, ElicitationInput>(
    ({ address, requestId, expiresAt }) => {
      const expire = () => {
        const question = host.threads.get(address)?.tree.questions.get(requestId);
        if (question !== undefined) cancelQuestion(question, 'it has expired');
      };
      const waitMs = (expiresAt ?? 0) - host.clock.now();
      if (waitMs > 0) return { order() {}, dispose: host.clock.schedule(expire, waitMs) };
      // At once, whoever moves the clock.
      const immediate = setImmediate(expire);
      return { order() {}, dispose: () => clearImmediate(immediate) };
    },
  );
  const wiredMachine = sessionMachine.provide({
    actors: {
      turn: asLogic(
        createEffectLogic<StopOrder, SessionEvent, EffectInput>((input, report) =>
          beginTurn(threadAt(input.address), report),
        ),
      ),
      calls: asLogic(createChildPool<StopOrder>((input, pool) => beginCalls(threadAt(input.address), pool))),
      question: elicitationMachine.provide({ actors: { deadline } }),
      ...Object.fromEntries(wired),
    },
  });
  return audience.isThere ? wiredMachine : quickSession(wiredMachine, audience);
}
