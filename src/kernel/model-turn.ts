import type {
  AgentEventDraft,
  Bag,
  ContentPart,
  ModelResponse,
  ModelToolCall,
  ModelUsage,
  TurnContext,
  TurnEnd,
} from '../contracts/index.js';
import { ModelError } from './errors.js';
import { jsonFault } from './json-value.js';
import { narrowContentPart } from './narrow.js';
import { amountsIn } from './usage.js';

/** One model answer on its way to becoming a thread's events. */
export interface ModelTurn {
  /** Publishes the contents of one increment and keeps its calls. A promise when the consumer is behind. Throws where it is none. */
  take(increment: ModelResponse): undefined | Promise<void>;
  /** Publishes the usage of the call, once, from its last value. */
  publishUsage(): void;
  /** Asks for the calls, or ends the run. */
  finish(): TurnEnd | undefined;
  /** Nothing usable: a malformed call, or neither content (thoughts are none) nor calls. */
  readonly isMalformed: boolean;
  /** As the model said it last, by our name for it. */
  readonly finishReason: string | undefined;
  /** Something of it has reached the consumer. */
  readonly hasSpoken: boolean;
  /** And more than thoughts. */
  readonly hasAnswered: boolean;
}

type Target = Pick<TurnContext, 'publish' | 'newMessageId' | 'toolsOff'>;

/** `routing`: how the call came to its model; goes with its usage. */
export const createModelTurn = (context: Target, modelName: string, routing?: Bag): ModelTurn =>
  new Turn(context, modelName, routing);

/** What no model may say: nothing of it goes into a log. */
function assertAnswer(answer: ModelResponse): void {
  if (typeof answer !== 'object' || answer === null) throw nonsense('it is no object');
  const { content, toolCalls } = answer;
  if (!Array.isArray(content)) throw nonsense('content is no list of parts');
  for (const part of content) {
    const text = part?.type === 'thought' ? part.thought : part?.type === 'text' ? part.text : '';
    if (typeof part?.type !== 'string' || typeof text !== 'string') throw nonsense('a part of it has no text');
    if (part.type === 'text') continue;
    if (part.type === 'thought' && (part.thoughtSignature === undefined || typeof part.thoughtSignature === 'string'))
      continue;
    if (part.type === 'function_call' || part.type === 'function_response')
      throw nonsense(`a ${part.type} is no content of an answer: calls stand in toolCalls`);
    const read = narrowContentPart(part);
    if (read.kind === 'invalid') throw nonsense(`a part of it is none: ${read.reason}`);
    if (jsonFault(part) !== undefined) throw nonsense('a part of it is no JSON');
  }
  if (toolCalls === undefined) return;
  if (!Array.isArray(toolCalls)) throw nonsense('toolCalls is no list');
  for (const call of toolCalls) {
    if (typeof call?.name !== 'string' || call.name === '') throw nonsense('a tool call has no name');
    if (call.id !== undefined && typeof call.id !== 'string') throw nonsense('the id of a tool call is no text');
  }
}

/** Of one answer, thoughts included, and of the calls in it: far beyond any model's own limit. More never stops. */
const MOST_CHARACTERS = 8_388_608;
const MOST_CALLS = 10_000;

const nonsense = (what: string) =>
  new ModelError({ code: 'INVALID_RESPONSE', message: `the model answered with what is no answer: ${what}` });

