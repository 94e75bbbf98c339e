export { visibleLine, visibleLines } from '../kernel/visible-text.js';

const LONGEST_BLOCK = 400;

/** A block of text, line by line, two spaces in. What is too long to be read says how much is left out. */
export function indented(text: string): string[] {
  const lines = text.split('\n');
  const shown = lines.slice(0, LONGEST_BLOCK).map((line) => `  ${line}`);
  return lines.length > LONGEST_BLOCK
    ? [...shown, `  … ${lines.length - LONGEST_BLOCK} more lines are not shown`]
    : shown;
}

/** JSON on one line, cut to about `limit` characters; never throws. */
export function compactJson(value: unknown, limit = 120): string {
  if (value === undefined) return '';
  const text = safeJson(value);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** JSON over several lines; never throws. */
export function prettyJson(value: unknown): string {
  return safeJson(value, 2);
}

function safeJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent) ?? String(value);
  } catch {
    return String(value);
  }
}
