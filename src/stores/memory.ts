import type {
  AgentEvent,
  Bag,
  SessionHandle,
  SessionMetadata,
  SessionProvider,
  SessionSummary,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

/** Sessions for as long as the process lives. Appends are done at once; two handles of one session see the same log. */
export function memoryStore(): SessionProvider {
  const sessions = new Map<string, MemorySession>();
  const shared = new Map<string, Bag>();
  let counter = 0;

  const find = (id: string): MemorySession => {
    const session = sessions.get(id);
    if (session === undefined) throw new TroupeError({ code: 'SESSION_NOT_FOUND', message: `no session "${id}"` });
    return session;
  };

  /** What all sessions of an application, or of a user of it, have in common. */
  const bagOf = (...owner: (string | undefined)[]): Bag => {
    const key = JSON.stringify(owner);
    const bag = shared.get(key) ?? {};
    shared.set(key, bag);
    return bag;
  };

  return {
    create(agentName, metadata = {}) {
      const id = metadata.id ?? `session-${++counter}`;
      if (sessions.has(id))
        throw new TroupeError({ code: 'SESSION_EXISTS', message: `session "${id}" exists already` });
      const { appName, userId } = metadata;
      const session = new MemorySession(id, agentName, metadata, bagOf('app', appName), bagOf('user', appName, userId));
      sessions.set(id, session);
      return session;
    },
    load: find,
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
      find(id);
      sessions.delete(id);
    },
  };
}

function summaryOf({ id, agentName, metadata, eventCount, lastUpdateTime }: MemorySession): SessionSummary {
  const summary = { id, agentName, lastUpdateTime, eventCount };
  return metadata.title === undefined ? summary : { ...summary, title: metadata.title };
}

const NEVER = new Date(0).toISOString();

class MemorySession implements SessionHandle {
  /** In `seq` order. */
  readonly #events: AgentEvent[] = [];
  readonly #own: Bag = {};
  readonly #ofApp: Bag;
  readonly #ofUser: Bag;
  lastUpdateTime = NEVER;

  constructor(
    readonly id: string,
    readonly agentName: string,
    readonly metadata: SessionMetadata,
    ofApp: Bag,
    ofUser: Bag,
  ) {
    this.#ofApp = ofApp;
    this.#ofUser = ofUser;
  }

  get events(): AsyncIterable<AgentEvent> {
    return readEvents(this.#events);
  }

  get eventCount(): number {
    return this.#events.length;
  }

  get state(): Bag {
    return { ...this.#ofApp, ...this.#ofUser, ...this.#own };
  }

  append(event: AgentEvent): void {
    // A whole message comes after later events of other threads; its place is that of its last increment.
    let at = this.#events.length;
    while (at > 0 && (this.#events[at - 1] as AgentEvent).seq > event.seq) at--;
    if (at > 0 && (this.#events[at - 1] as AgentEvent).id === event.id) return;
    if (at === this.#events.length) this.#events.push(event);
    else this.#events.splice(at, 0, event);
    this.lastUpdateTime = event.timestamp;
    if (event.type === 'session_update' && event.threadId === undefined) this.#keepState(event.stateDelta ?? {});
  }

  #keepState(delta: Bag): void {
    for (const [key, value] of Object.entries(delta)) {
      if (key.startsWith('app:')) this.#ofApp[key] = value;
      else if (key.startsWith('user:')) this.#ofUser[key] = value;
      else if (!key.startsWith('temp:')) this.#own[key] = value;
    }
  }

  snapshot() {
    const { id, agentName, state } = this;
    return { id, agentName, events: structuredClone(this.#events), state: structuredClone(state) };
  }

  close(): void {}
}

async function* readEvents(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  let lastSeq = 0;
  for (;;) {
    let from = events.length;
    while (from > 0 && (events[from - 1] as AgentEvent).seq > lastSeq) from--;
    if (from === events.length) return;
    for (const event of events.slice(from)) {
      lastSeq = event.seq;
      yield event;
    }
  }
}
