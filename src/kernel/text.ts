/**
 * The first `maxChars` UTF-16 units of `text`, one less where the cut would fall inside a surrogate pair.
 * Well-formed text stays well formed. 0 or less gives the empty text.
 */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = Math.max(0, Math.floor(maxChars) || 0);
  return text.slice(0, splitsPair(text, end) ? end - 1 : end);
}

function splitsPair(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

const MOST_SUGGESTIONS = 3;
/** Names in use are shorter; the work grows with the product of the lengths. */
const LONGEST_COMPARED = 200;

/**
 * What `name` may have meant: at most 3 candidates within `maxDistance` edits (Levenshtein, capitals do not count),
 * nearest first, ties in the order given. A candidate that shares nothing with a short name is left out.
 */
export function nearest(name: string, candidates: Iterable<string>, maxDistance = 3): string[] {
  const found: { candidate: string; distance: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const longer = Math.max(name.length, candidate.length);
    if (longer > LONGEST_COMPARED || Math.abs(name.length - candidate.length) > maxDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= maxDistance && distance < longer) found.push({ candidate, distance });
  }
  found.sort((a, b) => a.distance - b.distance);
  return found.slice(0, MOST_SUGGESTIONS).map(({ candidate }) => candidate);
}

/** Insertions, deletions and replacements (UTF-16 units) that turn one text into the other. */
export function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}

/** ` (did you mean "a" or "b"?)`, or nothing when no candidate is near: to be put after a message. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates);
  return near.length === 0 ? '' : ` (did you mean ${near.map((candidate) => `"${candidate}"`).join(' or ')}?)`;
}

/** FNV-1a over UTF-16 units, 32 bits, as 8 hex digits: the same in every process. No secret can be kept with it. */
export function shortHash(text: string): string {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return (value >>> 0).toString(16).padStart(8, '0');
}
