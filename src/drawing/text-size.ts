const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Advances in em, of a wide sans-serif, by kind of character: whatever face a viewer has, the text is not wider. */
const NARROW = /[ .,:;'|!iljI`]/;
const SLIM = /[-()[\]{}/\\"ftr°·]/;
const BROAD = /[mwMW@%—…→]/;
const CAPITAL = /[A-HJ-LN-VX-Z0-9_+=<>?#&$~^*]/;
const NO_WIDTH = /^(?:\p{Mark}|\u200c|\u200d)+$/u;

/** Width of one line in px, rounded up to half a pixel; no script and no font is asked, so that it is the same everywhere. */
export function textWidth(text: string, fontSize: number, bold = false): number {
  let em = 0;
  for (const { segment } of graphemes.segment(text)) em += advance(segment);
  return Math.ceil(em * fontSize * (bold ? 1.08 : 1) * 2) / 2;
}

function advance(grapheme: string): number {
  if (NO_WIDTH.test(grapheme)) return 0;
  const code = grapheme.codePointAt(0) ?? 0;
  if (grapheme.length > 1 || code > 0x2e7f) return 1.35;
  if (code > 0x24f) return 0.9;
  if (NARROW.test(grapheme)) return 0.36;
  if (SLIM.test(grapheme)) return 0.43;
  if (BROAD.test(grapheme)) return 0.98;
  return CAPITAL.test(grapheme) ? 0.72 : 0.62;
}

/** `text` cut so that it takes at most `width` px. */
export function cutText(text: string, width: number, fontSize: number, bold = false): string {
  // However long it is, more than this is never shown.
  const head = text.slice(0, Math.ceil((width / fontSize) * 8) + 32);
  if (head.length === text.length && textWidth(text, fontSize, bold) <= width) return text;
  const room = width - textWidth('…', fontSize, bold);
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(head)) {
    used += advance(segment) * fontSize * (bold ? 1.08 : 1);
    if (used > room) break;
    kept += segment;
  }
  return `${kept}…`;
}
