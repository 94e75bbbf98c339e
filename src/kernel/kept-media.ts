import type { AgentEvent, ContentPart, ModelMessage } from '../contracts/index.js';
import type { MediaPart } from './part-text.js';

/** Media of more bytes than this are kept as artifacts, and their parts carry the address. */
const LARGEST_INLINE = 64 * 1_024;
const LONGEST_INLINE = (LARGEST_INLINE / 3) * 4;

/** Whether some part is media that does not stay in the log. */
export function holdsLargeMedia(parts: readonly ContentPart[] | undefined): boolean {
  if (parts === undefined) return false;
  for (const part of parts) if (part.type === 'media' && isLarge(part.data)) return true;
  return false;
}

function isLarge(data: string | undefined): boolean {
  if (typeof data !== 'string' || data.length <= LONGEST_INLINE) return false;
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding > LARGEST_INLINE;
}

/** Whether an event brings media that does not stay in the log. */
export function bringsLargeMedia(event: Pick<AgentEvent, 'type'>): boolean {
  if (event.type === 'message') return holdsLargeMedia((event as AgentEvent<'message'>).content);
  if (event.type !== 'tool_response') return false;
  const { llmContent, displayContent } = event as AgentEvent<'tool_response'>;
  return holdsLargeMedia(llmContent) || holdsLargeMedia(displayContent);
}

/** The same parts, each large media as `keep` has it; one after the other. */
export async function keepLargeMedia<Part extends ContentPart>(
  parts: readonly Part[],
  keep: (part: MediaPart & { data: string }) => Promise<MediaPart>,
): Promise<Part[]> {
  const kept: Part[] = [];
  for (const part of parts) {
    const isKept = part.type === 'media' && isLarge(part.data);
    kept.push(isKept ? ((await keep(part as MediaPart & { data: string })) as Part) : part);
  }
  return kept;
}

/** The same parts, with words in the place of each large media. */
export const withoutLargeMedia = (parts: readonly ContentPart[]): ContentPart[] =>
  parts.map((part) =>
    part.type === 'media' && isLarge(part.data)
      ? { type: 'text', text: `[${part.mimeType} that is lost: the process ended before it was kept]` }
      : part,
  );

export const isArtifactMedia = (part: ContentPart): part is MediaPart & { uri: string } =>
  part.type === 'media' && part.data === undefined && part.uri?.startsWith('artifact:') === true;

/** Whether a message refers to kept media, in the results of tools too. */
export const refersToMedia = (content: readonly ContentPart[]): boolean =>
  content.some((part) => isArtifactMedia(part) || resultParts(part)?.some(isArtifactMedia) === true);

/** Addresses of the kept media in messages, each once, in their order. */
export function mediaAddresses(messages: readonly ModelMessage[]): Set<string> {
  const uris = new Set<string>();
  for (const { content } of messages) {
    for (const part of content) {
      for (const one of resultParts(part) ?? [part]) if (isArtifactMedia(one)) uris.add(one.uri);
    }
  }
  return uris;
}

/** The messages with `resolve` of each kept media part in its place; a message without one is the same object. */
export function resolveKeptMedia(
  messages: readonly ModelMessage[],
  resolve: (part: MediaPart & { uri: string }) => ContentPart,
): ModelMessage[] {
  const replace = (part: ContentPart): ContentPart => {
    if (isArtifactMedia(part)) return resolve(part);
    const parts = resultParts(part);
    if (parts === undefined || !parts.some(isArtifactMedia)) return part;
    const key = Object.keys((part as ContentPart<'function_response'>).response as object)[0] as string;
    return { ...part, response: { [key]: parts.map(replace) } } as ContentPart;
  };
  return messages.map((message) =>
    refersToMedia(message.content) ? { ...message, content: message.content.map(replace) } : message,
  );
}

/** Parts that a result stands as in a history: `{ output: parts }`, or `{ error: parts }`. */
function resultParts(part: ContentPart): readonly ContentPart[] | undefined {
  if (part.type !== 'function_response') return undefined;
  const { output, error = output } = (part.response ?? {}) as { output?: unknown; error?: unknown };
  return Array.isArray(error) ? error : undefined;
}
