import type { ContentPart, FinishReason, ModelResponse, ModelToolCall, ModelUsage } from '../../contracts/index.js';
import { ModelError } from '../../kernel/errors.js';
import type { WireNames } from '../../kernel/wire-names.js';
import { brokenStream } from './errors.js';
import type { Folder } from './exchange.js';
import type { Shape } from './frame-shape.js';

/** What is read of a frame; all of it may be missing. */
export interface GeminiFrame {
  candidates?: {
    index?: number;
    content?: { parts?: GeminiAnswerPart[] };
    finishReason?: string;
    finishMessage?: string;
  }[];
  promptFeedback?: { blockReason?: string; blockReasonMessage?: string };
  usageMetadata?: {
    promptTokenCount?: number;
    candidatesTokenCount?: number;
    cachedContentTokenCount?: number;
    thoughtsTokenCount?: number;
  };
}

export interface GeminiAnswerPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id?: string; name?: string; args?: Record<string, unknown> };
  inlineData?: { mimeType?: string; data?: string };
  fileData?: { mimeType?: string; fileUri?: string };
  executableCode?: { language?: string; code?: string };
  codeExecutionResult?: { outcome?: string; output?: string };
}

/** What the reader below relies on. */
export const GEMINI_FRAME: Shape = {
  fields: {
    candidates: {
      list: {
        fields: {
          index: 'any',
          content: {
            fields: {
              parts: {
                list: {
                  fields: {
                    text: 'text',
                    thought: 'any',
                    thoughtSignature: 'text',
                    functionCall: { fields: { id: 'text', name: 'text', args: 'any' } },
                    inlineData: { fields: { mimeType: 'text', data: 'text' } },
                    fileData: { fields: { mimeType: 'text', fileUri: 'text' } },
                    executableCode: { fields: { language: 'text', code: 'text' } },
                    codeExecutionResult: { fields: { outcome: 'text', output: 'text' } },
                  },
                },
              },
            },
          },
          finishReason: 'text',
          finishMessage: 'text',
        },
      },
    },
    promptFeedback: { fields: { blockReason: 'text', blockReasonMessage: 'text' } },
    usageMetadata: { fields: {} },
  },
};

const REFUSALS = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
]);
const MALFORMED = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
  'NO_IMAGE',
]);
/** The second is no reason of Gemini's own; servers that speak its protocol end tool calls with it. */
const STOPS = new Set(['STOP', 'FUNCTION_CALL']);

/**
 * Reads one streamed answer of Gemini. Text goes out as it comes; from the first call on everything is held until the
 * answer is known to be whole, so that a refusal or a cut never leaves a call behind, and order is kept.
 */
export function geminiFolder(names: WireNames): Folder<GeminiFrame> {
  const held: (ContentPart | { call: ModelToolCall })[] = [];
  let isHolding = false;
  let frames = 0;
  let hasParts = false;
  let hasAnswer = false;
  let calls = 0;
  let usage: ModelUsage | undefined;
  let reason: string | undefined;
  let blocked: string | undefined;

  function take(part: GeminiAnswerPart, content: ContentPart[]): void {
    hasParts = true;
    if (part.functionCall) {
      if (!part.functionCall.name) return;
      isHolding = true;
      calls++;
      held.push({ call: toCall(part, names) });
      return;
    }
    const ours = toPart(part);
    if (ours === undefined) return;
    if (ours.type !== 'thought' && !(ours.type === 'text' && ours.text.trim() === '')) hasAnswer = true;
    if (isHolding) held.push(ours);
    else content.push(ours);
  }

  return {
    push(frame) {
      frames++;
      usage = toUsage(frame.usageMetadata, usage);
      if (frame.promptFeedback?.blockReason) {
        blocked = frame.promptFeedback.blockReasonMessage ?? frame.promptFeedback.blockReason;
      }
      const content: ContentPart[] = [];
      const candidate = frame.candidates?.find(({ index }) => index === undefined || index === 0);
      for (const part of candidate?.content?.parts ?? []) take(part, content);
      // Every frame may end with STOP; what differs from it says more.
      if (candidate?.finishReason && (reason === undefined || STOPS.has(reason))) reason = candidate.finishReason;
      if (content.length === 0) return undefined;
      return usage === undefined ? { content } : { content, usage };
    },
    end() {
      const finish = judge();
      if (finish === 'refusal') {
        const text =
          blocked !== undefined ? `The prompt was blocked: ${blocked}.` : `The answer was withheld: ${reason}.`;
        return [last('refusal', [{ type: 'refusal', text }])];
      }
      if (finish === 'malformed') return [last('malformed', [])];
      return [...released(), last(finish, [])];
    },
  };

  function judge(): FinishReason {
    if (reason === undefined) {
      if (blocked !== undefined) return 'refusal';
      if (frames > 0 && !hasParts) return 'malformed';
      throw brokenStream('the stream of the provider ended without a finish reason');
    }
    if (STOPS.has(reason)) return calls > 0 ? 'tool_calls' : hasAnswer ? 'stop' : 'malformed';
    if (reason === 'MAX_TOKENS') return 'length';
    if (REFUSALS.has(reason)) return 'refusal';
    if (MALFORMED.has(reason)) return 'malformed';
    throw new ModelError({
      code: 'UNAVAILABLE',
      message: `the provider ended its answer with ${reason}`,
      retryable: true,
    });
  }

  function last(finishReason: FinishReason, content: ContentPart[]): ModelResponse {
    return usage === undefined ? { content, finishReason } : { content, finishReason, usage };
  }

  function released(): ModelResponse[] {
    return held.map((item) => ('call' in item ? { content: [], toolCalls: [item.call] } : { content: [item] }));
  }
}

