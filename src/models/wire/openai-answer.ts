import type { ContentPart, FinishReason, ModelResponse, ModelUsage } from '../../contracts/index.js';
import { ModelError } from '../../kernel/errors.js';
import type { WireNames } from '../../kernel/wire-names.js';
import { type CallPiece, createCallAssembly } from './call-assembly.js';
import { brokenStream } from './errors.js';
import type { Folder } from './exchange.js';
import type { Shape } from './frame-shape.js';
import { appendDetails, keepReasoning } from './reasoning-details.js';

/** What is read of a chunk; all of it may be missing or null. */
export interface ChatFrame {
  choices?: ChatChoice[] | null;
  usage?: ChatUsage | null;
}

interface ChatChoice {
  index?: number;
  delta?: ChatDelta | null;
  /** A whole answer, from an endpoint that does not stream. */
  message?: ChatDelta | null;
  finish_reason?: string | null;
  /** The upstream's own word, from OpenRouter. */
  native_finish_reason?: string | null;
}

interface ChatDelta {
  content?: string | ({ type?: string; text?: string } | null)[] | null;
  refusal?: string | null;
  reasoning?: string | null;
  reasoning_content?: string | null;
  reasoning_details?: unknown;
  tool_calls?: CallPiece[] | null;
  images?: { image_url?: { url?: string } }[] | null;
}

interface ChatUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
  cost?: number | null;
}

const DELTA: Shape = {
  fields: {
    content: 'any',
    refusal: 'text',
    tool_calls: {
      list: { fields: { index: 'any', id: 'text', function: { fields: { name: 'text', arguments: 'any' } } } },
    },
    images: { list: { fields: { image_url: { fields: { url: 'text' } } } } },
  },
};

/** What the reader below relies on. */
export const CHAT_FRAME: Shape = {
  fields: {
    choices: {
      list: {
        fields: { index: 'any', delta: DELTA, message: DELTA, finish_reason: 'text', native_finish_reason: 'text' },
      },
    },
    usage: 'any',
  },
};

const STOPS = new Set(['stop', 'tool_calls', 'function_call', 'eos', 'end_turn', 'stop_sequence']);
const FINISHES: Readonly<Record<string, FinishReason>> = {
  length: 'length',
  max_tokens: 'length',
  content_filter: 'refusal',
  refusal: 'refusal',
  safety: 'refusal',
  malformed_function_call: 'malformed',
};
/** Words of an upstream that broke off, whatever the endpoint made of them. */
const NATIVE_FAILURE = /error|fail|abort|cancel|timeout|timed_out|overload|disconnect/;

/** Reads one streamed chat completion. Text goes out as it comes, calls at the end, when they are known to be whole. */
export function chatFolder(names: WireNames, options: { keepReasoning: boolean }): Folder<ChatFrame> {
  const calls = createCallAssembly();
  const details: Record<string, unknown>[] = [];
  let usage: ModelUsage | undefined;
  let reason: string | undefined;
  let native: string | undefined;
  let refusal = '';
  let hasAnswer = false;

  function take(delta: ChatDelta, content: ContentPart[]): void {
    const thought = delta.reasoning || delta.reasoning_content;
    if (typeof thought === 'string' && thought !== '') content.push({ type: 'thought', thought });
    if (options.keepReasoning) appendDetails(details, delta.reasoning_details);
    const text = textOfDelta(delta.content);
    if (text !== '') content.push({ type: 'text', text });
    if (text.trim() !== '') hasAnswer = true;
    for (const image of delta.images ?? []) {
      const media = toMedia(image.image_url?.url);
      if (media) content.push(media);
      if (media) hasAnswer = true;
    }
    refusal += delta.refusal ?? '';
    for (const piece of delta.tool_calls ?? []) calls.add(piece);
  }

  return {
    push(frame) {
      usage = toUsage(frame.usage, usage);
      const content: ContentPart[] = [];
      for (const choice of frame.choices ?? []) {
        if (choice.index !== undefined && choice.index !== 0) continue;
        const delta = choice.delta ?? choice.message;
        if (delta) take(delta, content);
        reason = choice.finish_reason || reason;
        native = choice.native_finish_reason || native;
      }
      if (content.length === 0) return undefined;
      return usage === undefined ? { content } : { content, usage };
    },
    end() {
      const finish = refusal === '' ? judge(reason, native) : 'refusal';
      if (finish === 'refusal') {
        const text = refusal === '' ? 'The answer was withheld by a content filter.' : refusal;
        return [last('refusal', [{ type: 'refusal', text }])];
      }
      if (finish === 'malformed') return [last('malformed', [])];
      const made = calls.finish({ isCut: finish === 'length' });
      if (finish === 'stop' && made.length === 0 && !hasAnswer) return [last('malformed', [])];
      const content = details.length === 0 ? [] : [keepReasoning(details)];
      const closing = last(finish === 'stop' && made.length > 0 ? 'tool_calls' : finish, content);
      if (made.length > 0) closing.toolCalls = made.map((call) => ({ ...call, name: names.back(call.name) }));
      return [closing];
    },
  };

  function last(finishReason: FinishReason, content: ContentPart[]): ModelResponse {
    return usage === undefined ? { content, finishReason } : { content, finishReason, usage };
  }
}

function judge(reason: string | undefined, native: string | undefined): FinishReason {
  const upstream = native?.toLowerCase();
  if (native !== undefined && NATIVE_FAILURE.test(native.toLowerCase())) throw failedWith(native);
  const said = reason?.toLowerCase() ?? upstream;
  if (said === undefined) throw brokenStream('the stream of the provider ended without a finish reason');
  // The upstream's own word says more than a plain stop.
  if (STOPS.has(said)) return (upstream === undefined ? undefined : FINISHES[upstream]) ?? 'stop';
  const finish = FINISHES[said];
  if (finish === undefined) throw failedWith(reason ?? said);
  return finish;
}

const failedWith = (reason: string): ModelError =>
  new ModelError({ code: 'UNAVAILABLE', message: `the provider ended its answer with ${reason}`, retryable: true });

function textOfDelta(content: ChatDelta['content']): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('');
}

function toMedia(url: string | undefined): ContentPart | undefined {
  if (url === undefined) return undefined;
  const inline = /^data:([^;,]+);base64,(.*)$/s.exec(url);
  if (inline) return { type: 'media', mimeType: inline[1] ?? '', data: inline[2] ?? '' };
  return { type: 'media', mimeType: 'image/*', uri: url };
}

/** Each count is the total so far, so the last one counts. */
function toUsage(given: ChatUsage | null | undefined, before: ModelUsage | undefined): ModelUsage | undefined {
  if (!given) return before;
  const usage: ModelUsage = { ...before };
  const cached = given.prompt_tokens_details?.cached_tokens;
  const thought = given.completion_tokens_details?.reasoning_tokens;
  if (typeof given.prompt_tokens === 'number') usage.inputTokens = given.prompt_tokens;
  if (typeof given.completion_tokens === 'number') usage.outputTokens = given.completion_tokens;
  if (typeof cached === 'number') usage.cachedTokens = cached;
  if (typeof thought === 'number') usage.thoughtTokens = thought;
  if (typeof given.cost === 'number') usage.cost = { usd: given.cost };
  return Object.keys(usage).length === 0 ? undefined : usage;
}
