import type { AgentEvent } from './events.js';
import type { Bag } from './open.js';

export interface SessionSnapshot {
  id: string;
  agentName: string;
  /** In `seq` order. */
  events: AgentEvent[];
  state: Bag;
}

export interface SessionSummary {
  id: string;
  agentName: string;
  title?: string;
  /** ISO 8601. */
  lastUpdateTime: string;
  eventCount: number;
}

export interface SessionMetadata extends Bag {
  /** Given by the host; a store refuses an id that exists. */
  id?: string;
  appName?: string;
  userId?: string;
  title?: string;
}

/** One session tree's log. */
export interface SessionHandle {
  readonly id: string;
  readonly agentName: string;
  /** What is stored, in `seq` order, from the start to where the log ends when iteration gets there. */
  readonly events: AsyncIterable<AgentEvent>;
  readonly state: Bag;
  readonly lastUpdateTime: string;
  /** Resolves (or returns) once the event is durable. Appends are kept in call order. The same `id` twice is stored once. */
  append(event: AgentEvent): void | Promise<void>;
  snapshot(): SessionSnapshot | Promise<SessionSnapshot>;
  close(): void | Promise<void>;
}

/** State keys: `app:` shared by the application, `user:` by the user, `temp:` dropped before persistence, none: the session. */
export interface SessionProvider {
  create(agentName: string, metadata?: SessionMetadata): SessionHandle | Promise<SessionHandle>;
  /** Rejects with `SESSION_NOT_FOUND`. */
  load(id: string): SessionHandle | Promise<SessionHandle>;
  /** Newest first. Reads no log. */
  list(agentName?: string, scope?: { appName?: string; userId?: string }): SessionSummary[] | Promise<SessionSummary[]>;
  delete(id: string): void | Promise<void>;
}

/** Versioned files of a session. */
export interface ArtifactStore {
  save(
    sessionId: string,
    name: string,
    data: Uint8Array | string,
    mimeType?: string,
  ): Promise<{ version: number; uri: string }>;
  load(
    sessionId: string,
    name: string,
    version?: number,
  ): Promise<{ data: Uint8Array; mimeType?: string; version: number } | undefined>;
  list(sessionId: string): Promise<{ name: string; versions: number[] }[]>;
  delete(sessionId: string, name?: string): Promise<void>;
}

/** What is remembered about a user, across sessions. */
export interface MemoryStore {
  add(userId: string, entry: { text: string; _meta?: Bag }): Promise<void>;
  search(userId: string, query: string, limit?: number): Promise<{ text: string; score?: number; _meta?: Bag }[]>;
}