function toCall({ functionCall, thoughtSignature }: GeminiAnswerPart, names: WireNames): ModelToolCall {
  const call: ModelToolCall = { name: names.back(functionCall?.name ?? ''), args: functionCall?.args ?? {} };
  if (functionCall?.id) call.id = functionCall.id;
  if (thoughtSignature) call.thoughtSignature = thoughtSignature;
  return call;
}

function toPart(part: GeminiAnswerPart): ContentPart | undefined {
  const { thoughtSignature } = part;
  const meta = thoughtSignature ? { _meta: { thoughtSignature } } : {};
  if (part.thought === true) {
    const thought = part.text ?? '';
    if (thought === '' && !thoughtSignature) return undefined;
    return thoughtSignature ? { type: 'thought', thought, thoughtSignature } : { type: 'thought', thought };
  }
  if (part.inlineData) {
    const { mimeType = 'application/octet-stream', data = '' } = part.inlineData;
    return { type: 'media', mimeType, data, ...meta };
  }
  if (part.fileData) {
    const { mimeType = 'application/octet-stream', fileUri = '' } = part.fileData;
    return { type: 'media', mimeType, uri: fileUri, ...meta };
  }
  if (part.executableCode) {
    return {
      type: 'code',
      language: (part.executableCode.language ?? '').toLowerCase(),
      code: part.executableCode.code ?? '',
      _meta: { ...meta._meta, providerExecuted: true },
    };
  }
  if (part.codeExecutionResult) {
    const { outcome, output = '' } = part.codeExecutionResult;
    return {
      type: 'code_result',
      output,
      exitCode: outcome === 'OUTCOME_OK' ? 0 : 1,
      _meta: { ...meta._meta, providerExecuted: true },
    };
  }
  // A signature may come alone: it belongs to the answer and has to go back.
  const text = part.text ?? '';
  return text === '' && !thoughtSignature ? undefined : { type: 'text', text, ...meta };
}

/** Each count is the total so far, so the last one counts. */
function toUsage(given: GeminiFrame['usageMetadata'], before: ModelUsage | undefined): ModelUsage | undefined {
  if (!given) return before;
  const usage: ModelUsage = { ...before };
  const { promptTokenCount, candidatesTokenCount, cachedContentTokenCount, thoughtsTokenCount } = given;
  if (typeof promptTokenCount === 'number') usage.inputTokens = promptTokenCount;
  if (typeof candidatesTokenCount === 'number') usage.outputTokens = candidatesTokenCount;
  if (typeof cachedContentTokenCount === 'number') usage.cachedTokens = cachedContentTokenCount;
  if (typeof thoughtsTokenCount === 'number') usage.thoughtTokens = thoughtsTokenCount;
  return Object.keys(usage).length === 0 ? undefined : usage;
}
