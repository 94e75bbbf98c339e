import type { Bag, LogGap } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import type { FilePort } from './file-port.js';
import {
  eventIn,
  headerIn,
  isSound,
  type LineFacts,
  LOG_FORMAT,
  type LogHeader,
  lookAt,
  mayBeginRecord,
  recordStarts,
} from './log-line.js';

/** Where the record of an event stands, in bytes of the file, without its end of line. */
export interface Place {
  readonly seq: number;
  readonly from: number;
  readonly to: number;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What a key was last set to, and by what. */
export interface StateEntry {
  readonly seq: number;
  readonly timestamp: string;
  readonly value: unknown;
}

/** What one pass over a log says of it. The pass parses headers and changes of state, nothing else. */
export interface LogScan {
  readonly ino: number;
  header: LogHeader | undefined;
  /** Bytes that were looked at; the next pass begins there. */
  size: number;
  lines: number;
  lastSeq: number;
  reservedSeq: number;
  count: number;
  last: Place | undefined;
  gaps: LogGap[];
  /** What a reader steps over: lines that are no records. */
  bad: Range[];
  /** Events that stand behind later ones, and those that were found inside of bad lines; by `seq`. */
  late: Place[];
  state: Map<string, StateEntry>;
  /** The last record lacks its end of line. */
  endsOpen: boolean;
  /** The beginning of a record that was never finished, from `size` on. */
  torn: Range | undefined;
}

export const newScan = (ino: number): LogScan => ({
  ino,
  header: undefined,
  size: 0,
  lines: 0,
  lastSeq: 0,
  reservedSeq: 0,
  count: 0,
  last: undefined,
  gaps: [],
  bad: [],
  late: [],
  state: new Map(),
  endsOpen: false,
  torn: undefined,
});

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 10;

/**
 * Looks at what a log has behind `scan.size`, up to its end by then, and adds it to the scan. Takes memory for a chunk,
 * or for the longest line. Rejects with `INCOMPATIBLE_VERSION` when a later version wrote it.
 */
export async function scanOn(files: FilePort, fd: number, scan: LogScan, sizeHint = CHUNK_BYTES): Promise<void> {
  let bytes = Buffer.allocUnsafe(Math.max(64, Math.min(CHUNK_BYTES, sizeHint - scan.size + 1)));
  let filled = 0;
  for (;;) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes], bytes.length * 2);
    const base = scan.size;
    const count = await files.read(fd, bytes.subarray(filled), base + filled);
    if (count === 0) break;
    const searchFrom = filled;
    filled += count;
    const start = takeLines(scan, bytes.subarray(0, filled), searchFrom, base);
    bytes.copyWithin(0, start, filled);
    filled -= start;
  }
  takeTail(scan, bytes.subarray(0, filled));
}

/** Returns where the rest begins that is no whole line yet. */
function takeLines(scan: LogScan, bytes: Buffer, searchFrom: number, base: number): number {
  let start = 0;
  if (scan.endsOpen && bytes[0] === LINE_END) start = 1;
  scan.endsOpen = false;
  for (let end = bytes.indexOf(LINE_END, Math.max(start, searchFrom)); end >= 0; end = bytes.indexOf(LINE_END, start)) {
    scan.lines++;
    if (end > start) takeLine(scan, bytes, start, end, base);
    start = end + 1;
  }
  scan.size = base + start;
  return start;
}

/** What stands behind the last end of line: a record that only lacks its own, or one that was torn. */
function takeTail(scan: LogScan, bytes: Buffer): void {
  const from = scan.size;
  scan.torn = undefined;
  if (bytes.length === 0) return;
  lookAt(bytes, 0, bytes.length, facts);
  // What a log begins with is written before anybody is told of it: anything else there was never a record.
  const isForeign = from === 0 && !mayBeginRecord(bytes);
  if (facts.kind === 'bad' && !isForeign && !holdsRecord(bytes)) {
    refuseNewer(bytes, 0, bytes.length);
    scan.torn = { from, to: from + bytes.length };
    return;
  }
  scan.lines++;
  takeLine(scan, bytes, 0, bytes.length, from);
  scan.size = from + bytes.length;
  scan.endsOpen = true;
}

/** A whole record that something else stands behind was not torn: its end of line was changed. */
function holdsRecord(bytes: Buffer): boolean {
  const starts = recordStarts(bytes, 0, bytes.length);
  return starts.some((from, index) => {
    const to = starts[index + 1] ?? bytes.length;
    return [to, to - 1].some((until) => {
      lookAt(bytes, from, until, facts);
      return facts.kind !== 'bad';
    });
  });
}

const facts: LineFacts = { kind: 'bad', seq: 0, changesState: false, eventAt: 0 };

