import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { isSessionId } from '../../kernel/session-id.js';
import { syncEach, type Written } from './commit.js';
import { type FilePort, orMissing, replaceFile, syncDirectory, writeAll } from './file-port.js';
import { livingOf } from './living.js';
import type { Locks } from './lock.js';
import { sessionFiles } from './session-files.js';

/** Where so many logs or more are written in one round, one sync of the journal stands for a sync of each. */
const SHARED_FROM = 3;
/** A journal that has grown to this is done with: its logs are synced, and it begins anew. */
const FULL_BYTES = 8 * 1024 * 1024;
const LINE_END = 10;

export interface Journal {
  /** Makes what was written durable, and tells each that it is. */
  sync(written: readonly Written[]): Promise<void>;
  /** A session is gone, and is not to be brought back. */
  forget(id: string): Promise<void>;
  /** Brings into the logs what a loss of power kept from them, and takes away journals of dead processes. Once. */
  recover(): Promise<void>;
}

/** One piece of a log; its bytes follow behind the end of line. */
interface Piece {
  readonly session: string;
  /** 0: the session was deleted. */
  readonly ino: number;
  readonly at: number;
  readonly length: number;
  readonly sum: number;
}

/**
 * Logs are written at once and synced each by itself, or (many in one round) by the one journal of this store, which
 * holds the same bytes a second time. What a killed process wrote is in the logs all the same; the journal is read
 * after the machine itself went down. Where the system does not tell one start of the machine from the next, each log
 * is synced by itself.
 */
export function createJournal(files: FilePort, root: string, locks: Locks): Journal {
  const directory = join(root, 'journal');
  const path = join(directory, `${locks.token}.log`);
  const direct = syncEach(files);
  /** Logs whose last bytes only the journal makes durable. */
  const owing = new Set<string>();
  let fd: Promise<number> | undefined;
  let size = 0;
  let recovered: Promise<void> | undefined;

  async function begin(): Promise<number> {
    await files.mkdir(directory, true);
    const opened = await files.open(path, 'wx');
    const header = Buffer.from(`${JSON.stringify({ troupe: 'journal', format: 1, boot: locks.standpoint.boot })}\n`);
    size = await writeAll(files, opened, header, 0);
    await files.datasync(opened);
    for (const one of [directory, root]) await syncDirectory(files, one);
    return opened;
  }

  async function share(written: readonly Written[]): Promise<void> {
    fd ??= begin();
    const opened = await fd;
    const before = size;
    try {
      const pieces = written.flatMap(({ id, ino, at, bytes }) => {
        const piece: Piece = { session: id, ino, at, length: bytes.length, sum: crc32(bytes) };
        return [Buffer.from(`${JSON.stringify(piece)}\n`), bytes];
      });
      size += await writeAll(files, opened, Buffer.concat(pieces), before);
      await files.datasync(opened);
    } catch (thrown) {
      // What was refused must not come back.
      size = before;
      await files.truncate(opened, before).catch(() => {});
      for (const one of written) one.done(thrown);
      return;
    }
    for (const one of written) {
      owing.add(one.id);
      one.done();
    }
    if (size > FULL_BYTES) await settle(opened);
  }

  /** Every log is made durable by itself; then the journal has nothing left to say. */
  async function settle(opened: number): Promise<void> {
    try {
      await syncLogs(files, root, owing);
      await files.truncate(opened, 0);
      const header = Buffer.from(`${JSON.stringify({ troupe: 'journal', format: 1, boot: locks.standpoint.boot })}\n`);
      size = await writeAll(files, opened, header, 0);
      owing.clear();
    } catch {
      // It stays as it is, and is tried again after the next round.
    }
  }

  return {
    sync: (written) =>
      written.length < SHARED_FROM || locks.standpoint.boot === '' ? direct(written) : share(written),
    async forget(id) {
      if (!owing.delete(id) || fd === undefined) return;
      const opened = await fd;
      const gone: Piece = { session: id, ino: 0, at: 0, length: 0, sum: 0 };
      size += await writeAll(files, opened, Buffer.from(`${JSON.stringify(gone)}\n`), size);
      await files.datasync(opened);
    },
    recover() {
      recovered ??= recoverAll(files, root, directory, locks).catch(() => {
        // Where nothing can be written, the logs are read as they are.
      });
      return recovered;
    },
  };
}

