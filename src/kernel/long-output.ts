import type { ContentPart } from '../contracts/index.js';

/** Characters of a tool's result that a model is given at most. */
export const LONGEST_OUTPUT = 40_000;
/** Of that, each end of a text that is too long; the rest is for the note between them. */
const END_SHARE = 0.4;

/** Characters of a result that a model would read. */
export function outputLength(parts: readonly ContentPart[]): number {
  let length = 0;
  for (const part of parts) length += wordsOf(part)?.length ?? 0;
  return length;
}

/** What a model would read of a part; undefined where that is no text. What has no text of its own is read as JSON. */
export function wordsOf(part: ContentPart): string | undefined {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reference':
      return part.text;
    case 'thought':
      return part.thought;
    case 'code':
      return part.code;
    case 'code_result':
      return part.output;
    case 'media':
      return undefined;
    default:
      return JSON.stringify(part);
  }
}

/** The same part with other words; a text where it has none of its own. */
function withWords(part: ContentPart, text: string): ContentPart {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reference':
      return { ...part, text };
    case 'thought':
      return { ...part, thought: text };
    case 'code':
      return { ...part, code: text };
    case 'code_result':
      return { ...part, output: text };
    default:
      return { type: 'text', text };
  }
}

/** The parts of a result with their words as long as a model is given them: they share the room in their order. */
export function shortenedParts(parts: readonly ContentPart[], whole: string | undefined): readonly ContentPart[] {
  if (outputLength(parts) <= LONGEST_OUTPUT) return parts;
  let room = LONGEST_OUTPUT;
  return parts.map((part) => {
    const words = wordsOf(part);
    if (words === undefined) return part;
    const text = words.length <= room ? words : shortened(words, whole, room);
    room = Math.max(0, room - text.length);
    return text === words ? part : withWords(part, text);
  });
}

/**
 * A text that is too long for a model: its head, what is missing and where the whole is, its tail. Cut between
 * characters, never within one; shorter texts, and what came out of here, stay as they are.
 */
export function shortened(text: string, whole: string | undefined, room: number = LONGEST_OUTPUT): string {
  if (text.length <= room) return text;
  const end = Math.floor(room * END_SHARE);
  const head = text.slice(0, cutAt(text, end));
  const tail = text.slice(cutAt(text, text.length - end));
  const left = text.length - head.length - tail.length;
  const where = whole === undefined ? 'it was not kept' : `all ${text.length} are in ${whole}`;
  return `${head}\n[… ${left} characters of this output are left out here; ${where} …]\n${tail}`;
}

/** Between two code units of one character there is no place to cut. */
function cutAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
}
