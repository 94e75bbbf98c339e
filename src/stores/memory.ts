import type {
  AgentEvent,
  Bag,
  SessionHandle,
  SessionMetadata,
  SessionProvider,
  SessionSummary,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

interface StoredSession {
  readonly id: string;
  readonly agentName: string;
  readonly metadata: SessionMetadata;
  readonly events: AgentEvent[];
  readonly ids: Set<string>;
  isSorted: boolean;
  lastUpdateTime: string;
}

/** Sessions for as long as the process lives. Appends are done at once; two handles of one session see the same log. */
export function memoryStore(): SessionProvider {
  const records = new Map<string, StoredSession>();
  let counter = 0;

  const find = (id: string): StoredSession => {
    const record = records.get(id);
    if (record === undefined) throw new TroupeError({ code: 'SESSION_NOT_FOUND', message: `no session "${id}"` });
    return record;
  };

  return {
    create(agentName, metadata = {}) {
      const id = metadata.id ?? `session-${++counter}`;
      if (records.has(id)) throw new TroupeError({ code: 'SESSION_EXISTS', message: `session "${id}" exists already` });
      const record: StoredSession = {
        id,
        agentName,
        metadata,
        events: [],
        ids: new Set(),
        isSorted: true,
        lastUpdateTime: new Date(0).toISOString(),
      };
      records.set(id, record);
      return handleOf(record);
    },
    load: (id) => handleOf(find(id)),
    list(agentName, scope = {}) {
      const all = [...records.values()].filter(
        ({ metadata, ...record }) =>
          (agentName === undefined || record.agentName === agentName) &&
          (scope.appName === undefined || metadata.appName === scope.appName) &&
          (scope.userId === undefined || metadata.userId === scope.userId),
      );
      return all.map(summaryOf).sort((a, b) => (a.lastUpdateTime < b.lastUpdateTime ? 1 : -1));
    },
    delete(id) {
      find(id);
      records.delete(id);
    },
  };
}

function summaryOf({ id, agentName, metadata, events, lastUpdateTime }: StoredSession): SessionSummary {
  const summary = { id, agentName, lastUpdateTime, eventCount: events.length };
  return metadata.title === undefined ? summary : { ...summary, title: metadata.title };
}

function handleOf(record: StoredSession): SessionHandle {
  const sorted = () => {
    // A whole message is appended after later events of other threads, at the place of its last increment.
    if (!record.isSorted) record.events.sort((a, b) => a.seq - b.seq);
    record.isSorted = true;
    return record.events;
  };
  return {
    id: record.id,
    agentName: record.agentName,
    get lastUpdateTime() {
      return record.lastUpdateTime;
    },
    get events() {
      return eventsOf(sorted);
    },
    get state() {
      return stateOf(sorted());
    },
    append(event) {
      if (record.ids.has(event.id)) return;
      record.ids.add(event.id);
      const last = record.events.at(-1);
      if (last !== undefined && last.seq > event.seq) record.isSorted = false;
      record.events.push(event);
      record.lastUpdateTime = event.timestamp;
    },
    snapshot: () => ({
      id: record.id,
      agentName: record.agentName,
      events: structuredClone(sorted()),
      state: stateOf(sorted()),
    }),
    close() {},
  };
}

async function* eventsOf(sorted: () => readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  let lastSeq = 0;
  for (;;) {
    const events = sorted();
    let from = events.length;
    while (from > 0 && (events[from - 1] as AgentEvent).seq > lastSeq) from--;
    if (from === events.length) return;
    for (const event of events.slice(from)) {
      lastSeq = event.seq;
      yield event;
    }
  }
}

/** State keys as the log's updates leave them. */
function stateOf(events: readonly AgentEvent[]): Bag {
  const state: Bag = {};
  for (const event of events) {
    if (event.type === 'session_update' && event.stateDelta !== undefined && event.threadId === undefined) {
      Object.assign(state, event.stateDelta);
    }
  }
  return state;
}
