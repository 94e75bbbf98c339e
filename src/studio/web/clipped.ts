import { visibleLine, visibleLines } from '../../kernel/visible-text.js';

export interface Clipped {
  readonly shown: string;
  /** Characters that are left out. */
  readonly rest: number;
}

/** The first `most` characters of a text of any origin, made visible; no character is cut in two. */
export function clipText(given: string, most: number): Clipped {
  // Whatever a log or another process says it is: what stands in a page must be a text.
  const text = typeof given === 'string' ? given : String(JSON.stringify(given) ?? '');
  if (text.length <= most) return { shown: visibleLines(text), rest: 0 };
  const last = text.charCodeAt(most - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? most - 1 : most;
  return { shown: visibleLines(text.slice(0, end)), rest: text.length - end };
}

/** A text of any origin on one line, cut with an ellipsis. */
export function oneLine(text: string, most = 200): string {
  const { shown, rest } = clipText(text, most);
  return visibleLine(shown) + (rest > 0 ? '…' : '');
}

export interface JsonBounds {
  readonly depth: number;
  /** Values that are written before the rest is left out. */
  readonly values: number;
  /** Of one string. */
  readonly characters: number;
}

export const SHORT_JSON: JsonBounds = { depth: 6, values: 200, characters: 2_000 };
export const LONG_JSON: JsonBounds = { depth: 200, values: 20_000, characters: 200_000 };

/** JSON on lines of its own, as far as the bounds go; `isWhole`: nothing is left out. */
export function jsonText(value: unknown, bounds: JsonBounds): { readonly text: string; readonly isWhole: boolean } {
  let left = bounds.values;
  let isWhole = true;
  const leaveOut = (): string => {
    isWhole = false;
    return '…';
  };
  const write = (one: unknown, indent: string, depth: number): string => {
    if (left-- <= 0) return leaveOut();
    if (typeof one === 'string') {
      if (one.length <= bounds.characters) return JSON.stringify(one);
      isWhole = false;
      return `${JSON.stringify(one.slice(0, bounds.characters))} … ${one.length - bounds.characters} more characters`;
    }
    if (typeof one !== 'object' || one === null) return String(JSON.stringify(one) ?? one);
    const isList = Array.isArray(one);
    const keys = isList ? [] : Object.keys(one);
    const size = isList ? one.length : keys.length;
    if (size === 0) return isList ? '[]' : '{}';
    if (depth >= bounds.depth) return leaveOut();
    const inner = `${indent}  `;
    const lines: string[] = [];
    for (let at = 0; at < size; at++) {
      if (left <= 0) {
        lines.push(`${inner}${leaveOut()}`);
        break;
      }
      const key = keys[at] ?? '';
      const name = isList ? '' : `${JSON.stringify(key.slice(0, 500))}: `;
      const item: unknown = isList ? one[at] : (one as Record<string, unknown>)[key];
      lines.push(inner + name + write(item, inner, depth + 1) + (at < size - 1 ? ',' : ''));
    }
    return [isList ? '[' : '{', ...lines, indent + (isList ? ']' : '}')].join('\n');
  };
  const text = write(value, '', 0);
  return { text: visibleLines(text), isWhole };
}

/** A picture that a page may show by itself: nothing that could hold a script, and no address. */
export function imageSource(mimeType: string, data: string | undefined): string | undefined {
  if (data === undefined || data.length > 8_000_000) return undefined;
  if (!/^image\/(png|jpeg|gif|webp|avif)$/.test(mimeType) || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return undefined;
  return `data:${mimeType};base64,${data}`;
}