function takeLine(scan: LogScan, bytes: Buffer, start: number, end: number, base: number): void {
  lookAt(bytes, start, end, facts);
  switch (facts.kind) {
    case 'event':
      return takeEvent(scan, bytes, start, end, base, false);
    case 'reserve':
      if (facts.seq > scan.reservedSeq) scan.reservedSeq = facts.seq;
      return;
    case 'other': {
      refuseNewer(bytes, start, end);
      scan.header ??= headerIn(bytes, start, end);
      return;
    }
    default:
      return takeBad(scan, bytes, start, end, base);
  }
}

function takeEvent(scan: LogScan, bytes: Buffer, start: number, end: number, base: number, isHidden: boolean): void {
  const { seq, changesState } = facts;
  const place: Place = { seq, from: base + start, to: base + end };
  if (seq > scan.lastSeq) {
    scan.lastSeq = seq;
    scan.last = place;
    if (seq > scan.reservedSeq) scan.reservedSeq = seq;
    if (isHidden) scan.late.push(place);
  } else if (seq === scan.lastSeq || !insert(scan.late, place)) return;
  scan.count++;
  if (changesState) foldState(scan.state, bytes, end);
}

function foldState(state: Map<string, StateEntry>, bytes: Buffer, end: number): void {
  const { seq, timestamp, stateDelta } = eventIn(bytes, facts, end) as { stateDelta?: Bag } & Omit<StateEntry, 'value'>;
  keepState(state, seq, timestamp, stateDelta ?? {});
}

/** A later change stands, in whatever order they come. */
export function keepState(state: Map<string, StateEntry>, seq: number, timestamp: string, delta: Bag): void {
  for (const [key, value] of Object.entries(delta)) {
    if (seq >= (state.get(key)?.seq ?? 0)) state.set(key, { seq, timestamp, value });
  }
}

/** False where one of the same `seq` is there. */
function insert(places: Place[], place: Place): boolean {
  let at = places.length;
  while (at > 0 && (places[at - 1] as Place).seq > place.seq) at--;
  if (at > 0 && (places[at - 1] as Place).seq === place.seq) return false;
  places.splice(at, 0, place);
  return true;
}

/** A line that is no record. Records that lie in it whole are kept: a lost end of line joins two. */
function takeBad(scan: LogScan, bytes: Buffer, start: number, end: number, base: number): void {
  refuseNewer(bytes, start, end);
  const { lastSeq } = scan;
  const starts = recordStarts(bytes, start, end);
  let isWhole = starts[0] === start;
  for (const [index, from] of starts.entries()) {
    const to = starts[index + 1] ?? end;
    // The byte before the next record stands where its end of line was.
    const found = [to, to - 1].some((until) => {
      lookAt(bytes, from, until, facts);
      if (facts.kind === 'event') takeEvent(scan, bytes, from, until, base, true);
      return facts.kind !== 'bad';
    });
    isWhole &&= found;
  }
  scan.bad.push({ from: base + start, to: base + end });
  const before = scan.gaps.at(-1);
  const reason = isWhole ? 'an end of line is missing' : reasonOf(bytes, start, end);
  if (before !== undefined && before.line + before.lines === scan.lines && before.kind === 'damaged') before.lines++;
  else scan.gaps.push({ kind: 'damaged', afterSeq: lastSeq, line: scan.lines, lines: 1, reason });
}

function reasonOf(bytes: Buffer, start: number, end: number): string {
  const line = bytes.subarray(start, end);
  if (line.every((byte) => byte === 0)) return `${line.length} NUL bytes`;
  try {
    JSON.parse(line.toString('utf8'));
  } catch {
    return 'no JSON';
  }
  return isSound(bytes, start, end) ? 'no position that an event can have' : 'the checksum does not fit';
}

/** A header of a later version is refused before anything else is said of it: its checksum may be another. */
function refuseNewer(bytes: Buffer, start: number, end: number): void {
  const header = headerIn(bytes, start, end);
  if (header === undefined || header.format <= LOG_FORMAT) return;
  throw new TroupeError({
    code: 'INCOMPATIBLE_VERSION',
    message: `session "${header.id}" was written in log format ${header.format}; this version of troupe reads formats up to ${LOG_FORMAT}: update it`,
  });
}

/** What could not be read, a torn last record included. */
export function gapsOf({ gaps, torn, lastSeq, lines }: LogScan): readonly LogGap[] {
  if (torn === undefined) return gaps;
  const reason = `the last record was cut off after ${torn.to - torn.from} bytes`;
  return [...gaps, { kind: 'torn', afterSeq: lastSeq, line: lines + 1, lines: 1, reason }];
}
