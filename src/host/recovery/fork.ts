import type { SessionHandle } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { assertSessionId } from '../../kernel/session-id.js';
import type { HostCore } from '../host-core.js';
import { assertOwner } from '../owner.js';
import { newSessionId } from '../session-tree.js';
import { ArtifactCopy } from './artifacts.js';
import { assertUndamaged, damageIn } from './damage.js';
import { appendNote } from './note.js';
import { Settled } from './settled.js';

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
export async function forkSession(
  host: HostCore,
  sessionId: string,
  { at, userId }: { at?: number; userId?: string | undefined },
): Promise<Forked> {
  assertSessionId(sessionId);
  if (at !== undefined && !Number.isSafeInteger(at)) throw noPosition(sessionId, at);
  await host.closing.get(sessionId);
  // What has been said by now is part of the past.
  await host.trees.get(sessionId)?.pendingWrites;
  const source = await host.store.load(sessionId);
  try {
    assertOwner(source, userId);
    return await forkFrom(host, source, at);
  } finally {
    await source.close();
  }
}

/** The log is gone through twice, and never held: where it is settled, then what is copied. */
async function forkFrom(host: HostCore, source: SessionHandle, at: number | undefined): Promise<Forked> {
  const settled = new Settled();
  let last = 0;
  for await (const event of source.events) {
    if (event.seq > (at ?? Number.POSITIVE_INFINITY)) break;
    settled.take(event);
    last = event.seq;
  }
  const { position } = settled;
  if (position === 0) {
    assertUndamaged(source, 'nothing of it can be forked');
    throw noPosition(source.id, at);
  }
  const id = newSessionId();
  const fork = await copy(host, source, { id, at: position });
  try {
    const damage = damageIn(source);
    if (damage !== undefined && damage.afterSeq < position) {
      const text = `${source.id} is damaged at line ${damage.line} (${damage.reason}): what stood there is not in the fork`;
      await appendNote(host, fork, { code: 'FORK_DAMAGED', severity: 'warning', text });
    }
    if (last > position) {
      const text = `forked at ${position}, the last settled position before ${last}: behind it a call or a question is open`;
      await appendNote(host, fork, { code: 'FORK_MOVED', severity: 'info', text });
    }
  } finally {
    await fork.close();
  }
  return { sessionId: id, at: position };
}

/** By reference where the store can. */
async function copy(
  host: HostCore,
  source: SessionHandle,
  { id, at }: { id: string; at: number },
): Promise<SessionHandle> {
  const { store, appName } = host;
  const shared = await store.fork?.(source.id, { id, at });
  const isShared = shared !== undefined;
  const fork = shared ?? (await store.create(source.agentName, { ...source.head?.metadata, appName, id }));
  if (isShared && store.artifacts === undefined) return fork;
  const artifacts = new ArtifactCopy(store.artifacts, { from: source.id, to: id });
  try {
    for await (const event of source.events) {
      if (event.seq > at) break;
      if (!isShared) await fork.append(event);
      await artifacts.take(event);
    }
  } catch (thrown) {
    await fork.close();
    throw thrown;
  }
  return fork;
}

const noPosition = (sessionId: string, at: number | undefined) =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `session "${sessionId}" cannot be forked at ${at}: give the seq of one of its events`,
  });
