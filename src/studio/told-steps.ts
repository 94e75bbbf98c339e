import type { AnyStateMachine, EventObject } from 'xstate';
import { elicitationMachine } from '../../machines/elicitation.machine.js';
import { sessionMachine } from '../../machines/session.machine.js';
import type { AgentDefinition, AgentEvent, Bag } from '../contracts/index.js';
import { planOf } from '../host/compile-agent.js';
import type { CrewPlan } from '../kernel/crew.js';
import { lastSegment, parentThreadId } from '../kernel/thread-id.js';
import { MachineWalk } from './machine-walk.js';
import { shownEvent } from './shown-event.js';
import { machinesOf } from './team-machines.js';
import type { MachineStep, ToldSteps } from './wire.js';

const MOST = 2_000;
/** These are stopped from above: the machines are told first, and end what runs. */
const STOPPED: ReadonlySet<string> = new Set(['aborted', 'max_time']);

/**
 * The steps that the machines of a thread took, as far as its log tells: the machines themselves take them again, from
 * the events that led to them. `team`: the definition of the root; without it only the session's own machine is told of.
 */
export async function toldSteps(
  events: AsyncIterable<AgentEvent>,
  threadId: string,
  team: AgentDefinition | undefined,
): Promise<ToldSteps> {
  const own: AgentEvent[] = [];
  for await (const logged of events) {
    const event = shownEvent(logged);
    if (isOf(event, threadId)) own.push(event);
  }
  const place = team === undefined ? undefined : placeOf(team, threadId);
  const told = new Teller(threadId, own, place, await machineOf(place?.definition));
  for (const event of own) told.take(event);
  return { steps: told.steps.slice(-MOST), left: Math.max(0, told.steps.length - MOST) };
}

/** Its own, and how its children begin and end. */
function isOf({ type, threadId }: AgentEvent, wanted: string): boolean {
  if ((threadId ?? '') === wanted) return true;
  const isOfChild = type === 'agent_started' || type === 'agent_completed' || type === 'stream_end';
  return isOfChild && threadId !== undefined && (parentThreadId(threadId) ?? '') === wanted;
}

interface Place {
  readonly definition: AgentDefinition;
  readonly plan: CrewPlan;
}

/** The definition that a thread runs, by the names in its id. */
function placeOf(team: AgentDefinition, threadId: string): Place | undefined {
  let definition = team;
  let inLoop = false;
  for (const segment of threadId === '' ? [] : threadId.split('.')) {
    inLoop ||= definition.descriptor.composition?.pattern === 'loop';
    const name = lastSegment(segment)?.agentName;
    const child = definition.children?.find((one) => one.name === name);
    if (child === undefined) return undefined;
    definition = child;
  }
  return { definition, plan: planOf(definition, inLoop) };
}

async function machineOf(definition: AgentDefinition | undefined): Promise<AnyStateMachine | undefined> {
  const pattern = definition?.descriptor.composition?.pattern;
  if (definition === undefined || pattern === undefined) return undefined;
  const found = await machinesOf(definition, pattern === 'graph' ? definition.name : pattern);
  // Walked alone it has nobody to report to.
  return 'machines' in found ? found.machines[0]?.provide({ actions: { reportEnd: () => {} } }) : undefined;
}

class Teller {
  readonly steps: MachineStep[] = [];
  #session: MachineWalk | undefined;
  #team: MachineWalk | undefined;
  #now: { readonly seq: number; readonly at: string } = { seq: 0, at: '' };
  /** The batch of calls under way, and the last one as long as nothing has come of it. */
  #batch: { readonly messageId: string; readonly calls: number; answered: number; wasCut: boolean } | undefined;
  #settledAt: { readonly seq: number; readonly at: string } | undefined;
  /** By their ids: the calls of a leader, as long as they have not begun. */
  readonly #called = new Map<string, string>();
  /** The message that the model has said in the turn under way. */
  #spoken: string | undefined;
  #transfers = 0;
  readonly #questions = new Map<string, MachineWalk>();
  readonly #ends = new Map<string, AgentEvent<'stream_end'>>();
  /** Children that were started again: their end was not the end of it. */
  readonly #restarted: ReadonlySet<unknown>;
  /** Where each run was told to stop from above, by the position of its end. */
  readonly #stops: ReadonlySet<number>;

