/** One place where a text stands. Counted in bytes. */
export interface Found {
  readonly from: number;
  readonly to: number;
}

/** Beyond so many places no more are looked for. */
export const MAX_FOUND = 100_000;

/**
 * Where `wanted` stands in `bytes`, from the left, none overlapping another. A line end of `wanted` stands for a line end
 * of either kind, LF or CR LF, as files are shown without theirs; one that is given as CR LF and stands there as such
 * means that and nothing else (`exact`). Bytes are compared, so files that are not valid UTF-8 can be searched.
 */
export function findText(bytes: Buffer, wanted: string): { found: Found[]; exact: boolean } {
  // One character for each byte: positions are those of the bytes.
  const text = bytes.toString('latin1');
  const sought = Buffer.from(wanted, 'utf8').toString('latin1');
  if (sought.includes('\r\n')) {
    const found = findAll(text, new RegExp(escaped(sought), 'g'));
    if (found.length > 0) return { found, exact: true };
  }
  const pattern = sought.split(/\r?\n/).map(escaped).join('\\r?\\n');
  return { found: findAll(text, new RegExp(pattern, 'g')), exact: false };
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function findAll(text: string, pattern: RegExp): Found[] {
  const found: Found[] = [];
  for (const match of text.matchAll(pattern)) {
    found.push({ from: match.index, to: match.index + match[0].length });
    if (found.length > MAX_FOUND) break;
  }
  return found;
}

/** The line end that holds at a place: within it, else behind it, else before it. */
export function lineEndAt(bytes: Buffer, { from, to }: Found): '\n' | '\r\n' {
  const within = bytes.indexOf(10, from);
  const at = within === -1 || within >= to ? nearestLineEnd(bytes, from, to) : within;
  return at > 0 && bytes[at - 1] === 13 ? '\r\n' : '\n';
}

function nearestLineEnd(bytes: Buffer, from: number, to: number): number {
  const behind = bytes.indexOf(10, to);
  if (behind !== -1 || from === 0) return behind;
  return bytes.lastIndexOf(10, from - 1);
}

/** The line, counted from 1, on which each place begins. */
export function linesOf(bytes: Buffer, found: readonly Found[]): number[] {
  let line = 1;
  let next = 0;
  return found.map(({ from }) => {
    for (let end = bytes.indexOf(10, next); end !== -1 && end < from; end = bytes.indexOf(10, next)) {
      line++;
      next = end + 1;
    }
    return line;
  });
}
