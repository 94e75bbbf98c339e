import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent, Observer } from 'xstate';
import type { InspectionAudience } from '../../machines/session.logic.js';
import type {
  AgentDefinition,
  AgentEvent,
  AgentEventDraft,
  ElicitationAnswer,
  ElicitationRequest,
  LogGap,
  SessionUpdateData,
  SteerData,
} from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { applyUpdate, respondTo, steerTree } from './deliver.js';
import { stopByCaller } from './end-run.js';
import { assertSteer, assertUpdate } from './given-data.js';
import type { HostCore } from './host-core.js';
import { loggedEvents } from './replay.js';
import { type Thread, type Tree, threadKey } from './thread.js';
import type { Host } from './types.js';

/** One session that is open in a host. */
export interface OpenSession {
  readonly sessionId: string;
  readonly agentName: string;
  readonly isRunning: boolean;
  /** What waits for an answer, oldest first. */
  readonly questions: readonly OpenQuestion[];
  readonly lastSeq: number;
}

export interface OpenQuestion {
  readonly request: ElicitationRequest;
  /** Empty for the root. */
  readonly threadId: string;
  readonly agentName: string;
}

/** One step of an actor of a session: of the session's machine, or of the composition that carries its run. */
export interface ActorStep {
  readonly sessionId: string;
  /** Empty for the root. */
  readonly threadId: string;
  /** Id of the machine. */
  readonly machine: string;
  readonly value: unknown;
  readonly event: string;
  readonly at: string;
  /** How far the session's events had come. */
  readonly seq: number;
}

/** What somebody who looks at a host from outside may see and do. Nothing of it costs anything while nobody looks. */
export interface HostInspection {
  readonly host: Host;
  readonly name: string;
  agents(): readonly AgentDefinition[];
  open(): OpenSession[];
  /** Of an open session, or by the name of its agent. */
  definitionOf(sessionId: string, agentName: string): AgentDefinition | undefined;
  /** What of its stored log cannot be read, and where the log ends. Rejects with `SESSION_NOT_FOUND`. */
  lookUp(sessionId: string): Promise<{ agentName: string; gaps: readonly LogGap[]; lastSeq: number }>;
  /** What is logged after a position up to now, then it ends; a message that is under way as far as it has come. */
  logged(sessionId: string, after: number): AsyncIterable<AgentEvent>;
  /** The same, and then what happens. */
  log(sessionId: string, after: number): AsyncIterable<AgentEvent>;
  respond(sessionId: string, requestId: string, answer: ElicitationAnswer): void;
  steer(sessionId: string, data: SteerData, threadId: string | undefined): void;
  update(sessionId: string, data: SessionUpdateData): void;
  abort(sessionId: string, threadId: string | undefined, reason: string | undefined): void;
  /** Told after a session was opened, closed, begun, ended, or has asked or got an answer; returns what ends it. */
  onChange(listener: (sessionId: string) => void): () => void;
  onStep(listener: (step: ActorStep) => void): () => void;
  /** XState's inspection events of every actor, unchanged. While somebody listens the machines take every step themselves. */
  onInspection(listener: (event: InspectionEvent) => void): () => void;
  /** The actors that there are, of one session or of all: a parent before its children. */
  actors(sessionId?: string): AnyActorRef[];
}

/** The ear of those who look: kept in the core, asked once per event. */
export class Watch {
  readonly #listeners = new Set<(sessionId: string) => void>();

