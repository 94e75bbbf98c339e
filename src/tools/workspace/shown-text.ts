import { cutText } from '../../kernel/text.js';
import { quoted } from './refusal.js';

/** `text` cut to `most` units so that `[from, from + length)` is in it, with `…` where something is missing. */
export function cutAround(text: string, from: number, length: number, most: number): string {
  if (text.length <= most) return text;
  const room = Math.max(0, most - length);
  let start = Math.max(0, Math.min(from - Math.floor(room / 2), text.length - most));
  const first = text.charCodeAt(start);
  if (start > 0 && first >= 0xdc00 && first <= 0xdfff) start++;
  const kept = cutText(text.slice(start), most);
  return `${start > 0 ? '…' : ''}${kept}${start + kept.length < text.length ? '…' : ''}`;
}

/** Byte order of the UTF-8 forms, without making them. Negative when `one` comes first. */
export function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one.charCodeAt(at);
    const b = other.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return one.length - other.length;
}

// UTF-16 puts surrogates before U+E000..U+FFFF, bytes put them after.
const rank = (unit: number) => (unit < 0xd800 ? unit : unit >= 0xe000 ? unit - 0x800 : unit + 0x2000);

/** `1,234 lines`, `1 line`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? noun : plural}`;
}

/** A path as it stands in a list: quoted when it holds line ends or the like, so that it cannot pass for two. */
export const shownPath = (path: string): string => (/\p{Cc}/u.test(path) ? quoted(path) : path);
