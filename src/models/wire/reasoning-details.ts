import type { ContentPart } from '../../contracts/index.js';

type Detail = Record<string, unknown>;

/**
 * OpenRouter's `reasoning_details`: the upstream's reasoning with its signatures, which has to go back as it came.
 * Pieces with the same `type` and `index` belong together: their texts join, the last of every other field counts.
 */
export function appendDetails(details: Detail[], pieces: unknown): void {
  if (!Array.isArray(pieces)) return;
  for (const piece of pieces as Detail[]) {
    if (typeof piece !== 'object' || piece === null) continue;
    const last = details.at(-1);
    if (last !== undefined && piece.index !== undefined && last.index === piece.index && last.type === piece.type) {
      for (const [key, value] of Object.entries(piece)) {
        const isText = (key === 'text' || key === 'summary' || key === 'data') && typeof value === 'string';
        if (isText) last[key] = (typeof last[key] === 'string' ? last[key] : '') + value;
        else if (value !== null && value !== undefined) last[key] = value;
      }
    } else details.push({ ...piece });
  }
}

/** Kept in a thought that says nothing: a signature survives a round trip byte for byte. */
export const keepReasoning = (details: readonly Detail[]): ContentPart => ({
  type: 'thought',
  thought: '',
  thoughtSignature: JSON.stringify(details),
});

/** The details that a part keeps; none for a part of another kind, or another provider's signature. */
export function readReasoning(part: ContentPart): Detail[] {
  if (part.type !== 'thought' || !part.thoughtSignature?.startsWith('[')) return [];
  try {
    const details: unknown = JSON.parse(part.thoughtSignature);
    return Array.isArray(details) ? (details as Detail[]) : [];
  } catch {
    return [];
  }
}
