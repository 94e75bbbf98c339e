import type { AgentEvent, SessionHandle } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { Observer } from '../kernel/observers.js';
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
export const attach = (
  host: HostCore,
  sessionId: string,
  options: { after?: number | string | undefined },
): AsyncIterableIterator<AgentEvent> => new Attached(host, sessionId, options.after);

type Step = IteratorResult<AgentEvent, void>;
const DONE: Step = { done: true, value: undefined };

/**
 * By hand: what an async generator does with each event costs more than the event, and here one that is there takes one
 * promise. Like a generator it begins when it is first asked, and answers in the order in which it was.
 */
class Attached implements AsyncIterableIterator<AgentEvent> {
  #state: 'new' | 'past' | 'live' | 'over' = 'new';
  /** What comes before the live events. */
  #past: AsyncIterator<AgentEvent> | undefined;
  /** Nothing: the session is not open here, and all that there is is past. */
  #tree: Tree | undefined;
  #live: Observer | undefined;
  /** Everything up to this `seq` has been given. */
  #last = 0;
  #isLost = false;
  /** What was given last may be the last of all. */
  #mayEnd = false;
  /** Calls of `next` that are not answered yet; and the last answer that is under way. */
  #asked = 0;
  #answer: Promise<Step> | undefined;

  constructor(
    private readonly host: HostCore,
    private readonly sessionId: string,
    private readonly after: Position,
  ) {}

  next(): Promise<Step> {
    if (this.#asked === 0 && this.#state === 'live' && !this.#mayEnd && this.#tree?.writesLater === false) {
      const event = this.#take();
      if (event !== undefined) return Promise.resolve(this.#given(event));
    }
    const step = () => this.#step();
    this.#answer = this.#asked++ === 0 ? this.#step() : (this.#answer as Promise<Step>).then(step, step);
    return this.#answer;
  }

  async return(): Promise<Step> {
    await this.#end();
    return DONE;
  }

  async throw(thrown: unknown): Promise<Step> {
    await this.#end();
    throw thrown;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #step(): Promise<Step> {
    try {
      for (;;) {
        const step = this.#state === 'live' ? await this.#fromLive() : await this.#beforeLive();
        if (this.#state === 'over') return DONE;
        if (step !== undefined) return step;
      }
    } catch (thrown) {
      await this.#end();
      throw thrown;
    } finally {
      this.#asked--;
    }
  }

  /** Nothing: there was a step to take, and there are more. */
  async #beforeLive(): Promise<Step | undefined> {
    if (this.#state === 'new') return this.#begin();
    const step = await this.#past?.next();
    if (step?.done === false) return step;
    this.#past = undefined;
    if (this.#state === 'over') return undefined;
    if (this.#tree === undefined) return this.#end();
    this.#state = 'live';
    return undefined;
  }

  async #begin(): Promise<undefined> {
    const { host, sessionId, after } = this;
    assertSessionId(sessionId);
    const isPosition = after === undefined || typeof after === 'string' || Number.isFinite(after);
    if (!isPosition) {
      throw new TroupeError({
        code: 'INVALID_OPTION',
        message: `after: ${String(after)} is no position; give a seq or an event id`,
      });
    }
    const opening = host.opening.get(sessionId);
    if (opening !== undefined) await opening.catch(() => {});
    if (this.#state === 'over') return;
    const tree = host.trees.get(sessionId);
    this.#tree = tree;
    if (tree === undefined) {
      this.#state = 'past';
      this.#past = stored(host, sessionId, after);
      return;
    }
    this.#observe(tree);
    this.#last = typeof after === 'string' ? await positionOf(tree, after) : (after ?? 0);
    if (this.#state === 'new') this.#readLog(tree);
  }

  #observe(tree: Tree): void {
    this.#isLost = false;
    this.#live = tree.merge.observe(() => {
      this.#isLost = true;
    });
  }

  /** What comes live from here on is read after what the log has by now. */
  #readLog(tree: Tree): void {
    const upTo = tree.merge.seq;
    this.#state = 'past';
    this.#past = loggedEvents(tree, this.#last, upTo);
    this.#last = Math.max(this.#last, upTo);
    this.#mayEnd = true;
  }

  async #fromLive(): Promise<Step | undefined> {
    const tree = this.#tree as Tree;
    if (this.#mayEnd && isBetweenRuns(tree, this.#last)) return this.#end();
    this.#mayEnd = false;
    const step = await (this.#live as Observer).next();
    if (this.#state === 'over') return undefined;
    if (step.done) {
      if (!this.#isLost) return this.#end();
      this.#observe(tree);
      this.#readLog(tree);
      return undefined;
    }
    if (step.value.seq <= this.#last) return undefined;
    const durable = waitFor(tree, step.value);
    if (durable !== undefined) await durable;
    return this.#given(step.value);
  }

  /** One that is there and was not given yet. */
  #take(): AgentEvent | undefined {
    const live = this.#live as Observer;
    for (;;) {
      const event = live.take();
      if (event === undefined || event.seq > this.#last) return event;
    }
  }

  #given(event: AgentEvent): Step {
    this.#last = event.seq;
    this.#mayEnd = event.type === 'stream_end' && event.threadId === undefined;
    return { done: false, value: event };
  }

  async #end(): Promise<undefined> {
    this.#state = 'over';
    this.#live?.close();
    const past = this.#past;
    this.#past = undefined;
    await past?.return?.();
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
