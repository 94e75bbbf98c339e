import { dirname, join, resolve } from 'node:path';
import type {
  ArtifactStore,
  MemoryStore,
  RepairReport,
  SessionHandle,
  SessionMetadata,
  SessionProvider,
  SessionSummary,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { assertSessionId } from '../kernel/session-id.js';
import { fileArtifacts } from './file/artifacts.js';
import { createCommitter } from './file/commit.js';
import { codeOf, type FilePort, nodeFiles, orMissing, syncDirectory, writeAll } from './file/file-port.js';
import { emptyLog, FileHandle } from './file/handle.js';
import { createJournal } from './file/journal.js';
import { listSessions } from './file/list.js';
import { newToken } from './file/living.js';
import { createLocks } from './file/lock.js';
import { headerLine, isHalfHeader, LOG_FORMAT, type LogHeader } from './file/log-line.js';
import { fileMemories } from './file/memories.js';
import { notFound, openLog } from './file/open-log.js';
import { repairLog } from './file/repair.js';
import { restoreShared } from './file/restore-shared.js';
import { sortRecords, writeLog } from './file/rewrite-log.js';
import { sessionFiles, sessionsDirectory } from './file/session-files.js';
import { createSharedState } from './file/shared-state.js';
import { doing } from './file/store-fault.js';
import type { StoreNotice, StoreParts } from './file/store-parts.js';
import { readSummary } from './file/summary.js';
import { ageToMs } from './file/sweep.js';

export type { FilePort } from './file/file-port.js';
export type { StoreNotice } from './file/store-parts.js';

const LONGEST_HEADER = 65_536;

export interface FileStoreOptions {
  /** Made, for its owner alone (0700), when the first session is. */
  dir: string;
  /** Told what was skipped or mended. Not told: nothing. */
  onNotice?: (notice: StoreNotice) => void;
  /** Another file system. */
  files?: FilePort;
}

export interface FileStore extends SessionProvider {
  readonly artifacts: ArtifactStore;
  readonly memory: MemoryStore;
  create(agentName: string, metadata?: SessionMetadata): Promise<SessionHandle>;
  load(id: string): Promise<SessionHandle>;
  list(agentName?: string, scope?: { appName?: string; userId?: string }): Promise<SessionSummary[]>;
  delete(id: string): Promise<void>;
  fork(id: string, options?: SessionMetadata & { at?: number }): Promise<SessionHandle>;
  repair(id: string): Promise<RepairReport>;
  /**
   * Deletes every session whose last event is older than that: milliseconds, or `12h`, `30d`, `8w`. Resolves with their
   * ids. Those that somebody writes stay. Nothing is ever swept unasked.
   */
  sweep(options: { maxAge: number | string; now?: number }): Promise<string[]>;
}

/**
 * Sessions in files: a directory each, JSON lines, no native module. Any number of processes may read, one at a time
 * writes a session. An append resolves once it is durable; those of all sessions that are open share their syncs.
 */
export function fileStore(options: FileStoreOptions): FileStore {
  if (typeof options?.dir !== 'string' || options.dir === '') {
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: "fileStore needs a directory: fileStore({ dir: '.troupe' })",
    });
  }
  const root = resolve(options.dir);
  const files = options.files ?? nodeFiles;
  const sessions = sessionsDirectory(root);
  const locks = createLocks(files, root);
  const journal = createJournal(files, root, locks);
  const parts: StoreParts = {
    files,
    locks,
    committer: createCommitter(journal.sync),
    shared: createSharedState(files, root),
    writers: new Map(),
    onNotice: options.onNotice ?? (() => {}),
    sharedUpTo: async (paths) => (await readSummary(files, paths.summary))?.sharedSeq ?? 0,
  };

  /** A directory for a session that is not there; made with those above it. */
  async function makeDirectory(path: string): Promise<void> {
    try {
      await files.mkdir(path);
    } catch (thrown) {
      if (codeOf(thrown) !== 'ENOENT') throw thrown;
      await files.mkdir(sessions, true);
      for (const above of [root, dirname(root)]) await syncDirectory(files, above);
      await files.mkdir(path);
    }
  }

  /** True where a directory is there but no whole log in it: whoever made it died over it. */
  const isLeftOver = async (log: string) => {
    const facts = await orMissing(files.factsAt(log));
    if (facts === undefined) return true;
    if (facts.size > LONGEST_HEADER || !isHalfHeader((await files.readFile(log)).toString('latin1'))) return false;
    await files.unlink(log);
    return true;
  };

  async function create(agentName: string, metadata: SessionMetadata): Promise<SessionHandle> {
    const { id = newToken(), ...rest } = metadata;
    assertSessionId(id);
    const paths = sessionFiles(root, id);
    const made = newToken();
    const header: LogHeader = { troupe: 'session-log', format: LOG_FORMAT, id, agentName, metadata: rest, made };
    const make = async () => {
      await makeDirectory(paths.directory).catch(async (thrown: unknown) => {
        if (codeOf(thrown) !== 'EEXIST' || !(await isLeftOver(paths.log))) throw thrown;
      });
      const bytes = Buffer.from(headerLine(header));
      const fd = await files.open(paths.log, 'wx');
      try {
        await writeAll(files, fd, bytes);
        const { ino } = await files.facts(fd);
        return new FileHandle(parts, paths, emptyLog(header, ino, bytes.length), true);
      } catch (thrown) {
        await files.unlink(paths.log).catch(() => {});
        throw thrown;
      } finally {
        await files.close(fd);
      }
    };
    await doing(`session "${id}" cannot be made`, journal.recover());
    // Before it is there: a session that is just being made is none that nothing was said in.
    await doing(`session "${id}" cannot be made`, restoreShared(parts, root, rest, {}));
    return doing(`session "${id}" cannot be made`, make().catch(refuseTaken(id)));
  }

  const load = async (id: string): Promise<FileHandle> => {
    assertSessionId(id);
    await journal.recover();
    await parts.writers.get(id)?.settled();
    const paths = sessionFiles(root, id);
    const found = await openLog(files, paths, id);
    // To read changes nothing: where it cannot be written, or is not wanted to be, the logs have it.
    await restoreShared(parts, root, found.header.metadata, Object.fromEntries(found.scan.state)).catch(() => {});
    return new FileHandle(parts, paths, found);
  };

  async function fork(
    sourceId: string,
    { at = Number.POSITIVE_INFINITY, id = newToken(), ...given }: SessionMetadata & { at?: number } = {},
  ): Promise<SessionHandle> {
    assertSessionId(sourceId);
    assertSessionId(id);
    await journal.recover();
    await parts.writers.get(sourceId)?.settled();
    const source = sessionFiles(root, sourceId);
    const { header, scan } = await openLog(files, source, sourceId);
    const target = sessionFiles(root, id);
    // It is made beside the others and then put among them: nobody sees half of it.
    const draft = sessionFiles(root, `.new-${newToken()}`);
    const copy = async () => {
      if ((await orMissing(files.factsAt(target.log))) !== undefined) throw isTaken(id);
      const fd = await files.open(source.log, 'r');
      try {
        const { kept } = await sortRecords(files, fd, scan, at);
        await files.mkdir(draft.directory);
        const forkedFrom = { id: sourceId, at: Math.min(at, scan.lastSeq) };
        const metadata = { ...header.metadata, ...given };
        await writeLog(files, draft.log, { ...header, id, metadata, forkedFrom, made: newToken() }, fd, kept);
        await syncDirectory(files, draft.directory);
      } finally {
        await files.close(fd);
      }
      await files.rename(draft.directory, target.directory);
      await syncDirectory(files, sessions);
    };
    await doing(
      `session "${sourceId}" cannot be forked`,
      copy().catch(async (thrown: unknown) => {
        await files.removeAll(draft.directory).catch(() => {});
        return refuseTaken(id)(thrown);
      }),
    );
    return load(id);
  }

  async function remove(id: string): Promise<void> {
    assertSessionId(id);
    await journal.recover();
    const { directory } = sessionFiles(root, id);
    if (!(await doing(`session "${id}"`, orMissing(files.factsAt(directory))))?.isDirectory()) throw notFound(id);
    await doing(`session "${id}" cannot be deleted`, parts.locks.take(id, directory));
    const aside = join(sessions, `.gone-${newToken()}`);
    await doing(
      `session "${id}" cannot be deleted`,
      files
        .rename(directory, aside)
        .then(() => journal.forget(id))
        .then(() => files.removeAll(aside)),
    );
  }

  const list: FileStore['list'] = async (agentName, scope = {}) => {
    await journal.recover();
    return listSessions(parts, root, agentName, scope);
  };

  return {
    artifacts: fileArtifacts(files, root),
    memory: fileMemories(files, root),
    create: (agentName, metadata = {}) => create(agentName, metadata),
    load,
    list,
    delete: remove,
    fork,
    async repair(id): Promise<RepairReport> {
      assertSessionId(id);
      await journal.recover();
      return repairLog(parts, sessionFiles(root, id), id);
    },
    async sweep({ maxAge, now = Date.now() }) {
      const oldest = now - ageToMs(maxAge);
      const swept: string[] = [];
      for (const { id, lastUpdateTime } of await list()) {
        if (Date.parse(lastUpdateTime) >= oldest) continue;
        try {
          await remove(id);
          swept.push(id);
        } catch (thrown) {
          const code = codeOf(thrown);
          if (code !== 'SESSION_LOCKED' && code !== 'SESSION_NOT_FOUND') throw thrown;
        }
      }
      return swept;
    },
  };
}

const isTaken = (id: string) => new TroupeError({ code: 'SESSION_EXISTS', message: `session "${id}" exists already` });

const refuseTaken =
  (id: string) =>
  (thrown: unknown): never => {
    const code = codeOf(thrown);
    throw code === 'EEXIST' || code === 'ENOTEMPTY' ? isTaken(id) : thrown;
  };
