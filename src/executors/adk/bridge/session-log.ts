import type { AgentEvent, AgentEventDraft, ContentPart } from '../../../contracts/index.js';
import { toToolResult } from '../../../kernel/tool-result.js';
import { fromAdkPart } from '../parts.js';
import { usageOf } from '../translate.js';
import type { Event } from './sdk.js';

type LogDraft = AgentEventDraft & { id?: string; timestamp?: string; agentId?: string };

/** One event of ADK as events of our log: what it says, asks, answers and changes. The first carries it whole. */
export function toLogEvents(event: Event): LogDraft[] {
  const { id, author = '', content, actions, usageMetadata, errorCode, errorMessage } = event;
  const said: ContentPart[] = [];
  const drafts: LogDraft[] = [];
  for (const [index, part] of (content?.parts ?? []).entries()) {
    const { functionCall, functionResponse, thoughtSignature } = part;
    if (functionCall !== undefined) {
      const { id: requestId = `${id}.${index}`, name = '', args = {} } = functionCall;
      const signature = thoughtSignature === undefined ? {} : { thoughtSignature };
      drafts.push({ type: 'tool_request', requestId, name, args, messageId: id, index, ...signature });
    } else if (functionResponse !== undefined) {
      const { id: requestId = `${id}.${index}`, name = '', response = {} } = redacted(functionResponse);
      drafts.push({ type: 'tool_response', requestId, name, ...toToolResult(response) });
    } else {
      const ours = fromAdkPart(part);
      if (ours !== undefined) said.push(ours);
    }
  }
  if (said.length > 0)
    drafts.unshift({ type: 'message', messageId: id, role: author === 'user' ? 'user' : 'agent', content: said });
  const usage = usageOf(usageMetadata);
  if (usage !== undefined) drafts.push({ type: 'usage', ...usage });
  if (errorCode !== undefined)
    drafts.push({ type: 'error', code: errorCode, message: errorMessage ?? errorCode, fatal: false });
  const { stateDelta } = actions;
  if (Object.keys(stateDelta).length > 0) drafts.push({ type: 'session_update', stateDelta: { ...stateDelta } });
  if (drafts.length === 0) drafts.push({ type: 'custom', kind: 'adk_event' });
  const [first, ...rest] = drafts as [LogDraft, ...LogDraft[]];
  return [{ ...first, _meta: { adkEvent: stored(event) } }, ...rest].map((draft) => ({
    ...draft,
    ...(author !== '' && author !== 'user' && { agentId: author }),
    source: author === 'user' ? 'user' : 'agent',
  }));
}

/** The event of ADK that a log event carries; nothing for the others. */
export function toSessionEvent({ _meta }: AgentEvent): Event | undefined {
  const event = _meta?.adkEvent;
  return typeof event === 'object' && event !== null ? (structuredClone(event) as Event) : undefined;
}

/** A plain copy, without secrets. */
function stored(event: Event): unknown {
  const parts = event.content?.parts?.map((part) =>
    part.functionResponse === undefined ? part : { ...part, functionResponse: redacted(part.functionResponse) },
  );
  return JSON.parse(JSON.stringify(parts === undefined ? event : { ...event, content: { ...event.content, parts } }));
}

type Answer = NonNullable<NonNullable<NonNullable<Event['content']>['parts']>[number]['functionResponse']>;

/** A credential is for the run that asked for it: in a log it would be a secret in the open. */
function redacted(answer: Answer): Answer {
  if (answer.name !== 'adk_request_credential' || answer.response === undefined) return answer;
  const { exchangedAuthCredential, rawAuthCredential, ...rest } = answer.response;
  return { ...answer, response: { ...rest, redacted: true } };
}
