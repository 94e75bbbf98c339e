import { deepStrictEqual, ok } from 'node:assert';
import type { AgentEvent, AgentEventType } from '../contracts/index.js';
import { validateLog } from '../kernel/log-validator.js';

/** Reads a stream to its end, lets `see` act on each event, and holds the whole to the rules of an event log. */
export async function readChecked(
  stream: AsyncIterable<AgentEvent>,
  see: (event: AgentEvent) => void = () => {},
): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    see(event);
  }
  deepStrictEqual(validateLog(events, { finished: true }), [], 'the events break the rules of a log');
  return events;
}

export const eventsOf = <T extends AgentEventType>(events: readonly AgentEvent[], type: T): AgentEvent<T>[] =>
  events.filter((event) => event.type === type) as AgentEvent<T>[];

/** The root ended once, as its last event, for this reason. */
export function checkEnd(events: readonly AgentEvent[], reason: string): void {
  const last = events.at(-1);
  ok(last?.type === 'stream_end' && last.threadId === undefined, `the last event is no stream_end: ${last?.type}`);
  const ends = eventsOf(events, 'stream_end').filter(({ threadId }) => threadId === undefined);
  deepStrictEqual(
    ends.map((end) => end.reason),
    [reason],
  );
}

/** Text that agents said, joined. */
export const saidIn = (events: readonly AgentEvent[]): string =>
  eventsOf(events, 'message')
    .filter(({ role }) => role === 'agent')
    .flatMap(({ content }) => content)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
