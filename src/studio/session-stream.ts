import type { ServerResponse } from 'node:http';
import type { AgentEvent } from '../contracts/index.js';
import type { HostInspection } from '../host/inspection.js';
import { describeError } from '../kernel/errors.js';
import type { MachineStep, StreamMessages } from './wire.js';

/** As often as a page can draw. */
const FLUSH_MS = 16;
/** Nothing said for so long may look like a lost connection. */
const ALIVE_MS = 15_000;
/** Steps that wait for a page that is behind: the newest count. */
const MOST_STEPS = 5_000;

/**
 * One page's stream of one session: what is logged after a position, then what happens, with no gap and no double, some
 * of it together. It waits for the page rather than keep what the page cannot take yet. Ends when the page leaves.
 */
export async function streamSession(
  inspection: HostInspection,
  sessionId: string,
  after: number,
  response: ServerResponse,
): Promise<void> {
  const page = new Page(response);
  const changed = new Bell();
  const offChange = inspection.onChange((of) => {
    if (of === sessionId) changed.ring();
  });
  let steps: MachineStep[] = [];
  const offStep = inspection.onStep(({ sessionId: of, ...step }) => {
    if (of !== sessionId) return;
    steps.push(step);
    if (steps.length > MOST_STEPS) steps = steps.slice(-MOST_STEPS / 2);
    page.wake();
  });
  const timer = setInterval(() => page.alive(), ALIVE_MS);
  timer.unref();
  let last = after;
  let batch: AgentEvent[] = [];
  page.onFlush = () => {
    if (steps.length > 0) page.write('states', steps.splice(0));
    if (batch.length === 0) return;
    const events = batch;
    batch = [];
    page.write('events', events, events.at(-1)?.seq);
  };
  try {
    while (!page.isGone) {
      const { lastSeq } = await inspection.lookUp(sessionId);
      if (lastSeq < last) {
        // The session was taken back: what the page shows is no more.
        last = 0;
        page.write('resync', { lastSeq });
      }
      const heard = changed.next();
      const events = inspection.log(sessionId, last)[Symbol.asyncIterator]();
      page.onGone = () => void events.return?.(undefined);
      for (let step = await events.next(); !step.done && !page.isGone; step = await events.next()) {
        batch.push(step.value);
        last = Math.max(last, step.value.seq);
        page.wake();
        if (page.isBehind) await page.drained();
      }
      page.flush();
      if (page.isGone) break;
      page.onGone = () => changed.ring();
      await heard;
    }
  } catch (thrown) {
    if (!page.isGone) page.write('resync', { lastSeq: 0, ...describeError(thrown) } as StreamMessages['resync']);
  } finally {
    offChange();
    offStep();
    clearInterval(timer);
    page.end();
  }
}

/** Rings are heard also when they come before somebody listens. */
class Bell {
  #rung: () => void = () => {};
  #heard = new Promise<void>((resolve) => {
    this.#rung = resolve;
  });

  next(): Promise<void> {
    this.#heard = new Promise((resolve) => {
      this.#rung = resolve;
    });
    return this.#heard;
  }

  ring(): void {
    this.#rung();
  }
}

/** Server-sent events to one page, those of a moment together. */
class Page {
  isGone = false;
  isBehind = false;
  onGone: () => void = () => {};
  onFlush: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #onDrain: (() => void) | undefined;

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
    response.on('drain', () => {
      this.isBehind = false;
      this.#onDrain?.();
    });
    response.on('close', () => {
      this.isGone = true;
      clearTimeout(this.#timer);
      this.#onDrain?.();
      this.onGone();
    });
  }

  wake(): void {
    if (this.#timer !== undefined || this.isGone) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_MS);
    this.#timer.unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.onFlush();
  }

  write<Name extends keyof StreamMessages>(name: Name, data: StreamMessages[Name], id?: number): void {
    if (this.isGone) return;
    const head = id === undefined ? `event: ${name}\n` : `event: ${name}\nid: ${id}\n`;
    if (!this.response.write(`${head}data: ${JSON.stringify(data)}\n\n`)) this.isBehind = true;
  }

  alive(): void {
    if (!this.isGone && !this.isBehind) this.response.write(': \n\n');
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrain = () => {
        this.#onDrain = undefined;
        resolve();
      };
      if (!this.isBehind || this.isGone) this.#onDrain();
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    if (!this.isGone) this.response.end();
  }
}
