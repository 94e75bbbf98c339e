import type { AgentEvent } from '../../src/contracts/index.js';

/** An event in a line, without what differs from process to process (ids that are drawn, times). */
export function lineFor(event: AgentEvent): string {
  return [`#${event.seq}`, event.threadId ?? 'root', event.type, ...about(event)].join(' ');
}

function about(event: AgentEvent): string[] {
  switch (event.type) {
    case 'message':
      return [event.role, JSON.stringify(event.content).slice(0, 80)];
    case 'tool_request':
      return [event.requestId, event.name];
    case 'tool_response':
      return [event.requestId, event.isError ? String(event.errorType ?? 'error') : 'ok'];
    case 'elicitation_request':
      return [event.requestId, event.kind, String(event.context?.toolRequestId ?? '')];
    case 'elicitation_response':
      return [event.requestId, event.action];
    case 'tool_update':
      return [event.requestId, String(event.status ?? '')];
    case 'error':
      return [event.code, JSON.stringify(event.message)];
    case 'stream_end':
      return [event.reason, String(event.data?.code ?? '')];
    case 'agent_completed':
      return [event.reason];
    case 'custom':
      return [event.kind, JSON.stringify((event.data as { code?: unknown } | undefined)?.code ?? '')];
    default:
      return [];
  }
}