/** Names that providers have for what is called otherwise here. */
const FINISHES: ReadonlyMap<string, string> = new Map([
  ['safety', 'refusal'],
  ['SAFETY', 'refusal'],
  ['content_filter', 'refusal'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
]);

const brokenOff = () =>
  new ModelError({ code: 'UNAVAILABLE', message: 'the model ended its answer with an error', retryable: true });

/** A text of no characters; one that carries something beside it, such as a signature, is more than that. */
const isNothing = (part: ContentPart): boolean => part.type === 'text' && part.text === '' && part._meta === undefined;

/** A class, not an object with getters: there is one per model call. */
class Turn implements ModelTurn {
  hasSpoken = false;
  hasAnswered = false;
  #hasRefused = false;
  readonly #messageId: string;
  readonly #calls: { call: ModelToolCall; index: number }[] = [];
  #usage: ModelUsage | undefined;
  finishReason: string | undefined;
  /** Place of the next part among the message's parts, as they stand joined. */
  #parts = 0;
  #lastKind = '';
  #size = 0;

  constructor(
    private readonly context: Target,
    private readonly modelName: string,
    private readonly routing: Bag | undefined,
  ) {
    this.#messageId = context.newMessageId();
  }

  take(increment: ModelResponse): undefined | Promise<void> {
    assertAnswer(increment);
    // A provider that has nothing to say may say so with null.
    if (typeof increment.usage === 'object' && increment.usage !== null) {
      this.#usage = { ...this.#usage, ...amountsIn(increment.usage) };
    }
    const { content, toolCalls, finishReason } = increment;
    if (finishReason !== undefined) this.finishReason = FINISHES.get(finishReason) ?? finishReason;
    let full: undefined | void | Promise<void>;
    if (content.length > 0 && !content.every(isNothing)) {
      const isFirst = !this.hasSpoken;
      this.hasSpoken = true;
      const draft: AgentEventDraft<'message'> = {
        type: 'message',
        messageId: this.#messageId,
        role: 'agent',
        content: this.#place(content),
      };
      if (isFirst && this.routing !== undefined) draft._meta = { routing: this.routing };
      full = this.context.publish(draft);
    }
    if (toolCalls !== undefined) {
      for (const call of toolCalls) this.#calls.push({ call, index: this.#parts++ });
      if (this.#calls.length > MOST_CALLS) throw nonsense(`it asks for more than ${MOST_CALLS} tool calls`);
      if (toolCalls.length > 0) this.#lastKind = 'call';
    }
    if (this.#size > MOST_CHARACTERS) throw nonsense(`it has more than ${MOST_CHARACTERS} characters`);
    if (finishReason === 'error') throw brokenOff();
    return full instanceof Promise ? full : undefined;
  }

  #place(content: ContentPart[]): ContentPart[] {
    let marked = content;
    for (let at = 0; at < content.length; at++) {
      const part = content[at] as ContentPart;
      if (part.type === 'text') this.#size += part.text.length;
      else if (part.type === 'thought') this.#size += part.thought.length;
      else if (part.type === 'refusal') this.#hasRefused = true;
      if (part.type !== 'thought' && !isNothing(part)) this.hasAnswered = true;
      const mayJoin = (part.type === 'text' || part.type === 'thought') && part._meta === undefined;
      const joins = mayJoin && part.type === this.#lastKind;
      // What stands on both sides of a call stays apart: the call's place among the parts depends on it.
      const isMarked = mayJoin && this.#lastKind === 'call';
      if (isMarked) {
        if (marked === content) marked = [...content];
        marked[at] = { ...part, _meta: { index: this.#parts } };
      }
      if (!joins) this.#parts++;
      const isClosed =
        isMarked || part._meta !== undefined || (part.type === 'thought' && part.thoughtSignature !== undefined);
      this.#lastKind = isClosed ? 'closed' : part.type;
    }
    return marked;
  }

  publishUsage(): void {
    if (this.#usage === undefined) return;
    const draft: AgentEventDraft<'usage'> = { type: 'usage', model: this.modelName, ...this.#usage };
    if (this.routing !== undefined) draft._meta = { routing: this.routing };
    void this.context.publish(draft);
    this.#usage = undefined;
  }

  finish(): TurnEnd | undefined {
    if (this.#hasRefused || this.finishReason === 'refusal') return { reason: 'refusal' };
    if (this.#calls.length === 0 || this.context.toolsOff) {
      return this.finishReason === 'length'
        ? { reason: 'completed', data: { finishReason: 'length' } }
        : { reason: 'completed' };
    }
    for (const { call, index } of this.#calls) {
      const _meta: Record<string, unknown> = {};
      if (call.id !== undefined) _meta.providerId = call.id;
      if (call.brokenArgs !== undefined) _meta.brokenArgs = call.brokenArgs;
      // Who reads a log that stops between two of them knows that there were more.
      if (this.#calls.length > 1) _meta.calls = this.#calls.length;
      void this.context.publish({
        type: 'tool_request',
        requestId: call.id ?? '',
        name: call.name,
        args: call.args,
        messageId: this.#messageId,
        index,
        ...(call.thoughtSignature !== undefined && { thoughtSignature: call.thoughtSignature }),
        ...(Object.keys(_meta).length > 0 && { _meta }),
      });
    }
    return undefined;
  }

  get isMalformed(): boolean {
    if (this.finishReason === 'malformed') return true;
    // Nothing because it was refused or cut off is something else.
    const isEmpty = !this.hasAnswered && this.#calls.length === 0;
    return isEmpty && this.finishReason !== 'refusal' && this.finishReason !== 'length';
  }
}
