import type { AgentEvent, SessionHandle, ToolResultData } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { assertSessionId } from '../../kernel/session-id.js';
import { abortStop, stopRun } from '../end-run.js';
import type { HostCore } from '../host-core.js';
import { announce, isOpen } from '../open-session.js';
import { threadsFrom } from '../session-tree.js';
import type { Tree } from '../thread.js';
import type { RewindOptions } from '../types.js';
import { dropArtifacts } from './artifacts.js';
import { assertUndamaged } from './damage.js';
import { appendEvent, appendNote } from './note.js';
import { type Restored, restoreFiles } from './restore-files.js';
import { filesWrittenSince } from './settled.js';

/**
 * Takes a session back to a position: what its log has behind it is cut off, and with it state, approvals and questions
 * that came later. A run that is under way here ends `aborted`, which its consumer is told and the log is not; what its
 * tools still bring is kept as `stale_result`. Files stay as they are: a `notice` in the log names those written since.
 * Rejects with `SESSION_NOT_FOUND`, `SESSION_LOCKED`, `SESSION_BUSY` while a model call is in flight, `INVALID_OPTION`
 * for a position that the log does not have, or where the store cannot cut.
 */
export async function rewindSession(host: HostCore, sessionId: string, options: RewindOptions): Promise<void> {
  assertSessionId(sessionId);
  if (host.opening.has(sessionId)) throw isOpen(sessionId);
  const tree = host.trees.get(sessionId);
  if (tree !== undefined) assertNoModelCall(tree);
  await announce(host, sessionId, rewindNow(host, sessionId, tree, options));
}

async function rewindNow(
  host: HostCore,
  sessionId: string,
  tree: Tree | undefined,
  options: RewindOptions,
): Promise<void> {
  const { to, restoreFiles: root } = options;
  await host.closing.get(sessionId);
  const handle = tree === undefined ? await host.store.load(sessionId) : tree.handle;
  if (handle === undefined) throw cannotCut(sessionId, 'it is in no store');
  try {
    const events = await eventsOf(handle, tree);
    // Its run has ended meanwhile, and with it the session in this host.
    if (tree?.isClosed) return await rewindNow(host, sessionId, undefined, options);
    if (events.length === 0) assertUndamaged(handle, 'there is nothing to take back');
    assertPosition(sessionId, events, to);
    if (handle.truncate === undefined) throw cannotCut(sessionId, 'its store cannot cut a log');
    if (tree !== undefined) {
      assertNoModelCall(tree);
      await sever(host, tree);
    } else await handle.lock?.();
    const files = filesWrittenSince(events, to);
    await handle.truncate(to);
    const { artifacts } = host.store;
    const told =
      root === undefined
        ? undefined
        : await restoreFiles(events, to, { sessionId, root, artifacts, restoreFile: host.restoreFile });
    await dropArtifacts(host.store.artifacts, sessionId, events, to);
    const text = `the session was taken back to ${to}${filesToText(files, told)}`;
    await appendNote(host, handle, { code: 'REWOUND', severity: 'info', text, to, files, ...told });
  } finally {
    // Of a tree that goes on it is still the writer.
    if (tree === undefined || tree.handle === undefined) await handle.close();
  }
}

function filesToText(files: readonly string[], told: Restored | undefined): string {
  if (files.length === 0) return '';
  if (told === undefined) return `; files written since stay as they are: ${files.join(', ')}`;
  const { restored, left } = told;
  const back = restored.length === 0 ? '' : `; put back: ${restored.join(', ')}`;
  const not = left.map(({ path, why }) => `${path} (${why})`).join(', ');
  return left.length === 0 ? back : `${back}; left as they are: ${not}`;
}

async function eventsOf(handle: SessionHandle, tree: Tree | undefined): Promise<AgentEvent[]> {
  await tree?.pendingWrites;
  const events: AgentEvent[] = [];
  for await (const event of handle.events) events.push(event);
  return events;
}

function assertPosition(sessionId: string, events: readonly AgentEvent[], to: number): void {
  const first = events[0]?.seq ?? 0;
  const last = events.at(-1)?.seq ?? 0;
  if (Number.isSafeInteger(to) && to >= first && to <= last && events.length > 0) return;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: `session "${sessionId}" cannot be taken back to ${to}: its log has the positions ${first} to ${last}`,
  });
}

function assertNoModelCall({ root, sessionId }: Tree): void {
  for (const { run, resumeTurn, threadId } of threadsFrom(root)) {
    if (run?.cutTurn === undefined || resumeTurn !== undefined) continue;
    throw new TroupeError({
      code: 'SESSION_BUSY',
      message: `session "${sessionId}" cannot be taken back: a model call of ${threadId ?? 'the root'} is in flight; stop it first`,
      retryable: true,
    });
  }
}

/** Ends what runs of a session in this host; of its end nothing reaches the log, which is the caller's from here on. */
async function sever(host: HostCore, tree: Tree): Promise<void> {
  const { root, sessionId } = tree;
  tree.handle = undefined;
  tree.onStaleResult = ({ requestId, name }, result) => void keepStale(host, sessionId, { requestId, name, result });
  root.endsSession = true;
  const closed = new Promise<void>((resolve) => {
    const { onClosed } = tree;
    tree.onClosed = () => {
      onClosed?.();
      resolve();
    };
  });
  if (root.run === undefined) root.actor.send({ type: 'session.close', reason: 'aborted' });
  else stopRun(root, abortStop('the session was taken back', 'host'));
  await closed;
}

/** What a tool brings whose call is no part of the past any more: kept, outside of the history. */
async function keepStale(
  host: HostCore,
  sessionId: string,
  data: { requestId: string; name: string; result: ToolResultData },
): Promise<void> {
  const tree = host.trees.get(sessionId);
  if (tree !== undefined) {
    tree.merge.record(tree.root, { type: 'custom', kind: 'stale_result', data, source: 'host' });
    return;
  }
  try {
    const handle = await host.store.load(sessionId);
    try {
      await appendEvent(host, handle, 'stale_result', data);
    } finally {
      await handle.close();
    }
  } catch {
    // Written by somebody else by now, or gone: what nobody waits for is lost.
  }
}

const cannotCut = (sessionId: string, why: string) =>
  new TroupeError({ code: 'INVALID_OPTION', message: `session "${sessionId}" cannot be taken back: ${why}` });
