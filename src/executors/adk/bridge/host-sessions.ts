import { createHash, randomUUID } from 'node:crypto';
import type { Bag, SessionHandle, SessionProvider } from '../../../contracts/index.js';
import { TroupeError } from '../../../kernel/errors.js';
import {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  createSession,
  type Event,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type Session,
} from './sdk.js';
import { toLogEvents, toSessionEvent } from './session-log.js';

export interface HostSessionServiceOptions {
  /** A store of the host: what `createHost({ store })` takes. */
  store: SessionProvider;
}

type Key = { appName: string; userId: string; sessionId: string };

/**
 * ADK's sessions in a store of ours. Each event is kept whole, and stands in the log as what it is: messages, calls,
 * answers, changes of state; so whatever reads our logs reads these. Credentials are left out of what is stored, `temp:`
 * keys too. One process writes a session at a time, as the store has it; `close` lets go of all.
 */
export class HostSessionService extends BaseSessionService {
  readonly #store: SessionProvider;
  readonly #open = new Map<string, Promise<Entry>>();

  constructor({ store }: HostSessionServiceOptions) {
    super();
    this.#store = store;
  }

  override async createSession({ appName, userId, sessionId, state = {} }: CreateSessionRequest): Promise<Session> {
    const key = { appName, userId, sessionId: sessionId?.trim() || randomUUID() };
    if ((await this.#find(key)) !== undefined) {
      throw new TroupeError({ code: 'SESSION_EXISTS', message: `session "${key.sessionId}" exists already` });
    }
    const id = await this.#freeId(key);
    const handle = await this.#store.create(appName, { id, appName, userId, adkSessionId: key.sessionId });
    const entry: Entry = { handle, seq: 0, writing: Promise.resolve() };
    this.#open.set(id, Promise.resolve(entry));
    const kept = persistent(state);
    if (Object.keys(kept).length > 0) {
      await write(entry, [{ type: 'session_update', stateDelta: kept, source: 'host' }]);
    }
    return createSession({
      ...idsOf(key),
      state: { ...handle.state, ...kept },
      events: [],
      lastUpdateTime: Date.now(),
    });
  }

  override async getSession({ config, ...key }: GetSessionRequest): Promise<Session | undefined> {
    const entry = await this.#find(key);
    if (entry === undefined) return undefined;
    let events: Event[] = [];
    // What stands there twice was replaced: the later one counts, in the place of the first.
    const places = new Map<string, number>();
    await entry.writing;
    for await (const logged of entry.handle.events) {
      const event = toSessionEvent(logged);
      if (event === undefined) continue;
      const place = places.get(event.id);
      if (place !== undefined) events[place] = event;
      else places.set(event.id, events.push(event) - 1);
    }
    const { numRecentEvents, afterTimestamp } = config ?? {};
    if (afterTimestamp !== undefined) events = events.filter(({ timestamp }) => timestamp >= afterTimestamp);
    if (numRecentEvents) events = events.slice(-numRecentEvents);
    const lastUpdateTime = Date.parse(entry.handle.lastUpdateTime) || Date.now();
    return createSession({ ...idsOf(key), state: { ...entry.handle.state }, events, lastUpdateTime });
  }

  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, limit, order } = request;
    const scope = userId === undefined ? { appName } : { appName, userId };
    const found = [...(await this.#store.list(undefined, scope))];
    if (order === 'asc') found.reverse();
    const offset = request.page !== undefined && limit ? (request.page - 1) * limit : (request.offset ?? 0);
    const wanted = found.slice(offset, limit === undefined ? undefined : offset + limit);
    const sessions: Session[] = [];
    for (const { id, lastUpdateTime } of wanted) {
      const owner = await this.#ownerOf(id);
      sessions.push(
        createSession({
          ...idsOf({ appName, userId: owner?.userId ?? userId ?? '', sessionId: owner?.sessionId ?? id }),
          state: {},
          events: [],
          lastUpdateTime: Date.parse(lastUpdateTime) || 0,
        }),
      );
    }
    const size = limit ?? found.length;
    return {
      sessions,
      page: size > 0 ? Math.floor(offset / size) + 1 : 1,
      limit: size,
      totalItems: found.length,
      totalPages: size > 0 ? Math.ceil(found.length / size) : 0,
    };
  }

  override async deleteSession(key: Key): Promise<void> {
    const entry = await this.#find(key);
    if (entry === undefined) return;
    const { id } = entry.handle;
    this.#open.delete(id);
    await entry.writing;
    await entry.handle.close();
    await this.#store.delete(id);
  }

  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const entry = await this.#find({ appName: session.appName, userId: session.userId, sessionId: session.id });
    if (entry === undefined) {
      throw new TroupeError({ code: 'SESSION_NOT_FOUND', message: `no session "${session.id}"` });
    }
    const appended = await super.appendEvent({ session, event });
    await write(entry, toLogEvents(appended));
    session.lastUpdateTime = event.timestamp;
    return appended;
  }

