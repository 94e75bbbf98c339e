import type { AgentEventDraft } from '../contracts/index.js';
import { jsonFault } from '../kernel/json-value.js';
import { narrowContentPart, narrowEventDraft } from '../kernel/narrow.js';

/** What another's session said, told apart once. `nested`: it comes from a thread below that session's own. */
export type ForeignEvent =
  | { kind: 'known'; draft: AgentEventDraft; nested: boolean }
  | { kind: 'unknown'; draft: AgentEventDraft }
  | { kind: 'invalid'; reason: string };

/** Reads what a session of another's making yielded. What only a host may stamp is left out of the draft. */
export function readForeignEvent(value: unknown): ForeignEvent {
  const narrowed = narrowEventDraft(value);
  if (narrowed.kind === 'invalid') return narrowed;
  const fault = jsonFault(value) ?? faultInside(narrowed.value as AgentEventDraft);
  if (fault !== undefined) return { kind: 'invalid', reason: `${narrowed.value.type}: ${fault.trim()}` };
  const { id, seq, timestamp, streamId, runId, agentId, threadId, source, ...draft } = narrowed.value as Record<
    string,
    unknown
  >;
  return narrowed.kind === 'known'
    ? { kind: 'known', draft: draft as AgentEventDraft, nested: threadId !== undefined }
    : { kind: 'unknown', draft: draft as AgentEventDraft };
}

/** What would be believed further on and is not looked at again. */
function faultInside(draft: AgentEventDraft): string | undefined {
  switch (draft.type) {
    case 'message':
      return faultInParts(draft.content);
    case 'tool_response':
      return faultInParts(draft.llmContent);
    case 'stream_end': {
      const { data }: { data?: unknown } = draft;
      return data === undefined || (typeof data === 'object' && data !== null && !Array.isArray(data))
        ? undefined
        : 'data must be an object';
    }
    default:
      return undefined;
  }
}

function faultInParts(parts: readonly unknown[]): string | undefined {
  for (const part of parts) {
    const narrowed = narrowContentPart(part);
    if (narrowed.kind === 'invalid') return `a part: ${narrowed.reason}`;
  }
  return undefined;
}