  constructor(
    private readonly threadId: string,
    events: readonly AgentEvent[],
    private readonly place: Place | undefined,
    private readonly machine: AnyStateMachine | undefined,
  ) {
    this.#restarted = new Set(
      events.flatMap(({ type, _meta }) => (type === 'agent_started' ? [_meta?.restartOf] : [])),
    );
    this.#stops = stopsIn(events, threadId);
  }

  take(event: AgentEvent): void {
    if ((event.threadId ?? '') === this.threadId && event.type !== 'stream_end') this.#settle();
    this.#now = { seq: event.seq, at: event.timestamp };
    if (this.#stops.has(event.seq)) {
      this.#session?.send({ type: 'session.abort' });
      this.#team?.send({ type: 'run.stop' });
    }
    if ((event.threadId ?? '') !== this.threadId) return this.#ofChild(event);
    switch (event.type) {
      case 'message':
        return this.#message(event);
      case 'tool_request':
        return this.#request(event);
      case 'tool_response':
        return this.#respond(event);
      case 'elicitation_request':
        return this.#ask(event.requestId);
      case 'elicitation_response':
        return this.#answer(event.requestId, event.action !== 'cancel');
      case 'custom':
        if (event.kind === 'decision') this.#decided((event.data ?? {}) as Bag);
        else if (event.kind === 'tool_started') this.#began((event.data ?? {}) as Bag);
        return;
      case 'stream_end':
        return this.#end(event);
      default:
    }
  }

  readonly #note = (machine: string, value: unknown, event: string): void => {
    this.steps.push({ threadId: this.threadId, machine, value, event, ...this.#now });
  };

  #walk(machine: AnyStateMachine, input: object): MachineWalk {
    return new MachineWalk(machine, { address: this.threadId, ...input }, this.#note);
  }

  #message({ role, messageId, _meta }: AgentEvent<'message'>): void {
    if (role === 'agent') return this.#speak(messageId);
    if (_meta?.steered === true) return;
    if (this.#session === undefined || this.#session.isOver)
      this.#session = this.#walk(sessionMachine, { oneRun: true, behaviour: 'turn', leads: false, plan: null });
    if (this.#session.value !== 'idle') return;
    this.#batch = undefined;
    this.#spoken = undefined;
    this.#called.clear();
    this.#transfers = 0;
    this.#session.send({ type: 'session.message' });
    if (this.machine !== undefined) this.#team = this.#walk(this.machine, { plan: this.place?.plan });
  }

  /** A second message of the model, with no calls between them, is another turn. */
  #speak(messageId: string): void {
    if (this.#spoken !== undefined && this.#spoken !== messageId) this.#session?.send({ type: 'turn.continued' });
    this.#spoken = messageId;
  }

  #request({ requestId, name, messageId, parentRequestId, _meta }: AgentEvent<'tool_request'>): void {
    // Calls of calls are no part of a turn.
    if (parentRequestId !== undefined) return;
    if (this.#indexOf(name) >= 0) this.#called.set(requestId, name);
    if (this.#batch?.messageId === messageId) return;
    this.#speak(messageId);
    const calls = typeof _meta?.calls === 'number' ? _meta.calls : 1;
    this.#batch = { messageId, calls, answered: 0, wasCut: false };
    this.#session?.send({ type: 'turn.needsTools' });
  }

  #respond({ errorType }: AgentEvent<'tool_response'>): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    batch.wasCut ||= errorType === 'aborted';
    if (++batch.answered >= batch.calls) this.#settledAt = this.#now;
  }

  /** Goes on behind a batch, once something shows that it did. */
  #settle(): void {
    if (this.#settledAt === undefined) return;
    const now = this.#now;
    this.#now = this.#settledAt;
    this.#settledAt = undefined;
    this.#batch = undefined;
    this.#spoken = undefined;
    this.#session?.send({ type: 'calls.settled' });
    this.#now = now;
  }

  /** A leader's call of a child. */
  #began({ requestId, attempt }: Bag): void {
    const name = this.#called.get(String(requestId));
    this.#called.delete(String(requestId));
    if (name !== undefined && attempt === 1)
      this.#team?.send({ type: 'delegate', index: this.#indexOf(name), requestId } as EventObject);
  }

  #ask(requestId: string): void {
    this.#questions.set(requestId, this.#walk(elicitationMachine, { requestId, expiresAt: null }));
    this.#session?.send({ type: 'question.asked', requestId, expiresAt: null } as EventObject);
  }

  #answer(requestId: string, answered: boolean): void {
    this.#questions.get(requestId)?.send({ type: answered ? 'elicitation.answered' : 'elicitation.cancelled' });
    this.#questions.delete(requestId);
    this.#session?.send({ type: 'question.settled', requestId, answered } as EventObject);
  }

  #decided({ decision, stop, node, taken }: Bag): void {
    const { graph } = this.place?.plan ?? {};
    if (decision === 'until') this.#team?.send({ type: 'crew.decided', stop: stop === true } as EventObject);
    if (decision !== 'edges' || !graph || !Array.isArray(taken)) return;
    const index = graph.nodes.indexOf(String(node));
    const edges = graph.edges.flatMap(({ from, to }, at) =>
      from === index && taken.includes(graph.nodes[to]) ? [at] : [],
    );
    this.#team?.send({ type: 'crew.decidedEdges', index, taken: edges, failed: false } as EventObject);
  }

  #ofChild(event: AgentEvent): void {
    const { threadId = '' } = event;
    if (event.type === 'stream_end') this.#ends.set(threadId, event);
    const leads = this.place?.definition.leader !== undefined;
    if (event.type !== 'agent_completed' || this.#restarted.has(threadId)) return;
    // Whoever stops them all hears of it when the last has ended.
    if (!leads && this.#team?.value === 'stopping') return;
    this.#team?.send(this.#settled(event, threadId));
  }

  #settled({ agentName, reason }: AgentEvent<'agent_completed'>, threadId: string): EventObject {
    const { handoffTarget, escalateReason } = this.#ends.get(threadId)?.data ?? {};
    const ok = reason === 'completed';
    const { composition } = this.place?.definition.descriptor ?? {};
    const isHandedOn =
      ok &&
      handoffTarget !== undefined &&
      composition?.transferTargets?.[agentName]?.includes(handoffTarget) === true &&
      this.#transfers < (this.place?.plan.maxTransfers ?? 0);
    if (isHandedOn) this.#transfers++;
    return {
      type: 'child.settled',
      index: this.#indexOf(agentName),
      ok,
      escalated: this.place?.plan.inLoop === true && escalateReason !== undefined,
      handoff: isHandedOn ? this.#indexOf(handoffTarget) : -1,
    } as EventObject;
  }

  #indexOf(agentName: string): number {
    return this.place?.definition.children?.findIndex(({ name }) => name === agentName) ?? -1;
  }

  #end({ reason }: AgentEvent<'stream_end'>): void {
    // Calls may be the end of a run: one that hands over, say, or those that were cut off.
    if (reason !== 'completed' && this.#batch?.wasCut !== true) this.#settle();
    this.#settledAt = undefined;
    this.#questions.clear();
    this.#team?.send({ type: 'crew.stopped' });
    this.#team?.send({ type: 'crew.concluded', reason, endsSession: true } as EventObject);
    this.#team = undefined;
    this.#session?.send({ type: 'turn.ended', reason, endsSession: true } as EventObject);
  }
}

/**
 * Where the runs of a thread were told to stop, in the order of their ends: at the first sign of it, a child that was
 * stopped too and after which none was started, else at the end itself.
 */
function stopsIn(events: readonly AgentEvent[], threadId: string): ReadonlySet<number> {
  const stops = new Set<number>();
  let first: number | undefined;
  for (const event of events) {
    const isOwn = (event.threadId ?? '') === threadId;
    if (event.type === 'agent_started' || (isOwn && event.type === 'message')) first = undefined;
    if (event.type !== 'stream_end') continue;
    if (!isOwn && event.reason === 'aborted') first ??= event.seq;
    if (isOwn && STOPPED.has(event.reason)) stops.add(first ?? event.seq);
    if (isOwn) first = undefined;
  }
  return stops;
}
