import type { AgentEventDraft } from '../contracts/index.js';

/** Kinds that the host reads back from a log. */
const HOST_KINDS: ReadonlySet<string> = new Set([
  'tool_started',
  'tool_pending',
  'stale_result',
  'context',
  'context_cleared',
  'decision',
  'interrupted',
  'steer',
  'stop',
]);
/** The host stamps these: where an event comes from is not the executor's to say. */
const STAMPED = ['id', 'seq', 'timestamp', 'threadId', 'agentId', 'runId', 'streamId'];

/** What an executor may say of what it said; undefined where the event is the host's alone. */
export function ownDraft(draft: AgentEventDraft): AgentEventDraft | undefined {
  switch (draft.type) {
    case 'initialize':
    case 'tool_response':
    case 'elicitation_response':
    case 'agent_started':
    case 'agent_completed':
    case 'agent_transfer':
    case 'loop_iteration':
      return undefined;
    case 'custom':
      return HOST_KINDS.has(draft.kind) ? undefined : unstamped(draft);
    case 'session_update': {
      // Rights, tools and state are not changed by announcing that they are.
      const { model, title, config, _meta } = draft;
      return {
        type: 'session_update',
        ...(model !== undefined && { model }),
        ...(title !== undefined && { title }),
        ...(config !== undefined && { config }),
        ...(_meta !== undefined && { _meta }),
      };
    }
    default:
      return unstamped(draft);
  }
}

function unstamped(draft: AgentEventDraft): AgentEventDraft {
  if (!STAMPED.some((key) => key in draft)) return draft;
  const fields = Object.entries(draft).filter(([key]) => !STAMPED.includes(key));
  return Object.fromEntries(fields) as unknown as AgentEventDraft;
}
