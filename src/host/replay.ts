import type { AgentEvent } from '../contracts/index.js';
import type { MergeReader } from '../kernel/merge-reader.js';
import { durably } from './durable-reader.js';
import type { Tree } from './thread.js';

/**
 * What the log holds after one position and up to another, in order. Messages in flight at the call stand where their
 * last increment does, with what has been said so far; a message that `after` lies within is given from its start.
 * Both are marked `_meta.replace`. Positions and messages are those of the call, whenever it is read.
 */
export function loggedEvents(tree: Tree, after: number, upTo: number = tree.merge.seq): AsyncGenerator<AgentEvent> {
  const inFlight = tree.merge.inFlight().sort((a, b) => a.seq - b.seq);
  return read(tree, after, upTo, inFlight);
}

async function* read(
  tree: Tree,
  after: number,
  upTo: number,
  inFlight: AgentEvent<'message'>[],
): AsyncGenerator<AgentEvent> {
  await tree.pendingWrites;
  const waiting = inFlight.filter((event) => event.seq > after);
  const ids = new Set(inFlight.map((event) => event.id));
  if (tree.handle !== undefined) {
    for await (const event of tree.handle.events) {
      // A message that was in flight may be whole by now.
      if (event.seq <= after || event.seq > upTo || ids.has(event.id)) continue;
      while (waiting[0] !== undefined && waiting[0].seq < event.seq) yield waiting.shift() as AgentEvent;
      yield fromStart(event, after);
    }
  }
  yield* waiting;
}

/** A whole message of which a reader may have seen the beginning replaces that. */
export function fromStart(event: AgentEvent, after: number): AgentEvent {
  if (event.type !== 'message') return event;
  const firstSeq = event._meta?.firstSeq;
  if (typeof firstSeq !== 'number' || firstSeq > after) return event;
  return { ...event, _meta: { ...event._meta, replace: true } };
}

/**
 * The reader that publishers wait for, beginning right after `after`: with what is kept for it, or, when too much went
 * by for that, with what the log has. Undefined while another one is open.
 */
export function consumeAfter(tree: Tree, after: number): MergeReader | undefined {
  const taken = tree.merge.consume();
  if (taken === undefined) return undefined;
  const reader = taken.complete ? taken.reader : withPrefix(loggedEvents(tree, after), taken.reader);
  return tree.handle === undefined ? reader : durably(tree, reader);
}

function withPrefix(prefix: AsyncGenerator<AgentEvent>, reader: MergeReader): MergeReader {
  let isThrough = false;
  return {
    async next() {
      if (!isThrough) {
        const step = await prefix.next();
        if (!step.done) return step;
        isThrough = true;
      }
      return reader.next();
    },
    finish: () => reader.finish(),
    close() {
      isThrough = true;
      reader.close();
    },
    get closed() {
      return reader.closed;
    },
  };
}
