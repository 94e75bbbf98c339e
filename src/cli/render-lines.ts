import type { AgentEvent, OpenAgentEvent } from '../contracts/index.js';
import { compactJson, visibleLine } from './plain-text.js';
import type { Style } from './style.js';

/** One line, or none, for each event: what a log of a build server wants to hold. Streamed text is said once, whole. */
export function createLineRenderer(style: Style): { lines(event: OpenAgentEvent): string[] } {
  /** Text of each thread's message so far. */
  const messages = new Map<string, { messageId: string; text: string }>();

  const finishMessage = (threadId: string, agent: string): string[] => {
    const message = messages.get(threadId);
    messages.delete(threadId);
    if (message === undefined || message.text.trim() === '') return [];
    return [`${agent}: ${visibleLine(message.text.trim())}`];
  };

  return {
    lines(open) {
      const event = open as AgentEvent;
      const threadId = event.threadId ?? '';
      const agent = style('bold', visibleLine(label(event)));
      if (event.type === 'message') {
        if (event.role !== 'agent') return [];
        const current = messages.get(threadId);
        const before = current?.messageId === event.messageId ? [] : finishMessage(threadId, agent);
        const text = event.content
          .map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
          .join('');
        const goesOn = current?.messageId === event.messageId && event._meta?.replace !== true;
        messages.set(threadId, { messageId: event.messageId, text: (goesOn ? current.text : '') + text });
        return before;
      }
      // Figures and progress may stand between the increments of one message.
      if (event.type === 'usage' || event.type === 'tool_update') return [];
      const said = eventText(event, style);
      return [...finishMessage(threadId, agent), ...(said === undefined ? [] : [`${agent} ${said}`])];
    },
  };
}

/** The thread's path, or the agent's name at the root. */
function label(event: AgentEvent): string {
  return `[${event.threadId ?? event.agentId ?? 'host'}]`;
}

function eventText(event: AgentEvent, style: Style): string | undefined {
  switch (event.type) {
    case 'agent_started':
      return style('dim', 'started');
    case 'tool_request':
      return `${style('cyan', 'calls')} ${visibleLine(event.name)} ${visibleLine(compactJson(event.args))}`;
    case 'tool_response':
      if (event.isError !== true) return `${style('green', 'got')} ${visibleLine(event.name)}`;
      return `${style('red', 'error')} ${visibleLine(event.name)}: ${visibleLine(event.errorType ?? 'execution_failed')}${errorText(event)}`;
    case 'elicitation_request':
      return `${style('yellow', 'asks')} ${visibleLine(event.message)}`;
    case 'elicitation_response':
      return `${style('yellow', 'was answered')} ${visibleLine(event.action)}`;
    case 'agent_transfer':
      return `hands over to ${visibleLine(event.to)}${event.reason === undefined ? '' : `: ${visibleLine(event.reason)}`}`;
    case 'loop_iteration':
      return style('dim', `iteration ${event.iteration} of ${event.maxIterations}`);
    case 'error':
      return `${style('red', 'error')} ${visibleLine(`${event.code}: ${event.message}`)}`;
    case 'custom':
      return noticeText(event);
    case 'stream_end':
      return event.reason === 'completed'
        ? style('dim', 'completed')
        : style('yellow', `ended: ${visibleLine(event.reason)}`);
    default:
      return undefined;
  }
}

function errorText(event: AgentEvent<'tool_response'>): string {
  const text = event.llmContent.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
  return text === '' ? '' : ` (${visibleLine(text).slice(0, 200)})`;
}

/** What the host has to tell a person: the text of a `notice`. */
export function noticeText(event: AgentEvent<'custom'>): string | undefined {
  if (event.kind !== 'notice' || typeof event.data !== 'object' || event.data === null) return undefined;
  const { text, severity } = event.data as { text?: unknown; severity?: unknown };
  if (typeof text !== 'string') return undefined;
  return `${typeof severity === 'string' ? visibleLine(severity) : 'notice'}: ${visibleLine(text)}`;
}
