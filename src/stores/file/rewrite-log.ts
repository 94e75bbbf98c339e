import { copyRange } from './archive.js';
import { type FilePort, writeAll } from './file-port.js';
import { headerLine, type LineFacts, type LogHeader, lookAt, reserveLine } from './log-line.js';
import type { LogScan, Range } from './scan-log.js';

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 10;

/**
 * Where the records of events up to `toSeq` stand in a log, and those of later ones; neighbours in one range, ends of
 * line included.
 */
export async function sortRecords(
  files: FilePort,
  fd: number,
  scan: LogScan,
  toSeq: number,
): Promise<{ kept: Range[]; cut: Range[] }> {
  const kept: Range[] = [];
  const cut: Range[] = [];
  const facts: LineFacts = { kind: 'bad', seq: 0, changesState: false, eventAt: 0 };
  let nextBad = 0;
  await walkLines(files, fd, scan.size, (bytes, start, end, base) => {
    const from = base + start;
    const bad = scan.bad[nextBad];
    if (bad?.from === from) {
      nextBad++;
      for (const { seq, ...place } of scan.late) {
        if (place.from >= bad.from && place.to <= bad.to) (seq <= toSeq ? kept : cut).push(place);
      }
      return;
    }
    lookAt(bytes, start, end, facts, true);
    if (facts.kind === 'event') extend(facts.seq <= toSeq ? kept : cut, from, Math.min(base + end + 1, scan.size));
  });
  return { kept, cut };
}

function extend(ranges: Range[], from: number, to: number): void {
  const last = ranges.at(-1);
  if (last?.to === from) ranges[ranges.length - 1] = { from: last.from, to };
  else ranges.push({ from, to });
}

async function walkLines(
  files: FilePort,
  fd: number,
  size: number,
  onLine: (bytes: Buffer, start: number, end: number, base: number) => void,
): Promise<void> {
  let bytes = Buffer.allocUnsafe(Math.max(64, Math.min(CHUNK_BYTES, size)));
  let base = 0;
  let filled = 0;
  while (base + filled < size) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes], bytes.length * 2);
    const count = await files.read(fd, bytes.subarray(filled, filled + size - base - filled), base + filled);
    if (count === 0) return;
    filled += count;
    let start = 0;
    while (start < filled) {
      const found = bytes.subarray(0, filled).indexOf(LINE_END, start);
      if (found < 0 && base + filled < size) break;
      const end = found < 0 ? filled : found;
      if (end > start) onLine(bytes, start, end, base);
      start = end + 1;
    }
    start = Math.min(start, filled);
    bytes.copyWithin(0, start, filled);
    base += start;
    filled -= start;
  }
}

/** Writes a log that begins with this header and goes on with records of another. Durable once it resolves. */
export async function writeLog(
  files: FilePort,
  path: string,
  header: LogHeader,
  from: number,
  kept: readonly Range[],
  reservedSeq?: number,
): Promise<void> {
  const to = await files.open(path, 'w');
  try {
    await writeAll(files, to, Buffer.from(headerLine(header)));
    for (const range of kept) {
      const lastByte = await copyRange(files, from, range, to);
      // A last record may lack its end of line, and one that was found inside of a bad line has none.
      if (lastByte !== LINE_END) await writeAll(files, to, Buffer.from('\n'));
    }
    if (reservedSeq !== undefined) await writeAll(files, to, Buffer.from(reserveLine(reservedSeq)));
    await files.datasync(to);
  } finally {
    await files.close(to);
  }
}
