import type { ContentPart, ModelMessage, ModelRequest } from '../contracts/index.js';

/** What a provider puts around a message, a tool and a request. */
const FRAME_TOKENS = 16;
/** The dearest picture, and what a recording has at least bytes for per token. */
const MEDIA_TOKENS = 8_192;
const MEDIA_BYTES_PER_TOKEN = 32;

/** Messages of a history stay as they are: each is measured once. */
const known = new WeakMap<ModelMessage, number>();

/**
 * A number of tokens that a request will hardly exceed, whatever the tokenizer: half a token for each letter and space
 * of ASCII, one for each other byte.
 */
export function inputBound(request: ModelRequest): number {
  const { systemInstruction = '', messages, tools = [], outputSchema } = request;
  let sum = FRAME_TOKENS + textBound(systemInstruction);
  for (const message of messages) {
    let size = known.get(message);
    if (size === undefined) {
      size = FRAME_TOKENS + contentBound(message.content);
      known.set(message, size);
    }
    sum += size;
  }
  for (const { name, description, parametersSchema } of tools) {
    sum += FRAME_TOKENS + textBound(name) + textBound(description) + textBound(JSON.stringify(parametersSchema) ?? '');
  }
  if (outputSchema !== undefined) sum += textBound(JSON.stringify(outputSchema));
  return Math.ceil(sum);
}

/** The same for parts. */
export function contentBound(content: readonly ContentPart[]): number {
  let sum = 0;
  for (const part of content) {
    if (part.type === 'text') sum += textBound(part.text);
    else if (part.type === 'media') sum += MEDIA_TOKENS + (part.data?.length ?? 0) / MEDIA_BYTES_PER_TOKEN;
    else sum += textBound(JSON.stringify(part));
  }
  return Math.ceil(sum);
}

const LETTER_OR_SPACE = /[A-Za-z ]/g;

function textBound(text: string): number {
  const plain = text.match(LETTER_OR_SPACE)?.length ?? 0;
  return plain / 2 + (utf8Length(text) - plain);
}

/** Without an encoder: the kernel knows nothing of its platform. */
function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) bytes += unit > 0x7ff ? 2 : 1;
  }
  return bytes;
}
