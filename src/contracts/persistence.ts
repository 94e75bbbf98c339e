import type { AgentEvent } from './events.js';
import type { Bag, Open } from './open.js';

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
  forkedFrom?: ForkOrigin;
  /** In words, where its log is damaged: what of it cannot be read. */
  damage?: string;
}

/** Where a fork began: it holds the events of that session up to and with `at`. */
export interface ForkOrigin {
  id: string;
  at: number;
}

/** A part of a stored log that is no event. Reading goes on behind it. */
export interface LogGap {
  /** `damaged`: in the middle, what stood there is lost. `torn`: a last record that was cut off while being written. */
  kind: Open<'damaged' | 'torn'>;
  /** `seq` of the last event before it; 0 where there is none. */
  afterSeq: number;
  /** Lines of the log, from 1, and how many belong together. */
  line: number;
  lines: number;
  /** In words. */
  reason: string;
}

/** Where a log ends. */
export interface SessionHead {
  /** Highest `seq` of a stored event; 0 where there is none. */
  readonly lastSeq: number;
  /** Highest `seq` that may have been given out: what goes on with the session begins above it. Never below `lastSeq`. */
  readonly reservedSeq: number;
  readonly eventCount: number;
  readonly metadata: SessionMetadata;
  readonly forkedFrom?: ForkOrigin;
}

export interface SessionMetadata extends Bag {
  /** Given by the host; a store refuses an id that exists. */
  id?: string;
  appName?: string;
  userId?: string;
  title?: string;
}

/**
 * One session tree's log. To read takes no lock and is never refused. The first `append` (or `lock`, `reserve`,
 * `truncate`) makes the handle the session's one writer until `close`; it throws, or rejects, with `SESSION_LOCKED` while
 * another one writes (the message names it), `SESSION_STALE` where others wrote what this handle has not read,
 * `SESSION_DAMAGED` where the log has a damaged gap. A store of one's own may leave out what is optional.
 */
export interface SessionHandle {
  readonly id: string;
  readonly agentName: string;
  /** What is stored, in `seq` order, from the start to where the log ends when iteration gets there. */
  readonly events: AsyncIterable<AgentEvent>;
  readonly state: Bag;
  readonly lastUpdateTime: string;
  /** Resolves (or returns) once the event is durable. Appends are kept in call order; behind one that
   * failed every other fails, as a log has no holes. The same `id` twice is stored once. */
  append(event: AgentEvent): void | Promise<void>;
  snapshot(): SessionSnapshot | Promise<SessionSnapshot>;
  /** Lets go of the lock, once all that was appended is durable. Twice is once. */
  close(): void | Promise<void>;
  /** As of when the session was opened, and of what this handle has written since. No log is read for it. */
  readonly head?: SessionHead;
  /** What could not be read, in the order of the log; known once the session is open. */
  readonly gaps?: readonly LogGap[];
  /** Whether somebody writes the session now, this handle or another, here or in another process. */
  isWritten?(): boolean | Promise<boolean>;
  /** Becomes the writer without writing. */
  lock?(): void | Promise<void>;
  /** Every `seq` up to this one may be given out from now on: also those of events that are never stored. */
  reserve?(toSeq: number): void | Promise<void>;
  /**
   * Cuts off every event after `toSeq`; `state` is what the rest says, save for keys of the application and the user.
   * What was cut is kept in an archive, and its positions are not given out again (`head.reservedSeq`).
   */
  truncate?(toSeq: number): void | Promise<void>;
}

/** What a repair did. */
export interface RepairReport {
  /** What was taken out of the log, each kept beside it. */
  gaps: readonly LogGap[];
  lastSeq: number;
  eventCount: number;
}

/** State keys: `app:` shared by the application, `user:` by the user, `temp:` dropped before persistence, none: the session. */
export interface SessionProvider {
  create(agentName: string, metadata?: SessionMetadata): SessionHandle | Promise<SessionHandle>;
  /** Rejects with `SESSION_NOT_FOUND`. */
  load(id: string): SessionHandle | Promise<SessionHandle>;
  /** Newest first. Reads no log. */
  list(agentName?: string, scope?: { appName?: string; userId?: string }): SessionSummary[] | Promise<SessionSummary[]>;
  /** Its log and all that hangs on it. A session that somebody writes is refused with `SESSION_LOCKED`. */
  delete(id: string): void | Promise<void>;
  /**
   * A new session that holds the past of another up to and with `at` (default: all of it), its state as of then, and
   * shares nothing with it from there on. The source may be open, and does not change. Without an `id` one is made.
   */
  fork?(id: string, options?: SessionMetadata & { at?: number }): SessionHandle | Promise<SessionHandle>;
  /**
   * Takes what cannot be read out of a log, so that it can be written on. Calls and questions that lost their answers
   * stay open: to close them is the host's.
   */
  repair?(id: string): RepairReport | Promise<RepairReport>;
  /** Files of sessions. Removed with their session; what a rewind cuts off goes from its version on. */
  readonly artifacts?: ArtifactStore;
  readonly memory?: MemoryStore;
}

/** Versioned files of a session; versions count from 1 per name. A `uri` begins with `artifact:`. */
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
  /** Everything of the session; everything of that name; or its versions from that one on. */
  delete(sessionId: string, name?: string, fromVersion?: number): Promise<void>;
}

/** What is remembered about a user, across sessions. */
export interface MemoryStore {
  add(userId: string, entry: { text: string; _meta?: Bag }): Promise<void>;
  search(userId: string, query: string, limit?: number): Promise<{ text: string; score?: number; _meta?: Bag }[]>;
}
