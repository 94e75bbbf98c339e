import type {
  AgentEvent,
  Bag,
  ForkOrigin,
  RepairReport,
  SessionHandle,
  SessionHead,
  SessionMetadata,
  SessionProvider,
  SessionSummary,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { assertPosition } from '../kernel/position.js';
import { assertSessionId } from '../kernel/session-id.js';
import { TurnoverMap } from '../kernel/turnover-map.js';
import { memoryArtifacts } from './memory/artifacts.js';
import { createMemoryLog, type MemoryLog } from './memory/log.js';
import { memoryMemories } from './memory/memories.js';

/** What all sessions of an application, or of a user of it, have in common. */
interface SharedState {
  readonly ofApp: Bag;
  readonly byUser: Map<string | undefined, Bag>;
}

type ForkOptions = SessionMetadata & { at?: number };

/** Sessions for as long as the process lives. Everything is done at once; all handles of a session see the same log. */
export function memoryStore(): SessionProvider & Required<Pick<SessionProvider, 'fork' | 'repair'>> {
  const sessions = new TurnoverMap<string, MemorySession>();
  const shared = new Map<string | undefined, SharedState>();
  let counter = 0;

  const find = (id: string): MemorySession => {
    assertSessionId(id);
    const session = sessions.get(id);
    if (session === undefined) throw notFound(id);
    return session;
  };

  const sharedBy = (appName: string | undefined, userId: string | undefined): { ofApp: Bag; ofUser: Bag } => {
    const app = shared.get(appName) ?? { ofApp: {}, byUser: new Map() };
    shared.set(appName, app);
    const ofUser = app.byUser.get(userId) ?? {};
    app.byUser.set(userId, ofUser);
    return { ofApp: app.ofApp, ofUser };
  };

  const make = (agentName: string, metadata: SessionMetadata, log: MemoryLog, forkedFrom?: ForkOrigin) => {
    const id = metadata.id ?? `session-${++counter}`;
    assertSessionId(id);
    if (sessions.has(id)) throw new TroupeError({ code: 'SESSION_EXISTS', message: `session "${id}" exists already` });
    const { ofApp, ofUser } = sharedBy(metadata.appName, metadata.userId);
    const session: MemorySession = {
      id,
      agentName,
      metadata,
      log,
      ofApp,
      ofUser,
      forkedFrom,
      writer: undefined,
      writes: 0,
      isDeleted: false,
    };
    sessions.set(id, session);
    return new MemoryHandle(session);
  };

  const artifacts = memoryArtifacts();
  return {
    artifacts,
    memory: memoryMemories(),
    create: (agentName, metadata = {}) => make(agentName, metadata, createMemoryLog()),
    load: (id) => new MemoryHandle(find(id)),
    list(agentName, scope = {}) {
      const all = [...sessions.values()].filter(
        ({ metadata, agentName: of }) =>
          (agentName === undefined || of === agentName) &&
          (scope.appName === undefined || metadata.appName === scope.appName) &&
          (scope.userId === undefined || metadata.userId === scope.userId),
      );
      return all.map(summaryOf).sort((a, b) => (a.lastUpdateTime < b.lastUpdateTime ? 1 : -1));
    },
    delete(id) {
      const session = find(id);
      if (session.writer !== undefined) throw isLocked(session);
      session.isDeleted = true;
      sessions.delete(id);
      return artifacts.delete(id);
    },
    fork(id, { at = Number.POSITIVE_INFINITY, ...given }: ForkOptions = {}) {
      const { agentName, metadata, log } = find(id);
      const past = log.fork(at);
      const { id: _, ...inherited } = metadata;
      return make(agentName, { ...inherited, ...given }, past, { id, at: past.lastSeq });
    },
    repair(id): RepairReport {
      const { log } = find(id);
      return { gaps: [], lastSeq: log.lastSeq, eventCount: log.count };
    },
  };
}

interface MemorySession {
  readonly id: string;
  readonly agentName: string;
  readonly metadata: SessionMetadata;
  readonly log: MemoryLog;
  readonly ofApp: Bag;
  readonly ofUser: Bag;
  readonly forkedFrom: ForkOrigin | undefined;
  writer: MemoryHandle | undefined;
  /** Grows with each change of the log: a handle that has seen another count is stale. */
  writes: number;
  isDeleted: boolean;
}

const notFound = (id: string) => new TroupeError({ code: 'SESSION_NOT_FOUND', message: `no session "${id}"` });

function summaryOf({ id, agentName, metadata, log, forkedFrom }: MemorySession): SessionSummary {
  const summary: SessionSummary = { id, agentName, lastUpdateTime: log.lastUpdateTime, eventCount: log.count };
  if (metadata.title !== undefined) summary.title = metadata.title;
  if (forkedFrom !== undefined) summary.forkedFrom = forkedFrom;
  return summary;
}

const isLocked = ({ id }: MemorySession) =>
  new TroupeError({
    code: 'SESSION_LOCKED',
    message: `session "${id}" is being written by another handle of this process (${process.pid}); close that one first`,
    retryable: true,
  });

class MemoryHandle implements SessionHandle {
  readonly #session: MemorySession;
  #seen: number;

  constructor(session: MemorySession) {
    this.#session = session;
    this.#seen = session.writes;
  }

  get id(): string {
    return this.#session.id;
  }

  get agentName(): string {
    return this.#session.agentName;
  }

  get events(): AsyncIterable<AgentEvent> {
    return this.#read();
  }

  get lastUpdateTime(): string {
    return this.#session.log.lastUpdateTime;
  }

  get state(): Bag {
    const { ofApp, ofUser, log } = this.#session;
    return { ...ofApp, ...ofUser, ...log.state };
  }

  get head(): SessionHead {
    const { log, metadata, forkedFrom } = this.#session;
    const { lastSeq, reservedSeq, count: eventCount } = log;
    const head = { lastSeq, reservedSeq, eventCount, metadata };
    return forkedFrom === undefined ? head : { ...head, forkedFrom };
  }

  get gaps(): [] {
    return [];
  }

  isWritten(): boolean {
    return this.#session.writer !== undefined;
  }

  lock(): void {
    const session = this.#session;
    if (session.writer === this) return;
    if (session.isDeleted) throw notFound(session.id);
    if (session.writer !== undefined) throw isLocked(session);
    if (session.writes !== this.#seen) {
      throw new TroupeError({
        code: 'SESSION_STALE',
        message: `session "${session.id}" was written by another handle since this one read it; load it again`,
      });
    }
    session.writer = this;
  }

  append(event: AgentEvent): void {
    assertPosition(event);
    const session = this.#session;
    if (session.writer !== this) this.lock();
    if (!session.log.append(event)) return;
    this.#seen = ++session.writes;
    if (event.type === 'session_update' && event.threadId === undefined && event.stateDelta !== undefined) {
      this.#share(event.stateDelta);
    }
  }

  #share(delta: Bag): void {
    const { ofApp, ofUser } = this.#session;
    for (const [key, value] of Object.entries(delta)) {
      if (key.startsWith('app:')) ofApp[key] = value;
      else if (key.startsWith('user:')) ofUser[key] = value;
    }
  }

  reserve(toSeq: number): void {
    this.lock();
    this.#session.log.reserve(toSeq);
  }

  truncate(toSeq: number): void {
    this.lock();
    this.#session.log.truncate(toSeq);
    this.#seen = ++this.#session.writes;
  }

  snapshot() {
    const { id, agentName, log } = this.#session;
    this.#seen = this.#session.writes;
    return { id, agentName, events: structuredClone(log.all()), state: structuredClone(this.state) };
  }

  /** By hand: an async generator around the log's own takes its time for each event. */
  #read(): AsyncIterableIterator<AgentEvent> {
    const session = this.#session;
    const reading = session.log.read();
    const iterator: AsyncIterableIterator<AgentEvent> = {
      next: async () => {
        const step = reading.next();
        // All that was written up to here has been seen.
        if (step.done) this.#seen = session.writes;
        return step;
      },
      return: async () => reading.return(undefined),
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  close(): void {
    if (this.#session.writer === this) this.#session.writer = undefined;
  }
}
