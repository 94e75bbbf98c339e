import type { AgentEvent } from '../../contracts/index.js';
import { TroupeError } from '../../kernel/errors.js';
import { type FileFacts, type FilePort, orMissing } from './file-port.js';
import { headerIn, type LogHeader } from './log-line.js';
import { eventOf, readLog } from './read-log.js';
import { type LogScan, newScan, scanOn } from './scan-log.js';
import type { SessionFiles } from './session-files.js';
import { doing } from './store-fault.js';
import { readSummary } from './summary.js';

/** A log as it was found: what the scan says, and what stands in its header or has to stand in for it. */
export interface FoundLog {
  readonly scan: LogScan;
  readonly header: LogHeader;
  /** Of the last event; of the epoch where there is none. */
  readonly lastUpdateTime: string;
  /** Bytes that were read, a torn record included. */
  readonly readTo: number;
}

export const NEVER = new Date(0).toISOString();

/** What the header of a log that is open says, as far as its first line can be read. */
export async function headerAt(files: FilePort, fd: number): Promise<LogHeader | undefined> {
  let bytes = Buffer.allocUnsafe(1_024);
  for (let filled = 0; ; ) {
    if (filled === bytes.length) bytes = Buffer.concat([bytes], bytes.length * 2);
    const count = await files.read(fd, bytes.subarray(filled), filled);
    const end = bytes.subarray(0, filled + count).indexOf(LINE_END, filled);
    filled += count;
    if (end >= 0) return headerIn(bytes, 0, end);
    if (count === 0 || filled > LONGEST_HEADER) return undefined;
  }
}

const LINE_END = 10;
const LONGEST_HEADER = 1_048_576;

export const notFound = (id: string, why = '') =>
  new TroupeError({ code: 'SESSION_NOT_FOUND', message: `no session "${id}"${why}` });

/**
 * Scans a log, going on from `scan` where it is given. Rejects with `SESSION_NOT_FOUND` where there is none or nothing
 * in it, with `SESSION_DAMAGED` where it is another session's.
 */
export async function openLog(files: FilePort, paths: SessionFiles, id: string, scan?: LogScan): Promise<FoundLog> {
  const what = `session "${id}" cannot be read`;
  const directory = await doing(what, orMissing(files.factsAt(paths.directory)));
  if (!directory?.isDirectory()) throw notFound(id);
  const fd = await doing(what, orMissing(files.open(paths.log, 'r')));
  if (fd === undefined) throw notFound(id, ': its directory has no log');
  try {
    const facts = await files.facts(fd);
    if (!facts.isFile()) throw notFound(id, ': its log is no file');
    if (facts.size === 0) throw notFound(id, ': its log is empty');
    return await doing(what, look(files, paths, id, fd, facts, scan));
  } finally {
    await files.close(fd);
  }
}

async function look(
  files: FilePort,
  paths: SessionFiles,
  id: string,
  fd: number,
  facts: FileFacts,
  given: LogScan | undefined,
): Promise<FoundLog> {
  const scan = given?.ino === facts.ino ? given : newScan(facts.ino);
  await scanOn(files, fd, scan, facts.size);
  const header = scan.header ?? (await standIn(files, paths, id, fd, scan));
  if (header.id !== id) {
    throw new TroupeError({
      code: 'SESSION_DAMAGED',
      message: `the log in ${paths.directory} is that of session "${String(header.id).slice(0, 60)}": the directory was renamed or copied`,
    });
  }
  const lastUpdateTime = scan.last === undefined ? NEVER : (await eventOf(files, fd, scan.last)).timestamp;
  return { scan, header, lastUpdateTime, readTo: scan.torn?.to ?? scan.size };
}

/** What a header that cannot be read has said, as far as it stands elsewhere. */
async function standIn(
  files: FilePort,
  paths: SessionFiles,
  id: string,
  fd: number,
  scan: LogScan,
): Promise<LogHeader> {
  const summary = await readSummary(files, paths.summary);
  const base = { troupe: 'session-log', format: 1, id, isLost: true } as const;
  if (summary?.id === id) {
    const { agentName, metadata, forkedFrom } = summary;
    const { isLost: _, ...known } = base;
    return { ...(summary.isLost ? base : known), agentName, metadata, ...(forkedFrom !== undefined && { forkedFrom }) };
  }
  let first: AgentEvent | undefined;
  for await (const event of readLog(files, fd, scan, 0, 0)) {
    first = event;
    break;
  }
  if (first === undefined) throw notFound(id, ': nothing of its log can be read');
  const agentName = first.type === 'initialize' ? first.agent.name : (first.agentId ?? 'unknown');
  return { ...base, agentName, metadata: {} };
}
