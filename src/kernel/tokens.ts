import type { ContentPart, ModelMessage } from '../contracts/index.js';

const CHARS_PER_TOKEN = 4;
/** Beyond ASCII a character is about one token. */
const WIDE = /[^\x20-\x7e\s]/g;
/** What providers count for a picture of usual size. */
const MEDIA_TOKENS = 260;
const MESSAGE_OVERHEAD = 4;

/** Tokens of a text, estimated: providers count their own way, and seldom differ by more than a third. */
export function estimateTokens(text: string): number {
  const wide = text.match(WIDE)?.length ?? 0;
  return Math.ceil((text.length - wide) / CHARS_PER_TOKEN) + wide;
}

export function estimateMessage({ content }: ModelMessage): number {
  let tokens = MESSAGE_OVERHEAD;
  for (const part of content) tokens += estimatePart(part);
  return tokens;
}

function estimatePart(part: ContentPart): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return estimateTokens(part.text);
    case 'thought':
      return estimateTokens(part.thought);
    case 'media':
      return MEDIA_TOKENS;
    case 'function_call':
      return estimateTokens(part.name) + estimateTokens(JSON.stringify(part.args) ?? '');
    case 'function_response':
      return estimateTokens(part.name) + estimateResponse(part.response);
    default:
      return estimateTokens(JSON.stringify(part));
  }
}

/** A result may hold pictures: what they weigh is not how long their base64 is. */
function estimateResponse(response: unknown): number {
  const output = (response as { output?: unknown } | undefined)?.output;
  if (!Array.isArray(output)) return estimateTokens(JSON.stringify(response) ?? '');
  return output.reduce<number>((sum, part) => sum + estimatePart(part as ContentPart), 0);
}
