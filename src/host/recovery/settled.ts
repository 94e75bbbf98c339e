import type { AgentEvent } from '../../contracts/index.js';

/**
 * Follows a log, event by event, to the last position behind which no call and no question is open in any thread; 0
 * where there is none. A model call that was in flight there leaves nothing open: it is made again.
 */
export class Settled {
  position = 0;
  readonly #open = new Set<string>();

  take(event: AgentEvent): void {
    switch (event.type) {
      case 'tool_request':
      case 'elicitation_request':
        this.#open.add(`${event.type[0]}${event.requestId}`);
        break;
      case 'tool_response':
      case 'elicitation_response':
        this.#open.delete(`${event.type[0]}${event.requestId}`);
        break;
      default:
    }
    if (this.#open.size === 0) this.position = event.seq;
  }
}

/** Files that calls have written whose results stand behind a position, each once, in the order of their requests. */
export function filesWrittenSince(events: Iterable<AgentEvent>, after: number): string[] {
  const requests = new Map<string, AgentEvent<'tool_request'>>();
  const files = new Set<string>();
  for (const event of events) {
    if (event.type === 'tool_request' && isWriting(event)) requests.set(event.requestId, event);
    if (event.type !== 'tool_response' || event.seq <= after || event.isError) continue;
    for (const { path } of requests.get(event.requestId)?.locations ?? []) files.add(path);
  }
  return [...files];
}

const WRITING = new Set<unknown>(['edit', 'delete', 'move']);
export const isWriting = ({ annotations }: AgentEvent<'tool_request'>) => WRITING.has(annotations?.category);
