import type { AgentEvent, AgentEventDraft } from '../../src/contracts/index.js';

export type Step = AgentEventDraft & { thread?: string; by?: string; at?: string };

/** Stamped events from drafts; a second passes between one and the next. */
export function eventList(...steps: readonly Step[]): AgentEvent[] {
  return steps.map(({ thread, by, at, ...draft }, index) => ({
    ...draft,
    id: `e${index}`,
    seq: index + 1,
    timestamp: at ?? new Date(Date.parse('2026-01-01T00:00:00.000Z') + index * 1_000).toISOString(),
    ...(thread === undefined ? {} : { threadId: thread }),
    ...(by === undefined ? {} : { agentId: by }),
  })) as AgentEvent[];
}

export const initialize = (name: string, model?: string): AgentEventDraft<'initialize'> => ({
  type: 'initialize',
  sessionId: 's1',
  agent: { name, description: '' },
  interfaceVersion: '1.0.0',
  capabilities: [],
  ...(model === undefined ? {} : { model }),
});

export const says = (text: string, messageId = 'm1'): AgentEventDraft<'message'> => ({
  type: 'message',
  messageId,
  role: 'agent',
  content: [{ type: 'text', text }],
});

export const asked = (text: string): AgentEventDraft<'message'> => ({
  type: 'message',
  messageId: 'u1',
  role: 'user',
  content: [{ type: 'text', text }],
});

export const calls = (name: string, args: unknown, requestId = 'r1'): AgentEventDraft<'tool_request'> => ({
  type: 'tool_request',
  requestId,
  name,
  args,
  messageId: 'm1',
  index: 0,
});

export const returns = (name: string, requestId = 'r1'): AgentEventDraft<'tool_response'> => ({
  type: 'tool_response',
  requestId,
  name,
  llmContent: [],
});

export const asks = (
  message: string,
  more: Partial<AgentEventDraft<'elicitation_request'>> = {},
): AgentEventDraft<'elicitation_request'> => ({
  requestId: 'q1',
  kind: 'clarification',
  message,
  ...more,
  type: 'elicitation_request',
});

export const confirms = (tool: string, args: unknown, requestId = 'q1'): AgentEventDraft<'elicitation_request'> => ({
  type: 'elicitation_request',
  requestId,
  kind: 'tool_confirmation',
  message: `Allow ${tool}?`,
  context: { tool, args, principalPath: 'report/writer' },
});

export const ends = (reason: string): AgentEventDraft<'stream_end'> => ({ type: 'stream_end', reason });
