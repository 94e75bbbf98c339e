import type { AgentEvent } from '../../contracts/index.js';
import type { FilePort } from './file-port.js';
import { eventIn, type LineFacts, lookAt } from './log-line.js';
import type { LogScan, Place } from './scan-log.js';

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 10;

/**
 * The events between `from` (bytes; the start of a line) and the end of the scan, in `seq` order, each once, above
 * `afterSeq`. Takes memory for a chunk, or for the longest line.
 */
export async function* readLog(
  files: FilePort,
  fd: number,
  scan: LogScan,
  from: number,
  afterSeq: number,
): AsyncGenerator<AgentEvent> {
  const late = scan.late.filter(({ seq, from: at }) => seq > afterSeq && at >= from);
  const bad = scan.bad.filter((range) => range.from >= from);
  let nextLate = 0;
  let nextBad = 0;
  let lastSeq = afterSeq;
  let bytes = Buffer.allocUnsafe(Math.max(64, Math.min(CHUNK_BYTES, scan.size - from)));
  let base = from;
  let filled = 0;
  const facts: LineFacts = { kind: 'bad', seq: 0, changesState: false, eventAt: 0 };
  while (base + filled < scan.size) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes], bytes.length * 2);
    const room = bytes.subarray(filled, filled + Math.min(bytes.length - filled, scan.size - base - filled));
    const count = await files.read(fd, room, base + filled);
    if (count === 0) break;
    filled += count;
    let start = 0;
    const isLast = base + filled >= scan.size;
    while (start < filled) {
      const found = bytes.subarray(0, filled).indexOf(LINE_END, start);
      if (found < 0 && !isLast) break;
      const end = found < 0 ? filled : found;
      const isBad = bad[nextBad]?.from === base + start && end > start;
      if (isBad) nextBad++;
      else if (end > start) {
        lookAt(bytes, start, end, facts, true);
        const { kind, seq } = facts;
        if (kind === 'event' && seq > lastSeq) {
          for (let place = late[nextLate]; place !== undefined && place.seq < seq; place = late[++nextLate]) {
            if (place.seq <= lastSeq) continue;
            lastSeq = place.seq;
            yield await eventOf(files, fd, place);
          }
          lastSeq = seq;
          yield eventIn(bytes, facts, end);
        }
      }
      start = end + 1;
    }
    start = Math.min(start, filled);
    bytes.copyWithin(0, start, filled);
    base += start;
    filled -= start;
  }
  for (const place of late.slice(nextLate)) {
    if (place.seq <= lastSeq) continue;
    lastSeq = place.seq;
    yield await eventOf(files, fd, place);
  }
}

/** The one event at a place. */
export async function eventOf(files: FilePort, fd: number, place: Place): Promise<AgentEvent> {
  const bytes = Buffer.allocUnsafe(place.to - place.from);
  for (let at = 0; at < bytes.length; ) {
    const count = await files.read(fd, bytes.subarray(at), place.from + at);
    if (count === 0) break;
    at += count;
  }
  const facts: LineFacts = { kind: 'bad', seq: 0, changesState: false, eventAt: 0 };
  lookAt(bytes, 0, bytes.length, facts, true);
  return eventIn(bytes, facts, bytes.length);
}
