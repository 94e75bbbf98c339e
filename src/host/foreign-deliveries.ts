import type { AgentResponse, ContentPart, SessionStreamData } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';

/** What `stream()` of another's session gave, if it is of the form that it must have. */
export const isResponse = (given: unknown): given is AgentResponse =>
  typeof given === 'object' &&
  given !== null &&
  'stream' in given &&
  typeof given.stream === 'object' &&
  given.stream !== null &&
  Symbol.asyncIterator in given.stream &&
  'controller' in given;

/** The requests that a delivery answers. */
export function idsOf(data: SessionStreamData): string[] {
  if (data.kind === 'message') return [];
  return data.kind === 'tool_results' ? data.results.map(({ requestId }) => requestId) : [data.requestId];
}

/** Messages go in as one, and so do several results of a turn, which come last; everything else by itself, in order. */
export function toDeliveries(inbox: readonly SessionStreamData[]): SessionStreamData[] {
  const messages = inbox.filter((data) => data.kind === 'message');
  const results = inbox.flatMap((data) => (data.kind === 'tool_result' ? [data] : []));
  const others = inbox.filter((data) => data.kind !== 'tool_result' && data.kind !== 'message');
  const [first, ...more] = messages;
  const deliveries: SessionStreamData[] = [];
  if (first !== undefined && more.length === 0) deliveries.push(first);
  else if (first !== undefined) {
    const content: ContentPart[] = messages.flatMap((data) => toParts(data.content));
    deliveries.push({ ...first, content });
  }
  deliveries.push(...others);
  if (results.length <= 1) return [...deliveries, ...results];
  const all = results.map(({ requestId, result }) => ({ requestId, result }));
  return [...deliveries, { kind: 'tool_results', results: all }];
}