  /** Of an event before it goes out: whether it changes what stands where. */
  see(thread: Thread, { type }: AgentEventDraft): void {
    if (this.#listeners.size === 0) return;
    const isOfRun =
      thread.parent === undefined && (type === 'stream_end' || type === 'initialize' || type === 'message');
    if (isOfRun || type === 'elicitation_request' || type === 'elicitation_response') this.tell(thread.tree.sessionId);
  }

  tell(sessionId: string): void {
    for (const listener of this.#listeners) listener(sessionId);
  }

  add(listener: (sessionId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

export function createInspection(
  core: HostCore,
  host: Host,
  root: AnyActorRef,
  audience: InspectionAudience,
  name: string = core.appName,
): HostInspection {
  const wasThere = audience.isThere;
  const inspectors = new Set<unknown>();
  const openTree = (sessionId: string): Tree => {
    const tree = core.trees.get(sessionId);
    if (tree !== undefined) return tree;
    throw new TroupeError({ code: 'SESSION_NOT_FOUND', message: `session "${sessionId}" is not open in this host` });
  };
  const runningTree = (sessionId: string): Tree => {
    const tree = openTree(sessionId);
    if (tree.root.run !== undefined) return tree;
    throw new TroupeError({ code: 'SESSION_ENDED', message: `no run of session "${sessionId}" is under way` });
  };
  core.watch ??= new Watch();
  const { watch } = core;
  return {
    host,
    name,
    agents: () => [...core.agents.values()],
    open: () => [...core.trees.values()].map(openSession),
    definitionOf: (sessionId, agentName) =>
      core.trees.get(sessionId)?.root.agent.definition ?? core.agents.get(agentName),
    async lookUp(sessionId) {
      await core.closing.get(sessionId);
      const tree = core.trees.get(sessionId);
      if (tree !== undefined && tree.handle === undefined)
        return { agentName: tree.root.agent.definition.name, gaps: [], lastSeq: tree.merge.seq };
      const handle = await core.store.load(sessionId);
      try {
        const lastSeq = tree?.merge.seq ?? handle.head?.lastSeq ?? (await lastOf(handle.events));
        return { agentName: handle.agentName, gaps: handle.gaps ?? [], lastSeq };
      } finally {
        await handle.close();
      }
    },
    logged: (sessionId, after) => loggedNow(core, sessionId, after),
    log: (sessionId, after) => host.attach(sessionId, { after }),
    respond: (sessionId, requestId, answer) => respondTo(openTree(sessionId), requestId, answer),
    steer(sessionId, data, threadId) {
      assertSteer(data);
      steerTree(runningTree(sessionId), data, threadId);
    },
    update(sessionId, data) {
      assertUpdate(data);
      applyUpdate(openTree(sessionId), data);
    },
    abort(sessionId, threadId, reason) {
      const tree = runningTree(sessionId);
      const target = threadId === undefined ? tree.root : core.threads.get(threadKey(sessionId, threadId));
      if (target === undefined)
        throw new TroupeError({ code: 'UNKNOWN_THREAD', message: `no live thread "${threadId}"` });
      stopByCaller(target, reason);
    },
    onChange: (listener) => watch.add(listener),
    onStep(listener) {
      const subscription = root.system.inspect((event) => {
        if (event.type !== '@xstate.snapshot') return;
        const step = stepOf(event.actorRef as AnyActorRef, event.snapshot, event.event.type, core);
        if (step !== undefined) listener(step);
      });
      return () => subscription.unsubscribe();
    },
    onInspection(listener) {
      const subscription = root.system.inspect(listener);
      inspectors.add(listener);
      audience.isThere = true;
      return () => {
        subscription.unsubscribe();
        inspectors.delete(listener);
        audience.isThere = wasThere || inspectors.size > 0;
      };
    },
    actors(sessionId) {
      const found = new Set<AnyActorRef>();
      for (const thread of core.threads.values()) {
        if (sessionId === undefined || thread.tree.sessionId === sessionId) addActor(thread.actor, found);
      }
      return [...found];
    },
  };
}

/** The actor, those above it, and those that its machine holds. What a pool holds has an address of its own. */
function addActor(actor: AnyActorRef | undefined, found: Set<AnyActorRef>): void {
  if (actor === undefined || found.has(actor)) return;
  addActor(actor._parent, found);
  found.add(actor);
  const { children } = actor.getSnapshot() as { children?: Record<string, AnyActorRef | undefined> };
  for (const child of Object.values(children ?? {})) addActor(child, found);
}

/** An inspector that is left out once it has thrown: what only looks on breaks no run. `broken` hears why, once. */
export function unbreakable(
  inspect: ((event: InspectionEvent) => void) | Observer<InspectionEvent>,
  broken: (message: string) => void,
): (event: InspectionEvent) => void {
  let isBroken = false;
  return (event) => {
    if (isBroken) return;
    try {
      if (typeof inspect === 'function') inspect(event);
      else inspect.next?.(event);
    } catch (thrown) {
      isBroken = true;
      broken(describeError(thrown).message);
    }
  };
}

const openSession = ({ sessionId, root, questions, merge }: Tree): OpenSession => ({
  sessionId,
  agentName: root.agent.definition.name,
  isRunning: root.run !== undefined,
  questions: [...questions.values()].map(({ request, thread }) => ({
    request,
    threadId: thread.threadId ?? '',
    agentName: thread.agent.definition.name,
  })),
  lastSeq: merge.seq,
});

async function* loggedNow(core: HostCore, sessionId: string, after: number): AsyncGenerator<AgentEvent> {
  const tree = core.trees.get(sessionId);
  if (tree !== undefined) return yield* loggedEvents(tree, after);
  const handle = await core.store.load(sessionId);
  try {
    for await (const event of handle.events) if (event.seq > after) yield event;
  } finally {
    await handle.close();
  }
}

async function lastOf(events: AsyncIterable<AgentEvent>): Promise<number> {
  let last = 0;
  for await (const { seq } of events) last = seq;
  return last;
}

/** Pools and effects are no machines: they have nothing to show. Every graph has its own, by its name. */
function stepOf(actor: AnyActorRef, snapshot: unknown, event: string, core: HostCore): ActorStep | undefined {
  const { value, context, machine: own } = snapshot as Partial<AnyMachineSnapshot>;
  const config = (actor as unknown as { logic?: { config?: { id?: unknown } } }).logic?.config;
  const id: unknown = config?.id ?? own?.id;
  const address = (context as { address?: unknown } | undefined)?.address;
  if (typeof id !== 'string' || typeof address !== 'string' || value === undefined) return undefined;
  const thread = core.threads.get(address);
  // A machine that is put away, or that a question has left, is where it was.
  if (thread === undefined || event === 'xstate.stop' || event.startsWith('xstate.done.actor.question:'))
    return undefined;
  const at = new Date(core.clock.now()).toISOString();
  const { tree, threadId = '' } = thread;
  const machine = id === 'graph' ? thread.agent.definition.name : id;
  return { sessionId: tree.sessionId, threadId, machine, value, event, at, seq: tree.merge.seq };
}
