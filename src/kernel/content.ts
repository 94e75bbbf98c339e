import type { ContentPart } from '../contracts/index.js';

/** A text as parts; parts as they are. */
export function toParts(content: string | readonly ContentPart[]): ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : [...content];
}

/** What a person reads of `parts`: text and refusals, joined; other kinds are left out. */
export function textOf(parts: readonly ContentPart[]): string {
  let text = '';
  for (const part of parts) if (part.type === 'text' || part.type === 'refusal') text += part.text;
  return text;
}

/**
 * Appends `part` to `parts` in place. Adjacent texts, and adjacent thoughts, join; a `thoughtSignature` closes a
 * part, and so does `_meta`.
 */
export function appendPart(parts: ContentPart[], part: ContentPart): void {
  const last = parts[parts.length - 1];
  if (last !== undefined && last._meta === undefined && part._meta === undefined) {
    if (part.type === 'text' && last.type === 'text') {
      last.text += part.text;
      return;
    }
    if (part.type === 'thought' && last.type === 'thought' && last.thoughtSignature === undefined) {
      last.thought += part.thought;
      if (part.thoughtSignature !== undefined) last.thoughtSignature = part.thoughtSignature;
      return;
    }
  }
  // Joined parts are written to: the caller's object stays its own.
  parts.push(part.type === 'text' || part.type === 'thought' ? { ...part } : part);
}
