import type { AgentEvent } from '../contracts/index.js';
import type { MergeReader } from '../kernel/merge-reader.js';
import type { Tree } from './thread.js';

/**
 * A reader that gives an event once it is durable: what was given is there after a crash. Increments of a message and
 * tool updates are in no log, and are not waited for. Where the store answers at once nothing is waited for at all.
 */
export const durably = (tree: Tree, reader: MergeReader): MergeReader => new DurableReader(tree, reader);

/** A class: there is one per stream. */
class DurableReader implements MergeReader {
  #hasBegun = false;

  constructor(
    private readonly tree: Tree,
    private readonly reader: MergeReader,
  ) {}

  next(): Promise<IteratorResult<AgentEvent, void>> {
    const next = this.reader.next();
    // The first event, and one that a hook holds, is written after it was asked for: only then it is known how.
    const mayChange = !this.#hasBegun || this.tree.host.hookPoints.has('on_event');
    this.#hasBegun = true;
    return this.tree.writesLater || mayChange ? next.then((step) => onceDurable(this.tree, step)) : next;
  }
  finish(): void {
    this.reader.finish();
  }
  close(): void {
    this.reader.close();
  }
  get closed(): boolean {
    return this.reader.closed;
  }
}

function onceDurable(
  tree: Tree,
  step: IteratorResult<AgentEvent, void>,
): IteratorResult<AgentEvent, void> | Promise<IteratorResult<AgentEvent, void>> {
  return step.done ? step : (waitFor(tree, step.value)?.then(() => step) ?? step);
}

/** What is waited for before an event is given; undefined: nothing. Positions of what is in no log are reserved first. */
export function waitFor(tree: Tree, event: AgentEvent): Promise<void> | undefined {
  const isPassing = event.type === 'tool_update' || (event.type === 'message' && event.role === 'agent');
  return isPassing && event.seq <= tree.reservedSeq ? undefined : tree.pendingWrites;
}
