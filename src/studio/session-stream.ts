import type { ServerResponse } from 'node:http';
import type { AgentEvent } from '../contracts/index.js';
import type { ActorStep, HostInspection } from '../host/inspection.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { EventBatch } from './event-batch.js';
import { Page } from './page-stream.js';
import { shownEvent } from './shown-event.js';
import type { MachineStep, StreamMessages } from './wire.js';

/** Steps that wait for a page that is behind: the newest count. */
const MOST_STEPS = 5_000;

/**
 * One page's stream of one session: what is logged after a position, then what happens, with no gap and no double, some
 * of it together. It waits for the page rather than keep what the page cannot take yet. Ends when the page leaves.
 * `hearsSteps`: what the machines do is told too; it costs the run more than its events do.
 */
export async function streamSession(
  inspection: HostInspection,
  sessionId: string,
  { after, hearsSteps }: { after: number; hearsSteps: boolean },
  response: ServerResponse,
): Promise<void> {
  const page = new Page(response);
  const changed = new Bell();
  const offChange = inspection.onChange((of) => {
    if (of === sessionId) changed.ring();
  });
  let steps: MachineStep[] = [];
  const hear = ({ sessionId: of, ...step }: ActorStep) => {
    if (of !== sessionId) return;
    steps.push(step);
    if (steps.length > MOST_STEPS) steps = steps.slice(-MOST_STEPS / 2);
    page.wake();
  };
  const offStep = hearsSteps ? inspection.onStep(hear) : undefined;
  if (hearsSteps)
    page.write('hears', { lastSeq: inspection.open().find((one) => one.sessionId === sessionId)?.lastSeq ?? after });
  let last = after;
  const batch = new EventBatch();
  page.onFlush = () => {
    if (steps.length > 0 && !page.isBehind) page.write('states', steps.splice(0));
    if (batch.isEmpty) return;
    const events = batch.take();
    const last = events.at(-1);
    if (last !== undefined) page.write('events', events, idOf(sessionId, last.seq));
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
        if (isTakenBack(step.value, last)) page.write('resync', { lastSeq });
        batch.add(shownEvent(step.value));
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
    offStep?.();
    page.end();
  }
}

const idOf = (sessionId: string, seq: number): string => `${sessionId}:${seq}`;

/** The position that the id of a message stands for, or that is a position itself. Throws `INVALID_OPTION` for one of another session. */
export function seqOf(id: string, sessionId: string): number {
  const digits = id.startsWith(`${sessionId}:`) ? id.slice(sessionId.length + 1) : id;
  const seq = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new TroupeError({
    code: 'INVALID_OPTION',
    message: 'Last-Event-ID: that is no event of this session; leave it out to begin anew',
  });
}

/** Whether the session was taken back to before what the page was told last. */
function isTakenBack(event: AgentEvent, last: number): boolean {
  if (event.type !== 'custom' || event.kind !== 'notice') return false;
  const { code, to } = (event.data ?? {}) as { code?: unknown; to?: unknown };
  return code === 'REWOUND' && typeof to === 'number' && last > to;
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
