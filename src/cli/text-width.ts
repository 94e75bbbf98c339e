const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
// Printable ASCII is one column per character: the common case, and no segmenting.
const plain = /^[\x20-\x7e]*$/;
const zeroWidth = /^(?:\p{Mark}|\u200c|\u200d)+$/u;

/** First and last code points of the ranges that a terminal draws two columns wide (East Asian Wide and Fullwidth). */
const wideRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18cff],
  [0x1b000, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

/** Columns that `text` takes in a terminal. It holds no control characters. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += graphemeWidth(segment);
  return columns;
}

/** `text` cut to `columns`, with an ellipsis where something was left out. */
export function cutToWidth(text: string, columns: number): string {
  if (columns <= 0) return '';
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const width = graphemeWidth(segment);
    if (used + width > columns - 1) break;
    kept += segment;
    used += width;
  }
  return `${kept}…`;
}

/** The same from the other end: what was said last is what is worth seeing. */
export function cutToWidthFromEnd(text: string, columns: number): string {
  if (columns <= 0) return '';
  if (displayWidth(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of [...graphemes.segment(text)].reverse()) {
    const width = graphemeWidth(segment);
    if (used + width > columns - 1) break;
    kept = segment + kept;
    used += width;
  }
  return `…${kept}`;
}

/** `text` as rows of at most `columns`, as a terminal wraps it; one empty row where it is empty. */
export function wrapToWidth(text: string, columns: number): string[] {
  if (displayWidth(text) <= columns) return [text];
  const rows: string[] = [];
  let row = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const width = graphemeWidth(segment);
    if (used + width > columns && row !== '') {
      rows.push(row);
      row = '';
      used = 0;
    }
    row += segment;
    used += width;
  }
  return [...rows, row];
}

function graphemeWidth(grapheme: string): number {
  if (zeroWidth.test(grapheme)) return 0;
  if (/\p{Emoji_Presentation}|\ufe0f/u.test(grapheme)) return 2;
  const code = grapheme.codePointAt(0) ?? 0;
  return wideRanges.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
