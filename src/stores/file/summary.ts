import type { ForkOrigin, SessionMetadata } from '../../contracts/index.js';
import { type FileFacts, type FilePort, replaceFile } from './file-port.js';
import { type LogScan, newScan, type StateEntry } from './scan-log.js';

/** What is told of a session without reading its log. Derived from the log, and read again from there where it does not fit. */
export interface Summary {
  readonly format: 1;
  readonly id: string;
  readonly agentName: string;
  readonly metadata: SessionMetadata;
  readonly forkedFrom?: ForkOrigin;
  /** Its header could not be read: what the session was made with is not known. */
  readonly isLost?: true;
  readonly lastSeq: number;
  readonly reservedSeq: number;
  readonly eventCount: number;
  readonly lastUpdateTime: string;
  /** Lines that are damaged. */
  readonly damaged: number;
  readonly state: Readonly<Record<string, StateEntry>>;
  /** Changes of shared state up to this `seq` are where they are shared. */
  readonly sharedSeq: number;
  /** The log that this was told of. */
  readonly log: { readonly ino: number; readonly size: number; readonly lines: number; readonly mtimeMs: number };
}

/** Undefined where there is none that can be read: the log has it all. */
export async function readSummary(files: FilePort, path: string): Promise<Summary | undefined> {
  try {
    const bytes = await files.readFile(path);
    const summary = JSON.parse(bytes.toString('utf8')) as Summary | null;
    return summary?.format === 1 && typeof summary.log?.size === 'number' ? summary : undefined;
  } catch {
    return undefined;
  }
}

export const writeSummary = (files: FilePort, path: string, summary: Summary): Promise<void> =>
  replaceFile(files, path, Buffer.from(`${JSON.stringify(summary)}\n`), false);

/** Whether a log is still the one that was summed up. */
export const isFresh = ({ log }: Summary, { ino, size, mtimeMs }: FileFacts): boolean =>
  log.ino === ino && log.size === size && log.mtimeMs === mtimeMs;

/** A scan that goes on where the summary ends, when the log has only grown since. */
export function scanFrom(summary: Summary, { ino, size }: FileFacts): LogScan {
  const scan = newScan(ino);
  if (summary.log.ino !== ino || summary.log.size >= size || summary.damaged > 0) return scan;
  const { log, lastSeq, reservedSeq, eventCount, state, id, agentName, metadata } = summary;
  return Object.assign(scan, {
    header: { troupe: 'session-log', format: 1, id, agentName, metadata },
    size: log.size,
    lines: log.lines,
    lastSeq,
    reservedSeq,
    count: eventCount,
    state: new Map(Object.entries(state)),
  });
}
