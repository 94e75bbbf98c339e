import type { ServerResponse } from 'node:http';
import type { InspectionEvent } from 'xstate';
import type { HostInspection } from '../host/inspection.js';
import { messageOfActor, sessionOf, toInspectionMessage } from './inspection-messages.js';
import { Page } from './page-stream.js';

/** Events that wait for a reader that is behind: the newest count. */
const MOST_WAITING = 5_000;
/** Events in one message: what is written at once stays small. */
const MOST_AT_ONCE = 200;

/**
 * XState's inspection events of a host to one reader, of one session or of all: first the actors that there are, then
 * what happens. Where the reader is too slow the oldest are left out, and it is told how many.
 */
export function streamInspection(
  inspection: HostInspection,
  sessionId: string | undefined,
  response: ServerResponse,
): void {
  const page = new Page(response);
  let waiting: InspectionEvent[] = [];
  let lost = 0;
  const off = inspection.onInspection((event) => {
    if (sessionId !== undefined && sessionOf(event.actorRef) !== sessionId) return;
    waiting.push(event);
    if (waiting.length > MOST_WAITING) {
      lost += waiting.length - MOST_WAITING / 2;
      waiting = waiting.slice(-MOST_WAITING / 2);
    }
    if (!page.isBehind) page.wake();
  });
  page.onFlush = () => {
    if (lost > 0) page.writeText('lost', JSON.stringify({ events: lost }));
    lost = 0;
    while (waiting.length > 0 && !page.isBehind)
      page.writeText('inspection', JSON.stringify(waiting.splice(0, MOST_AT_ONCE).map(toInspectionMessage)));
  };
  page.onGone = off;
  const actors = inspection.actors(sessionId).map(messageOfActor);
  if (actors.length > 0) page.writeText('inspection', JSON.stringify(actors));
}
