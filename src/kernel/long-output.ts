import type { ContentPart } from '../contracts/index.js';

/** Characters of a tool's result that a model is given at most. */
export const LONGEST_OUTPUT = 40_000;
/** Of that, each end of a text that is too long; the rest is for the note between them. */
const END_SHARE = 0.4;

/** Characters of the texts in a result. */
export function outputLength(parts: readonly ContentPart[]): number {
  let length = 0;
  for (const part of parts) if (part.type === 'text') length += part.text.length;
  return length;
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
