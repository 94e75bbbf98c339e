import { cutText } from '../../kernel/text.js';
import { count } from './shown-text.js';

/** The beginning and the end of a text that comes in pieces; of what lies between only the length is known. */
export interface KeptOutput {
  add(piece: string): void;
  /** Characters (UTF-16 units) of all of it. */
  length(): number;
  /** At most `most` (no more than the capacity) characters of it, a quarter from the beginning, and how many are left out. */
  shown(most: number): string;
}

/** Holds at most about `3 × capacity` characters, whatever comes. */
export function keptOutput(capacity: number): KeptOutput {
  let head = '';
  let tail = '';
  let length = 0;
  return {
    add(piece) {
      length += piece.length;
      const room = capacity - head.length;
      if (room > 0) head += piece.slice(0, room);
      if (piece.length > room) tail += room > 0 ? piece.slice(room) : piece;
      if (tail.length > 2 * capacity) tail = tail.slice(-capacity);
    },
    length: () => length,
    shown(most) {
      if (length <= most) return head;
      const first = cutText(head, Math.floor(most / 4));
      const rest = head.length + tail.length === length ? head + tail : tail;
      const last = endOf(rest, most - first.length);
      return `${first}\n[${count(length - first.length - last.length, 'character')} left out]\n${last}`;
    },
  };
}

/** The last `most` units, one less where the cut would fall inside a surrogate pair. */
function endOf(text: string, most: number): string {
  const end = text.slice(Math.max(0, text.length - most));
  const first = end.charCodeAt(0);
  return first >= 0xdc00 && first <= 0xdfff ? end.slice(1) : end;
}
