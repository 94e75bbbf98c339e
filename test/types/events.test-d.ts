import type {
  AgentEvent,
  AgentEventDraft,
  AgentEventType,
  ContentPart,
  ExecutorType,
  Open,
  OpenAgentEvent,
  PermissionMode,
  StreamEndReason,
  ToolCategory,
} from '../../src/contracts/index.js';
import { narrowEvent } from '../../src/kernel/narrow.js';
import type { Equal, Expect, IsAny, Not } from './equal.js';

declare module '../../src/contracts/events.js' {
  interface AgentEvents {
    /** As another package would add one. */
    'test.ping': { hops: number };
  }
}

declare module '../../src/contracts/content.js' {
  interface ContentParts {
    'test.chart': { points: number[] };
  }
}

declare const event: AgentEvent;
declare const part: ContentPart;

// Events narrow by `type`, and a case that is no type is an error.
export function readEvent(): unknown {
  switch (event.type) {
    case 'message':
      return [event.messageId.length, event.content.length, event.seq] satisfies number[];
    case 'tool_request':
      // @ts-expect-error a request has no result
      return event.llmContent;
    case 'tool_response':
      return event.llmContent satisfies ContentPart[];
    case 'stream_end':
      return event.reason satisfies string;
    case 'agent_started':
      return event.parentThreadId satisfies string | undefined;
    case 'test.ping':
      return event.hops satisfies number;
    // @ts-expect-error no such type
    case 'mesage':
      return undefined;
    default:
      // @ts-expect-error only the base is left
      return event.messageId;
  }
}

// Content parts narrow by `type`.
export function readPart(): unknown {
  switch (part.type) {
    case 'thought':
      return part.thoughtSignature satisfies string | undefined;
    case 'function_call':
      return part.id satisfies string;
    case 'test.chart':
      return part.points satisfies number[];
    case 'text':
      // @ts-expect-error a text has no address
      return part.uri;
    default:
      return part._meta;
  }
}

// Drafts take what an event of the type needs and nothing else.
export const draft: AgentEventDraft = { type: 'error', code: 'UNAVAILABLE', message: 'down', fatal: true };
export const added: AgentEventDraft<'test.ping'> = { type: 'test.ping', hops: 1 };
// @ts-expect-error `fatal` is missing
export const incomplete: AgentEventDraft = { type: 'error', code: 'UNAVAILABLE', message: 'down' };
// @ts-expect-error the host stamps `seq`
export const stamped: AgentEventDraft = { type: 'custom', kind: 'notice', seq: 1 };

// At the edge a type may be any string; inside it is one of the known.
export const foreign: OpenAgentEvent = { id: 'e1', timestamp: '', seq: 1, type: 'somebody.elses', extra: 1 };
export function narrowed(value: unknown): AgentEventType | undefined {
  const result = narrowEvent(value);
  return result.kind === 'known' ? result.value.type : undefined;
}

type Known<T> = Extract<T, 'completed' | 'plan' | 'local' | 'edit'>;

export type EventCases = [
  Expect<Equal<AgentEvent<'loop_iteration'>['iteration'], number>>,
  Expect<Equal<Extract<AgentEventType, 'agent_transfer' | 'test.ping'>, 'agent_transfer' | 'test.ping'>>,
  Expect<Equal<Extract<ContentPart['type'], 'test.chart'>, 'test.chart'>>,
  // Open strings keep what they know (an editor completes it) and take any other string.
  Expect<Equal<Known<StreamEndReason>, 'completed'>>,
  Expect<Equal<Known<PermissionMode>, 'plan'>>,
  Expect<Equal<Known<ExecutorType>, 'local'>>,
  Expect<Equal<Known<ToolCategory>, 'edit' | 'plan'>>,
  Expect<string extends Open<'a'> ? true : false>,
  Expect<Not<Equal<Open<'a'>, string>>>,
  Expect<Not<IsAny<AgentEvent>>>,
];
