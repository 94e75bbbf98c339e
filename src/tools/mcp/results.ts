import type { ContentPart, ToolResultData } from '../../contracts/index.js';
import { cutText } from '../../kernel/text.js';
import { plainWords, wellFormed } from './plain-words.js';

type Bag = Record<string, unknown>;

/** Characters of text of one result that the model is given. */
const MOST_TEXT = 200_000;
/** Media beyond this say their size. */
const LARGE_MEDIA_BYTES = 64 * 1_024;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]*\/[a-z0-9][a-z0-9.+-]*$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const isBag = (value: unknown): value is Bag => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * What a server answered a call, as our result. Text beyond 200,000 characters is cut for the model, says so, and stands
 * whole in `displayContent`. Of a kind that is not known the model gets the JSON.
 */
export function toResult({ content, structuredContent, isError }: Bag): ToolResultData {
  const parts = (Array.isArray(content) ? content : []).flatMap(toParts);
  if (parts.length === 0) {
    parts.push(textPart(structuredContent === undefined ? '' : JSON.stringify(structuredContent)));
  }
  return {
    ...boundedText(parts),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...(isError === true && { isError: true, errorType: 'mcp_tool_error' as const }),
  };
}

/** The contents of a resource that was read. */
export function toResourceResult({ contents }: Bag): ToolResultData {
  const parts = (Array.isArray(contents) ? contents : []).flatMap((resource) =>
    toParts({ type: 'resource', resource }),
  );
  return boundedText(parts.length > 0 ? parts : [textPart('')]);
}

function toParts(block: unknown): ContentPart[] {
  if (!isBag(block)) return [];
  switch (block.type) {
    case 'text':
      return [textPart(String(block.text ?? ''))];
    case 'image':
    case 'audio':
      return [mediaPart(block.mimeType, block.data, String(block.type))];
    case 'resource_link':
      return [linkPart(block)];
    case 'resource':
      return [resourcePart(isBag(block.resource) ? block.resource : {})];
    default:
      return [textPart(JSON.stringify(block))];
  }
}

const textPart = (text: string): ContentPart<'text'> => ({ type: 'text', text: wellFormed(text) });

/** What is no base64 would fail the model's next request, not only this call. */
function mediaPart(mimeType: unknown, data: unknown, kind: string): ContentPart {
  const isMedia = typeof mimeType === 'string' && MEDIA_TYPE.test(mimeType);
  if (!isMedia || typeof data !== 'string' || data === '' || data.length % 4 !== 0 || !BASE64.test(data)) {
    return textPart(`[${kind}${isMedia ? ` (${mimeType})` : ''} that cannot be read]`);
  }
  const bytes = Buffer.byteLength(data, 'base64');
  return { type: 'media', mimeType, data, ...(bytes > LARGE_MEDIA_BYTES && { _meta: { bytes } }) };
}

function linkPart({ uri, name, title, description, mimeType }: Bag): ContentPart {
  const words = plainWords(title, 200) || plainWords(name, 200) || plainWords(uri, 2_000);
  const about = plainWords(description, 2_000);
  return {
    type: 'reference',
    text: about === '' ? words : `${words}: ${about}`,
    ...place(uri, mimeType),
  };
}

function resourcePart({ uri, mimeType, text, blob }: Bag): ContentPart {
  if (typeof text === 'string') return { type: 'reference', text: wellFormed(text), ...place(uri, mimeType) };
  if (typeof mimeType === 'string' && /^(image|audio|video)\//i.test(mimeType)) {
    return mediaPart(mimeType, blob, mimeType);
  }
  return {
    type: 'reference',
    text: plainWords(uri, 2_000),
    ...place(uri, mimeType),
    ...(typeof blob === 'string' && { data: blob }),
  };
}

const place = (uri: unknown, mimeType: unknown) => ({
  ...(typeof uri === 'string' && { uri: wellFormed(uri) }),
  ...(typeof mimeType === 'string' && MEDIA_TYPE.test(mimeType) && { mimeType }),
});

function boundedText(parts: ContentPart[]): Pick<ToolResultData, 'llmContent' | 'displayContent' | 'contentLength'> {
  const total = parts.reduce((sum, part) => sum + ('text' in part ? part.text.length : 0), 0);
  if (total <= MOST_TEXT) return { llmContent: parts };
  let left = MOST_TEXT;
  const shown: ContentPart[] = [];
  for (const part of parts) {
    if (!('text' in part)) shown.push(part);
    else if (left > 0) shown.push({ ...part, text: cutText(part.text, left) });
    if ('text' in part) left -= part.text.length;
  }
  const note = textPart(`[cut: the first ${MOST_TEXT} of ${total} characters]`);
  return { llmContent: [...shown, note], displayContent: parts, contentLength: total };
}
