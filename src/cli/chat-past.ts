import type { AgentEvent } from '../contracts/events.js';
import { textOf } from '../kernel/content.js';
import { badUse } from './report-error.js';

/** A message that began a run. */
export interface Exchange {
  seq: number;
  text: string;
  /** The last position before it at which no run was under way. */
  before: number;
}

/** The exchanges of a session, oldest first, from its log. */
export async function exchangesOf(log: AsyncIterable<AgentEvent>): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  let before = 0;
  let isRunning = false;
  for await (const event of log) {
    if (before === 0) before = event.seq;
    if (event.threadId !== undefined) continue;
    if (event.type === 'stream_end') {
      before = event.seq;
      isRunning = false;
    }
    if (event.type !== 'message' || event.role !== 'user' || isRunning || event._meta?.steered === true) continue;
    exchanges.push({ seq: event.seq, text: textOf(event.content), before });
    isRunning = true;
  }
  return exchanges;
}

/** Where the session stood before its last `count` exchanges. */
export function positionBefore(exchanges: readonly Exchange[], count: number): number {
  const first = exchanges.at(-count);
  if (first !== undefined) return first.before;
  const there = exchanges.length === 1 ? 'is 1 exchange' : `are ${exchanges.length} exchanges`;
  throw badUse(`there ${there} to take back, not ${count}`);
}
