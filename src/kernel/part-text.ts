import type { ContentPart } from '../contracts/index.js';
import { cutText } from './text.js';

const LONGEST_UNKNOWN = 4_000;

export type MediaPart = ContentPart<'media'>;

/** A part as words, for where a provider has no form of its own for it. Nothing: it is better left out. */
export function partText(part: ContentPart): string | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text;
    case 'thought':
      return undefined;
    case 'media':
      return `[${part.mimeType}${part.uri === undefined ? '' : ` ${part.uri}`}]`;
    case 'reference':
      return part.uri === undefined ? part.text : `${part.text} (${part.uri})`;
    case 'code':
      return `\`\`\`${part.language}\n${part.code}\n\`\`\``;
    case 'code_result':
      return `\`\`\`\n${part.output}\n\`\`\`${part.exitCode ? ` (exit code ${part.exitCode})` : ''}`;
    case 'ui':
      return asJson(part.data);
    case 'function_call':
      return `[call of ${part.name}: ${asJson(part.args)}]`;
    case 'function_response':
      return `[result of ${part.name}: ${asJson(part.response)}]`;
    default:
      return unknownText(part);
  }
}

/** A `type` that this version does not know: its text, else its fields. */
function unknownText(part: { type: string }): string {
  const { _meta, ...fields } = part as { type: string; _meta?: unknown; text?: unknown };
  return typeof fields.text === 'string' ? fields.text : cutText(asJson(fields), LONGEST_UNKNOWN);
}

/** Arguments as the object that every provider insists on; what was none (broken text, say) stands in `value`. */
export function argsObject(args: unknown): Record<string, unknown> {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return args as Record<string, unknown>;
  return args === undefined || args === null ? {} : { value: args };
}

const asJson = (value: unknown): string => JSON.stringify(value) ?? '';

/**
 * A tool's result as a provider can take it: parts inside it (`{ output: parts }`, say) become text, and their media
 * stand beside it. Everything else is the value as it is; the original is not touched.
 */
export function splitResponse(response: unknown): { value: unknown; media: MediaPart[] } {
  const media: MediaPart[] = [];
  const flatten = (value: unknown): unknown => {
    if (!isParts(value)) return value;
    const texts: string[] = [];
    for (const part of value) {
      if (part.type === 'media' && part.data !== undefined) media.push(part);
      const text = partText(part);
      if (text !== undefined) texts.push(text);
    }
    return texts.join('\n');
  };
  if (typeof response !== 'object' || response === null || isParts(response))
    return { value: flatten(response), media };
  if (Array.isArray(response)) return { value: response, media };
  return { value: Object.fromEntries(Object.entries(response).map(([key, value]) => [key, flatten(value)])), media };
}

const FIELD_OF_PART: Readonly<Record<string, string>> = {
  text: 'text',
  thought: 'thought',
  media: 'mimeType',
  reference: 'text',
  refusal: 'text',
  code: 'code',
  code_result: 'output',
  ui: 'format',
};

function isParts(value: unknown): value is ContentPart[] {
  return Array.isArray(value) && value.length > 0 && value.every(isPart);
}

function isPart(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const field = FIELD_OF_PART[String((value as { type?: unknown }).type)];
  return field !== undefined && typeof (value as Record<string, unknown>)[field] === 'string';
}
