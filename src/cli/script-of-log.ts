import type { AgentEvent, ContentPart, ModelToolCall } from '../contracts/index.js';
import type { ScriptEntry } from '../models/scripted.js';

/** What the models of a session said, as a script that says it again. */
export interface LogScript {
  byAgent: Record<string, ScriptEntry[]>;
  calls: number;
}

interface Call {
  content: ContentPart[];
  toolCalls: ModelToolCall[];
  entry: ScriptEntry;
}

/**
 * One entry per model call that was answered, for each agent in the order in which the log has them. Calls that failed are
 * left out: a replay does not fail. A script knows agents, not threads: of two threads of one agent at once each may get
 * the other's answers.
 */
export async function scriptOf(events: AsyncIterable<AgentEvent>): Promise<LogScript> {
  const byAgent: Record<string, ScriptEntry[]> = Object.create(null);
  const byMessage = new Map<string, Call>();
  /** By thread: the usage of a call follows it. */
  const latest = new Map<string | undefined, Call>();

  const callOf = (event: AgentEvent<'message' | 'tool_request'>): Call | undefined => {
    const known = byMessage.get(event.messageId);
    if (known !== undefined || event.agentId === undefined) return known;
    const call: Call = { content: [], toolCalls: [], entry: {} };
    byMessage.set(event.messageId, call);
    byAgent[event.agentId] ??= [];
    byAgent[event.agentId]?.push(call.entry);
    return call;
  };

  for await (const event of events) {
    switch (event.type) {
      case 'message': {
        if (event.role !== 'agent') break;
        const call = callOf(event);
        call?.content.push(...event.content.map(withoutPlace));
        if (call !== undefined) latest.set(event.threadId, call);
        break;
      }
      case 'tool_request': {
        if (event.parentRequestId !== undefined || (event.initiator ?? 'agent') !== 'agent') break;
        const { name, args, thoughtSignature } = event;
        const call = callOf(event);
        call?.toolCalls.push({
          name,
          args: args as ModelToolCall['args'],
          ...(thoughtSignature !== undefined && { thoughtSignature }),
        });
        if (call !== undefined) latest.set(event.threadId, call);
        break;
      }
      case 'usage': {
        const { inputTokens, outputTokens, cachedTokens, thoughtTokens } = event;
        const call = latest.get(event.threadId);
        if (call === undefined || call.entry.usage !== undefined) break;
        call.entry.usage = {
          ...(inputTokens !== undefined && { inputTokens }),
          ...(outputTokens !== undefined && { outputTokens }),
          ...(cachedTokens !== undefined && { cachedTokens }),
          ...(thoughtTokens !== undefined && { thoughtTokens }),
        };
        break;
      }
      default:
    }
  }
  for (const { content, toolCalls, entry } of byMessage.values()) fill(entry, content, toolCalls);
  return { byAgent, calls: byMessage.size };
}

/** As short as a script can say it. */
function fill(entry: ScriptEntry, content: ContentPart[], toolCalls: ModelToolCall[]): void {
  const [only] = content;
  if (content.length === 1 && only?.type === 'text') entry.text = only.text;
  else if (content.length === 1 && only?.type === 'refusal') entry.refusal = only.text;
  else if (content.length > 0) entry.content = content;
  if (toolCalls.length > 0) entry.toolCalls = toolCalls;
  if (content.some((part) => part.type === 'refusal')) entry.finishReason = 'refusal';
}

function withoutPlace(part: ContentPart): ContentPart {
  const { _meta, ...rest } = part;
  return rest as ContentPart;
}
