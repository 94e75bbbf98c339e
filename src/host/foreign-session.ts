import type {
  AgentEventDraft,
  AgentResponse,
  AgentSession,
  Executor,
  SessionStreamData,
  TurnContext,
} from '../contracts/index.js';
import { narrowEvent } from '../kernel/narrow.js';

/**
 * Anybody's `AgentSession` as an executor: each turn reads one of its streams. Its calls pass the host's gate and its
 * questions the host's inbox; the answers go back under the ids it gave. Ids, order and threads are the host's.
 */
export function foreignExecutor(session: AgentSession, options: { isOpaque: boolean }): Executor {
  let isFirst = true;
  let isOver = false;

  async function* turn(inbox: readonly SessionStreamData[], context: TurnContext): AsyncGenerator<AgentEventDraft> {
    for (const data of toDeliveries(inbox)) {
      const response: AgentResponse = isFirst
        ? session.stream(data, { signal: context.signal, hostToolExecution: true })
        : session.stream(data);
      isFirst = false;
      const stop = () => response.controller.abort();
      if (context.signal.aborted) stop();
      else context.signal.addEventListener('abort', stop, { once: true });
      try {
        for await (const event of response.stream) {
          const narrowed = narrowEvent(event);
          if (narrowed.kind !== 'known') continue;
          const known = narrowed.value;
          // What it was told comes back as its first event: the host has published that already.
          if (known.type === 'message' && known.role !== 'agent') continue;
          yield toDraft(known);
        }
      } finally {
        context.signal.removeEventListener('abort', stop);
      }
    }
  }

  return {
    turn,
    opaque: options.isOpaque,
    close() {
      if (isOver) return;
      isOver = true;
      session.abort('the host has ended this session');
    },
  };
}

/** Several results of one turn go in together; everything else by itself, in order. */
function toDeliveries(inbox: readonly SessionStreamData[]): SessionStreamData[] {
  const results = inbox.flatMap((data) =>
    data.kind === 'tool_result' ? [{ requestId: data.requestId, result: data.result }] : [],
  );
  const others = inbox.filter((data) => data.kind !== 'tool_result');
  return results.length > 0 ? [...others, { kind: 'tool_results', results }] : others;
}

function toDraft(event: object): AgentEventDraft {
  const { id, timestamp, seq, streamId, runId, agentId, threadId, ...draft } = event as Record<string, unknown>;
  return draft as AgentEventDraft;
}