async function syncLogs(files: FilePort, root: string, ids: Iterable<string>): Promise<void> {
  const left = [...ids].values();
  const take = async () => {
    for (const id of left) {
      const { log, directory } = sessionFiles(root, id);
      const fd = await orMissing(files.open(log, 'r+'));
      if (fd === undefined) continue;
      try {
        await files.datasync(fd);
      } finally {
        await files.close(fd);
      }
      await syncDirectory(files, directory);
    }
  };
  await Promise.all(Array.from({ length: 8 }, take));
  await syncDirectory(files, join(root, 'sessions'));
}

async function recoverAll(files: FilePort, root: string, directory: string, locks: Locks): Promise<void> {
  for (const name of (await orMissing(files.names(directory))) ?? []) {
    const token = name.replace(/\.log$/, '');
    if (token === name || token === locks.token || (await locks.isAlive(token))) continue;
    const path = join(directory, name);
    const turn = await livingOf(files).hold(createHash('sha256').update(path).digest('hex').slice(0, 24));
    if (turn === undefined) continue;
    try {
      const bytes = await orMissing(files.readFile(path));
      if (bytes === undefined) continue;
      const touched = await bringBack(files, root, bytes, locks.standpoint.boot);
      await syncLogs(files, root, touched);
      await files.unlink(path);
    } finally {
      turn.close();
    }
  }
}

/** Resolves with the sessions that a journal is about. */
async function bringBack(files: FilePort, root: string, journal: Buffer, boot: string): Promise<Set<string>> {
  const header = parsed(journal.subarray(0, journal.indexOf(LINE_END) + 1)) as { format?: number; boot?: string };
  const pieces = header?.format === 1 ? piecesOf(journal) : [];
  const remade = new Set<string>();
  const lastGone = new Map(pieces.flatMap(({ piece }, index) => (piece.ino === 0 ? [[piece.session, index]] : [])));
  for (const [index, { piece, bytes }] of pieces.entries()) {
    if (header.boot === boot || index <= (lastGone.get(piece.session) ?? -1)) continue;
    await put(files, root, piece, bytes, remade);
  }
  return new Set(pieces.map(({ piece }) => piece.session));
}

/** Up to the first that is not whole: it was never durable, nor what follows. */
function piecesOf(journal: Buffer): { piece: Piece; bytes: Buffer }[] {
  const pieces: { piece: Piece; bytes: Buffer }[] = [];
  for (let at = journal.indexOf(LINE_END) + 1; at > 0 && at < journal.length; ) {
    const end = journal.indexOf(LINE_END, at);
    const piece = end < 0 ? undefined : (parsed(journal.subarray(at, end)) as Piece | undefined);
    if (piece === undefined || !isSessionId(piece.session)) break;
    at = end + 1 + piece.length;
    const bytes = journal.subarray(end + 1, at);
    if (bytes.length !== piece.length || crc32(bytes) !== piece.sum) break;
    pieces.push({ piece, bytes });
  }
  return pieces;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Into the log that it was written to; one that never reached the disk is made anew, from its first byte on. */
async function put(
  files: FilePort,
  root: string,
  { session, ino, at }: Piece,
  bytes: Buffer,
  remade: Set<string>,
): Promise<void> {
  const { directory, log } = sessionFiles(root, session);
  const facts = await orMissing(files.factsAt(log));
  if (facts === undefined || facts.size === 0) {
    if (at !== 0) return;
    await files.mkdir(directory, true);
    await replaceFile(files, log, bytes);
    remade.add(session);
    return;
  }
  // Another log stands there by now.
  if (facts.ino !== ino && !remade.has(session)) return;
  const fd = await files.open(log, 'r+');
  try {
    await writeAll(files, fd, bytes, at);
  } finally {
    await files.close(fd);
  }
}