  /** Lets go of every session. */
  async close(): Promise<void> {
    const entries = await Promise.all(this.#open.values());
    this.#open.clear();
    for (const { handle, writing } of entries) {
      await writing;
      await handle.close();
    }
  }

  /** ADK's ids are unique below an application and a user, the store's everywhere: who comes second gets a longer one. */
  async #find(key: Key): Promise<Entry | undefined> {
    for (const id of [key.sessionId, longId(key)]) {
      const entry = await this.#entry(id);
      if (entry === undefined) continue;
      const owner = await this.#ownerOf(id, entry);
      if (owner?.appName === key.appName && owner.userId === key.userId) return entry;
    }
    return undefined;
  }

  async #freeId(key: Key): Promise<string> {
    return (await this.#entry(key.sessionId)) === undefined ? key.sessionId : longId(key);
  }

  async #entry(id: string): Promise<Entry | undefined> {
    let opening = this.#open.get(id);
    if (opening === undefined) {
      opening = this.#load(id);
      this.#open.set(id, opening);
      opening.catch(() => this.#open.delete(id));
    }
    try {
      return await opening;
    } catch (thrown) {
      const { code } = thrown as { code?: string };
      if (code === 'SESSION_NOT_FOUND' || code === 'INVALID_SESSION_ID') return undefined;
      throw thrown;
    }
  }

  async #load(id: string): Promise<Entry> {
    const handle = await this.#store.load(id);
    let seq = handle.head?.reservedSeq ?? 0;
    if (handle.head === undefined) for await (const event of handle.events) seq = Math.max(seq, event.seq);
    return { handle, seq, writing: Promise.resolve() };
  }

  async #ownerOf(id: string, entry?: Entry): Promise<Key | undefined> {
    const metadata = (entry ?? (await this.#entry(id)))?.handle.head?.metadata;
    if (metadata === undefined) return undefined;
    const { appName = '', userId = 'local', adkSessionId = id } = metadata;
    return { appName, userId, sessionId: String(adkSessionId) };
  }
}

interface Entry {
  readonly handle: SessionHandle;
  /** The last that was given out. */
  seq: number;
  /** Events are written one behind another. */
  writing: Promise<void>;
}

const idsOf = ({ sessionId, appName, userId }: Key) => ({ id: sessionId, appName, userId });

const longId = ({ appName, userId, sessionId }: Key): string => {
  const mark = createHash('sha256').update(`${appName}\n${userId}`).digest('hex').slice(0, 12);
  return `${sessionId.slice(0, 100)}.${mark}`;
};

const persistent = (state: Bag): Bag =>
  Object.fromEntries(Object.entries(state).filter(([key]) => !key.startsWith('temp:')));

type LogDraft = ReturnType<typeof toLogEvents>[number];

async function write(entry: Entry, drafts: readonly LogDraft[]): Promise<void> {
  const before = entry.writing;
  const written = (async () => {
    await before.catch(() => {});
    for (const draft of drafts) {
      const seq = ++entry.seq;
      const stamped = { id: `adk-${entry.handle.id}-${seq}`, timestamp: new Date().toISOString(), ...draft, seq };
      await entry.handle.append(stamped as never);
    }
  })();
  // Who waits for the queue is not told of another's failure.
  entry.writing = written.catch(() => {});
  await written;
}
