/** Lines `[beforeFrom, beforeTo)` of the one text became lines `[afterFrom, afterTo)` of the other. Counted from 0. */
export interface LineEdit {
  readonly beforeFrom: number;
  readonly beforeTo: number;
  readonly afterFrom: number;
  readonly afterTo: number;
}

/** Beyond so many lines added and removed, what differs is one edit. */
const MAX_DISTANCE = 1_000;
const MAX_COMPARED = 100_000;

/**
 * The fewest lines to remove and to add, as edits in order that do not touch (Myers, "An O(ND) Difference Algorithm").
 * Texts that differ in very many lines give one edit from the first to the last of them.
 */
export function lineEdits(before: readonly string[], after: readonly string[]): LineEdit[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const whole = {
    beforeFrom: head,
    beforeTo: before.length - tail,
    afterFrom: head,
    afterTo: after.length - tail,
  };
  const removed = whole.beforeTo - head;
  const added = whole.afterTo - head;
  if (removed === 0 && added === 0) return [];
  if (removed === 0 || added === 0 || removed + added > MAX_COMPARED) return [whole];
  const numbers = numbering();
  const from = Int32Array.from(before.slice(head, whole.beforeTo), numbers);
  const to = Int32Array.from(after.slice(head, whole.afterTo), numbers);
  const kept = keptLines(from, to);
  return kept === undefined ? [whole] : editsBetween(kept, whole);
}

/** Equal lines get equal numbers, which are quicker to compare. */
function numbering(): (line: string) => number {
  const known = new Map<string, number>();
  return (line) => {
    const number = known.get(line) ?? known.size;
    known.set(line, number);
    return number;
  };
}

/** A run of `length` lines that both have. */
interface Kept {
  readonly before: number;
  readonly after: number;
  readonly length: number;
}

/** The runs that stay, in order; nothing when the texts are further apart than `MAX_DISTANCE`. */
function keptLines(from: Int32Array, to: Int32Array): Kept[] | undefined {
  const limit = Math.min(MAX_DISTANCE, from.length + to.length);
  // reach[k + offset]: how far along `from` the best path on the diagonal k (from - to) has come.
  const offset = limit + 1;
  const reach = new Int32Array(2 * offset + 1);
  const trace: Int32Array[] = [];
  for (let distance = 0; distance <= limit; distance++) {
    trace.push(reach.slice(offset - distance, offset + distance + 1));
    for (let k = -distance; k <= distance; k += 2) {
      let x = comesFromAbove(reach, offset, k, distance) ? at(reach, offset + k + 1) : at(reach, offset + k - 1) + 1;
      while (x < from.length && x - k < to.length && from[x] === to[x - k]) x++;
      reach[offset + k] = x;
      if (x >= from.length && x - k >= to.length) return walkBack(trace, from.length, to.length);
    }
  }
  return undefined;
}

const at = (numbers: Int32Array, index: number): number => numbers[index] ?? 0;

const comesFromAbove = (reach: Int32Array, offset: number, k: number, distance: number): boolean =>
  k === -distance || (k !== distance && at(reach, offset + k - 1) < at(reach, offset + k + 1));

function walkBack(trace: readonly Int32Array[], beforeLength: number, afterLength: number): Kept[] {
  const kept: Kept[] = [];
  let x = beforeLength;
  let y = afterLength;
  for (let distance = trace.length - 1; distance >= 0; distance--) {
    const reach = trace[distance] as Int32Array;
    const k = x - y;
    const isAbove = comesFromAbove(reach, distance, k, distance);
    const fromK = isAbove ? k + 1 : k - 1;
    const fromX = distance === 0 ? 0 : at(reach, distance + fromK);
    const fromY = distance === 0 ? 0 : fromX - fromK;
    const length = x - (distance === 0 || isAbove ? fromX : fromX + 1);
    if (length > 0) kept.push({ before: x - length, after: y - length, length });
    x = fromX;
    y = fromY;
  }
  return kept.reverse();
}

function editsBetween(kept: readonly Kept[], whole: LineEdit): LineEdit[] {
  const edits: LineEdit[] = [];
  let beforeFrom = whole.beforeFrom;
  let afterFrom = whole.afterFrom;
  const until = (beforeTo: number, afterTo: number) => {
    if (beforeTo > beforeFrom || afterTo > afterFrom) edits.push({ beforeFrom, beforeTo, afterFrom, afterTo });
  };
  for (const run of kept) {
    until(whole.beforeFrom + run.before, whole.afterFrom + run.after);
    beforeFrom = whole.beforeFrom + run.before + run.length;
    afterFrom = whole.afterFrom + run.after + run.length;
  }
  until(whole.beforeTo, whole.afterTo);
  return edits;
}
