import type {
  ContentPart,
  ModelResponse,
  ModelToolCall,
  ModelUsage,
  TurnContext,
  TurnEnd,
} from '../contracts/index.js';

/** One model answer on its way to becoming a thread's events. */
export interface ModelTurn {
  /** Publishes the contents of one increment and keeps its calls. A promise when the consumer is behind. */
  take(increment: ModelResponse): undefined | Promise<void>;
  /** Publishes the usage of the call, once, from its last value. */
  publishUsage(): void;
  /** Asks for the calls, or ends the run. */
  finish(): TurnEnd | undefined;
  /** A finish reason has come. */
  readonly isFinished: boolean;
  /** Nothing usable: a malformed call, or neither content (thoughts are none) nor calls. */
  readonly isMalformed: boolean;
  /** Something of it has reached the consumer. */
  readonly hasSpoken: boolean;
  /** And more than thoughts. */
  readonly hasAnswered: boolean;
}

type Target = Pick<TurnContext, 'publish' | 'newMessageId' | 'toolsOff'>;

export function createModelTurn(context: Target, modelName: string): ModelTurn {
  const messageId = context.newMessageId();
  const calls: { call: ModelToolCall; index: number }[] = [];
  let usage: ModelUsage | undefined;
  let finishReason: string | undefined;
  let hasSpoken = false;
  let hasAnswered = false;
  let hasRefused = false;
  // Place of the next part among the message's parts, as they stand joined.
  let parts = 0;
  let lastKind = '';

  function place(content: ContentPart[]): ContentPart[] {
    let marked = content;
    content.forEach((part, at) => {
      if (part.type === 'refusal') hasRefused = true;
      if (part.type !== 'thought') hasAnswered = true;
      const mayJoin = (part.type === 'text' || part.type === 'thought') && part._meta === undefined;
      const joins = mayJoin && part.type === lastKind;
      // What stands on both sides of a call stays apart: the call's place among the parts depends on it.
      const isMarked = mayJoin && lastKind === 'call';
      if (isMarked) {
        if (marked === content) marked = [...content];
        marked[at] = { ...part, _meta: { index: parts } };
      }
      if (!joins) parts++;
      const isClosed =
        isMarked || part._meta !== undefined || (part.type === 'thought' && part.thoughtSignature !== undefined);
      lastKind = isClosed ? 'closed' : part.type;
    });
    return marked;
  }

  return {
    take(increment) {
      if (increment.usage !== undefined) usage = { ...usage, ...increment.usage };
      if (increment.finishReason !== undefined) finishReason = increment.finishReason;
      const { content } = increment;
      let full: undefined | void | Promise<void>;
      if (content.length > 0) {
        hasSpoken = true;
        full = context.publish({ type: 'message', messageId, role: 'agent', content: place(content) });
      }
      for (const call of increment.toolCalls ?? []) {
        calls.push({ call, index: parts++ });
        lastKind = 'call';
      }
      return full instanceof Promise ? full : undefined;
    },

    publishUsage() {
      if (usage === undefined) return;
      void context.publish({ type: 'usage', model: modelName, ...usage });
      usage = undefined;
    },

    finish() {
      if (hasRefused || finishReason === 'refusal') return { reason: 'refusal' };
      if (calls.length === 0 || context.toolsOff) {
        return finishReason === 'length'
          ? { reason: 'completed', data: { finishReason: 'length' } }
          : { reason: 'completed' };
      }
      for (const { call, index } of calls) {
        const _meta: Record<string, unknown> = {};
        if (call.id !== undefined) _meta.providerId = call.id;
        if (call.brokenArgs !== undefined) _meta.brokenArgs = call.brokenArgs;
        void context.publish({
          type: 'tool_request',
          requestId: call.id ?? '',
          name: call.name,
          args: call.args,
          messageId,
          index,
          ...(call.thoughtSignature !== undefined && { thoughtSignature: call.thoughtSignature }),
          ...(Object.keys(_meta).length > 0 && { _meta }),
        });
      }
      return undefined;
    },

    get isFinished() {
      return finishReason !== undefined;
    },
    get isMalformed() {
      if (finishReason === 'malformed') return true;
      // Nothing because it was refused or cut off is something else.
      const isEmpty = !hasAnswered && calls.length === 0;
      return isEmpty && finishReason !== 'refusal' && finishReason !== 'length';
    },
    get hasSpoken() {
      return hasSpoken;
    },
    get hasAnswered() {
      return hasAnswered;
    },
  };
}
