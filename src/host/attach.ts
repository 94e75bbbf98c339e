import type { AgentEvent } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { MergeReader } from '../kernel/event-merge.js';
import type { HostCore } from './host-core.js';
import { loggedEvents } from './run.js';
import type { Tree } from './thread.js';

/**
 * What the log has after a point, then live, with no gap and no double. A reader that falls far behind goes on from
 * the log: it misses increments and tool updates then, no message. Ends after the root's `stream_end`.
 */
export async function* attach(
  host: HostCore,
  sessionId: string,
  options: { after?: number | string | undefined },
): AsyncGenerator<AgentEvent> {
  const tree = host.trees.get(sessionId);
  if (tree === undefined) return yield* stored(host, sessionId, options.after);
  let isLost = false;
  const lose = () => {
    isLost = true;
  };
  let live: MergeReader = tree.merge.observe(lose);
  let last = -1;
  try {
    last = await positionOf(tree, options.after);
    let upTo = tree.merge.seq;
    for await (const event of loggedEvents(tree, last, upTo)) yield event;
    last = Math.max(last, upTo);
    // The session may have ended while the log was being read: what is queued is still given.
    const finish = () => live.finish();
    if (tree.isClosed) finish();
    const { onClosed } = tree;
    tree.onClosed = () => {
      onClosed?.();
      finish();
    };
    for (;;) {
      const step = await live.next();
      if (!step.done) {
        if (step.value.seq <= last) continue;
        yield step.value;
        last = step.value.seq;
        if (step.value.type === 'stream_end' && step.value.threadId === undefined && tree.root.run === undefined)
          return;
        continue;
      }
      if (!isLost) return;
      isLost = false;
      live = tree.merge.observe(lose);
      upTo = tree.merge.seq;
      for await (const event of loggedEvents(tree, last, upTo)) yield event;
      last = upTo;
    }
  } finally {
    live.close();
  }
}

async function* stored(
  host: HostCore,
  sessionId: string,
  after: number | string | undefined,
): AsyncGenerator<AgentEvent> {
  const handle = await host.store.load(sessionId);
  let isAfter = typeof after !== 'string';
  for await (const event of handle.events) {
    if (isAfter && (typeof after !== 'number' || event.seq > after)) yield event;
    if (event.id === after) isAfter = true;
  }
  await handle.close();
  if (!isAfter) throw unknownPosition(sessionId, after);
}

async function positionOf(tree: Tree, after: number | string | undefined): Promise<number> {
  if (after === undefined) return 0;
  if (typeof after === 'number') return after;
  for await (const event of loggedEvents(tree, 0, tree.merge.seq)) if (event.id === after) return event.seq;
  throw unknownPosition(tree.sessionId, after);
}

const unknownPosition = (sessionId: string, after: unknown) =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `session "${sessionId}" has no event "${String(after)}"; give a seq or the id of one of its logged events`,
  });
