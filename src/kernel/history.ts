import type { ContentPart, ModelMessage, ToolResultData } from '../contracts/index.js';
import { type Compaction, compacted } from './compaction.js';
import { textOf } from './content.js';
import { refersToMedia } from './kept-media.js';
import { shortened, shortenedParts } from './long-output.js';
import { estimateMessage } from './tokens.js';

/** A call as it stands in the model's history. */
export interface HistoryCall {
  requestId: string;
  /** What the model said: an agent's own tool without its `agentName.` prefix. */
  name: string;
  args: unknown;
  messageId: string;
  index: number;
  thoughtSignature?: string | undefined;
}

type Response = Pick<ToolResultData, 'llmContent' | 'isError' | 'outputFile'>;

interface Round {
  readonly messageId: string;
  readonly parts: ContentPart[];
  readonly calls: HistoryCall[];
  /** Made with the first response. */
  responses: Map<string, ContentPart> | undefined;
}

/**
 * The history of one thread as a model sees it, kept up event by event (O(1) each). Pairing always holds in what
 * `messages()` gives: a model message's calls stay in it where they were, and their responses stand together in one
 * `user` message right behind it, in call order. A model message with an unanswered call is held back.
 */
export interface History {
  /** A snapshot: later events do not change it. */
  messages(): ModelMessage[];
  readonly length: number;
  user(content: readonly ContentPart[]): void;
  /** A whole agent message. */
  model(messageId: string, content: readonly ContentPart[]): void;
  call(call: HistoryCall): void;
  /** Takes the model's last message, with its calls, out again: it was broken off, and is asked for anew. */
  discard(messageId: string): void;
  /** A text that is too long for a model is shortened here; the log has all of it. */
  response(requestId: string, result: Response): void;
  /** Answers what is open with an error: a damaged log has lost the answers, or a run has ended without them. */
  closeOpen(): void;
  /** Puts `messages` in front: what another thread said before this one began. */
  preload(messages: readonly ModelMessage[]): void;
  /** Forgets all of it. */
  clear(): void;
  readonly openCalls: number;
  /** Something of it is media that is kept apart: what is sent has it in its place. */
  readonly refersToMedia: boolean;
  /** What goes to a model from now on: `messages()` from `from` on, or what the last compaction leaves of them. */
  outgoing(from: number): ModelMessage[];
  /** Estimated tokens of `outgoing(from)`; each message is looked at once in its life. */
  outgoingTokens(from: number): number;
  /** Estimated tokens of each of `messages()`. */
  tokens(): readonly number[];
  /** From now on. The log keeps what was said; `messages()` does not change. */
  compact(compaction: Compaction): void;
}

export const createHistory = (): History => new ThreadHistory();

/** A class, not closures: there is one per session. */
class ThreadHistory implements History {
  refersToMedia = false;
  #done: ModelMessage[] = [];
  #round: Round | undefined;
  /** A user's words that came while calls were open stand behind the answers. */
  #heldBack: ModelMessage[] | undefined;
  #compaction: Compaction | undefined;
  /** Tokens of the front that a compaction left, once counted. */
  #frontTokens = 0;
  /** Made when first asked for. */
  #tokens: number[] | undefined;

