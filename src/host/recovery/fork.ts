import type { AgentEvent, SessionHandle } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { assertSessionId } from '../../kernel/session-id.js';
import type { HostCore } from '../host-core.js';
import { newSessionId } from '../session-tree.js';
import { copyArtifacts } from './artifacts.js';
import { appendNote } from './note.js';
import { settledPosition } from './settled.js';

/** Where a fork stands. */
export interface Forked {
  readonly sessionId: string;
  /** The position up to which it holds the past of its source: the one asked for, or the last settled one before it. */
  readonly at: number;
}

/**
 * Makes a session of its own from another one's past. A position at which a call or a question is open is moved back to
 * the last one where none is; a `notice` in the fork says so. The source may be under way, and does not change. Rejects
 * with `SESSION_NOT_FOUND`, or `INVALID_OPTION` for a position before the first event.
 */
export async function forkSession(host: HostCore, sessionId: string, { at }: { at?: number }): Promise<Forked> {
  assertSessionId(sessionId);
  if (at !== undefined && !Number.isFinite(at)) throw noPosition(sessionId, at);
  await host.closing.get(sessionId);
  // What has been said by now is part of the past.
  await host.trees.get(sessionId)?.pendingWrites;
  const source = await host.store.load(sessionId);
  const events: AgentEvent[] = [];
  try {
    for await (const event of source.events) events.push(event);
  } finally {
    await source.close();
  }
  const asked = Math.min(at ?? Number.POSITIVE_INFINITY, events.at(-1)?.seq ?? 0);
  const settled = settledPosition(events, asked);
  if (settled === 0) throw noPosition(sessionId, at);
  const id = newSessionId();
  const fork = await copy(host, source, { id, at: settled, events });
  try {
    await copyArtifacts(host.store.artifacts, { from: sessionId, to: id }, events, settled);
    const last = events.findLast((event) => event.seq <= asked)?.seq ?? settled;
    if (last > settled) {
      const text = `forked at ${settled}, the last settled position before ${asked}: behind it a call or a question is open`;
      await appendNote(host, fork, { code: 'FORK_MOVED', severity: 'info', text });
    }
  } finally {
    await fork.close();
  }
  return { sessionId: id, at: settled };
}

/** By reference where the store can. */
async function copy(
  host: HostCore,
  source: SessionHandle,
  { id, at, events }: { id: string; at: number; events: readonly AgentEvent[] },
): Promise<SessionHandle> {
  const { store, appName } = host;
  if (store.fork !== undefined) return store.fork(source.id, { id, at });
  const fork = await store.create(source.agentName, { ...source.head?.metadata, appName, id });
  for (const event of events) if (event.seq <= at) await fork.append(event);
  return fork;
}

const noPosition = (sessionId: string, at: number | undefined) =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `session "${sessionId}" cannot be forked at ${at}: give the seq of one of its events`,
  });
