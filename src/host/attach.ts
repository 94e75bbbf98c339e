import type { AgentEvent, SessionHandle } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { MergeReader } from '../kernel/merge-reader.js';
import { assertSessionId } from '../kernel/session-id.js';
import { waitFor } from './durable-reader.js';
import { followLog } from './follow-log.js';
import type { HostCore } from './host-core.js';
import { fromStart, loggedEvents } from './replay.js';
import type { Tree } from './thread.js';

type Position = number | string | undefined;

/**
 * What the log has after a point, then live, with no gap and no double. A reader that falls far behind goes on from
 * the log: it misses increments and tool updates then, no message. Ends after the root's `stream_end` if no run follows.
 */
export async function* attach(
  host: HostCore,
  sessionId: string,
  options: { after?: number | string | undefined },
): AsyncGenerator<AgentEvent> {
  assertSessionId(sessionId);
  const { after } = options;
  if (typeof after === 'number' && !Number.isFinite(after)) {
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `after: ${after} is no position; give a seq or an event id`,
    });
  }
  await host.opening.get(sessionId)?.catch(() => {});
  const tree = host.trees.get(sessionId);
  if (tree === undefined) return yield* stored(host, sessionId, options.after);
  const lose = () => {
    isLost = true;
  };
  let isLost = false;
  let live: MergeReader = tree.merge.observe(lose);
  try {
    let last = await positionOf(tree, options.after);
    for (;;) {
      const upTo = tree.merge.seq;
      for await (const event of loggedEvents(tree, last, upTo)) yield event;
      last = Math.max(last, upTo);
      if (isBetweenRuns(tree, last)) return;
      for (let step = await live.next(); !step.done; step = await live.next()) {
        const { value: event } = step;
        if (event.seq <= last) continue;
        const durable = waitFor(tree, event);
        if (durable !== undefined) await durable;
        yield event;
        last = event.seq;
        if (event.type === 'stream_end' && event.threadId === undefined && isBetweenRuns(tree, last)) return;
      }
      if (!isLost) return;
      isLost = false;
      live = tree.merge.observe(lose);
    }
  } finally {
    live.close();
  }
}

/** Nothing more comes: a run has ended, no other is under way, and all that was published has been given. */
const isBetweenRuns = ({ root, merge }: Tree, last: number) =>
  root.run === undefined && root.end !== undefined && last >= merge.seq;

async function* stored(host: HostCore, sessionId: string, after: Position): AsyncGenerator<AgentEvent> {
  // Its last events may still be on their way into the store.
  await host.closing.get(sessionId);
  const handle = await host.store.load(sessionId);
  try {
    const from = typeof after === 'string' ? await seqOf(handle, after) : (after ?? 0);
    if (from === undefined) throw unknownPosition(sessionId, after);
    for await (const event of followLog(host, handle)) {
      if (event.seq > from) yield fromStart(event, from);
    }
  } finally {
    await handle.close();
  }
}

async function seqOf(handle: SessionHandle, eventId: string): Promise<number | undefined> {
  for await (const event of handle.events) if (event.id === eventId) return event.seq;
  return undefined;
}

async function positionOf(tree: Tree, after: Position): Promise<number> {
  if (after === undefined) return 0;
  if (typeof after === 'number') return after;
  for await (const event of loggedEvents(tree, 0)) if (event.id === after) return event.seq;
  throw unknownPosition(tree.sessionId, after);
}

const unknownPosition = (sessionId: string, after: Position) =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `session "${sessionId}" has no event "${String(after)}"; give a seq or the id of one of its logged events`,
  });