  messages(): ModelMessage[] {
    if (this.#round !== undefined && !this.#isOpen()) this.#closeRound();
    return this.#done.slice();
  }

  outgoing(from: number): ModelMessage[] {
    const messages = this.messages();
    const compaction = this.#compaction;
    if (compaction === undefined || compaction.upTo <= from) return from > 0 ? messages.slice(from) : messages;
    return compacted(messages, compaction);
  }

  outgoingTokens(from: number): number {
    const tokens = this.tokens();
    const compaction = this.#compaction;
    const isCompacted = compaction !== undefined && compaction.upTo > from;
    let sum = isCompacted ? this.#frontTokens : 0;
    for (let at = isCompacted ? compaction.upTo : from; at < tokens.length; at++) sum += tokens[at] as number;
    return sum;
  }

  tokens(): readonly number[] {
    if (this.#round !== undefined && !this.#isOpen()) this.#closeRound();
    this.#tokens ??= [];
    for (let at = this.#tokens.length; at < this.#done.length; at++) {
      this.#tokens.push(estimateMessage(this.#done[at] as ModelMessage));
    }
    return this.#tokens;
  }

  compact(compaction: Compaction): void {
    this.#compaction = compaction;
    const [front] = compacted(this.messages(), compaction);
    this.#frontTokens = front === undefined ? 0 : estimateMessage(front);
  }

  get length(): number {
    return this.#done.length + (this.#heldBack?.length ?? 0) + (this.#round === undefined ? 0 : 1);
  }

  get openCalls(): number {
    return this.#round === undefined ? 0 : this.#round.calls.length - (this.#round.responses?.size ?? 0);
  }

  user(content: readonly ContentPart[]): void {
    if (refersToMedia(content)) this.refersToMedia = true;
    const message: ModelMessage = { role: 'user', content: [...content] };
    if (this.#isOpen()) {
      this.#heldBack ??= [];
      this.#heldBack.push(message);
    } else {
      this.#closeRound();
      this.#done.push(message);
    }
  }

  model(messageId: string, content: readonly ContentPart[]): void {
    if (refersToMedia(content)) this.refersToMedia = true;
    this.#openRound(messageId).parts.push(...content);
  }

  call(call: HistoryCall): void {
    this.#openRound(call.messageId).calls.push(call);
  }

  response(requestId: string, result: Response): void {
    const round = this.#round;
    const call = round?.calls.find((candidate) => candidate.requestId === requestId);
    if (round === undefined || call === undefined) return;
    round.responses ??= new Map();
    if (refersToMedia(result.llmContent)) this.refersToMedia = true;
    round.responses.set(requestId, toFunctionResponse(call, result));
    if (round.responses.size === round.calls.length) this.#closeRound();
  }

  discard(messageId: string): void {
    if (this.#round?.messageId !== messageId) return;
    this.#round = undefined;
    if (this.#heldBack === undefined) return;
    this.#done.push(...this.#heldBack);
    this.#heldBack = undefined;
  }

  closeOpen(): void {
    const round = this.#round;
    if (round === undefined || !this.#isOpen()) return;
    round.responses ??= new Map();
    for (const call of round.calls) {
      if (!round.responses.has(call.requestId)) round.responses.set(call.requestId, toFunctionResponse(call, LOST));
    }
    this.#closeRound();
  }

  preload(messages: readonly ModelMessage[]): void {
    if (messages.some(({ content }) => refersToMedia(content))) this.refersToMedia = true;
    this.#done = [...messages, ...this.#done];
    this.#tokens = undefined;
  }

  clear(): void {
    this.#done = [];
    this.#round = undefined;
    this.#heldBack = undefined;
    this.#compaction = undefined;
    this.#frontTokens = 0;
    this.#tokens = undefined;
  }

  #isOpen(): boolean {
    return this.#round !== undefined && (this.#round.responses?.size ?? 0) < this.#round.calls.length;
  }

  #openRound(messageId: string): Round {
    if (this.#round !== undefined && this.#round.messageId !== messageId) {
      this.closeOpen();
      this.#closeRound();
    }
    this.#round ??= { messageId, parts: [], calls: [], responses: undefined };
    return this.#round;
  }

  #closeRound(): void {
    if (this.#round === undefined) return;
    const { parts, calls, responses } = this.#round;
    this.#round = undefined;
    const content = placeCalls(parts, calls);
    if (content.length > 0) this.#done.push({ role: 'model', content });
    if (calls.length > 0) {
      const answers = calls.map((call) => responses?.get(call.requestId) as ContentPart);
      this.#done.push({ role: 'user', content: answers });
    }
    if (this.#heldBack === undefined) return;
    this.#done.push(...this.#heldBack);
    this.#heldBack = undefined;
  }
}

const LOST: Response = {
  llmContent: [{ type: 'text', text: 'its answer was lost with a part of the log' }],
  isError: true,
};

/** The parts of a model message with its calls where `index` says. */
function placeCalls(parts: readonly ContentPart[], calls: readonly HistoryCall[]): ContentPart[] {
  if (calls.length === 0) return [...parts];
  const placed: ContentPart[] = [];
  let nextPart = 0;
  for (const call of [...calls].sort((a, b) => a.index - b.index)) {
    while (placed.length < call.index && nextPart < parts.length) placed.push(parts[nextPart++] as ContentPart);
    const part: ContentPart = { type: 'function_call', name: call.name, args: call.args, id: call.requestId };
    if (call.thoughtSignature !== undefined) part.thoughtSignature = call.thoughtSignature;
    placed.push(part);
  }
  while (nextPart < parts.length) placed.push(parts[nextPart++] as ContentPart);
  return placed;
}

/** Parts are things of their own, unlike the increments of a message: each begins on a line of its own. */
function linesOf(parts: readonly ContentPart[]): string {
  return parts.length < 2 ? textOf(parts) : parts.map((part) => textOf([part])).join('\n');
}

/** `response` is text where the result is text, else the parts. */
function toFunctionResponse(call: HistoryCall, { llmContent, isError, outputFile }: Response): ContentPart {
  const isText = llmContent.every((part) => part.type === 'text');
  const value = isText ? shortened(linesOf(llmContent), outputFile) : shortenedParts(llmContent, outputFile);
  return {
    type: 'function_response',
    name: call.name,
    id: call.requestId,
    response: isError ? { error: value } : { output: value },
  };
}

/**
 * Every call has its response right behind it, and no response stands without its call. Returns what is broken, in
 * words; empty when nothing is.
 */
export function findBrokenPairs(messages: readonly ModelMessage[]): string[] {
  const broken: string[] = [];
  messages.forEach((message, at) => {
    const calls = message.content.filter((part) => part.type === 'function_call').map((part) => part.id);
    const next = messages[at + 1];
    const answers = (next?.content ?? []).filter((part) => part.type === 'function_response').map((part) => part.id);
    if (calls.length > 0 && calls.join() !== answers.join()) {
      broken.push(`message ${at} calls [${calls}] but is followed by responses to [${answers}]`);
    }
    const own = message.content.filter((part) => part.type === 'function_response').map((part) => part.id);
    const before = (messages[at - 1]?.content ?? [])
      .filter((part) => part.type === 'function_call')
      .map((part) => part.id);
    if (own.length > 0 && own.join() !== before.join()) {
      broken.push(`message ${at} answers [${own}] but follows calls of [${before}]`);
    }
  });
  return broken;
}
