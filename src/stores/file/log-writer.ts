import type { TroupeError } from '../../kernel/errors.js';
import type { Committer, Writer, Written } from './commit.js';
import { type FilePort, writeAll } from './file-port.js';
import { storeFault } from './store-fault.js';

/** Writes lines to the end of one log, which nobody else writes. */
export interface LogWriter {
  readonly fd: number;
  /** Bytes of the log that are durable. */
  readonly size: number;
  /**
   * Resolves once the line is durable; lines that wait share one write and one sync. After one that failed, every other
   * rejects with the same: a log has no holes.
   */
  write(line: string): Promise<void>;
  /** Makes `written` wait for something more. */
  alsoWait(work: Promise<unknown>): void;
  /** Once all lines up to now are durable; rejects when one was not. */
  written(): Promise<void>;
  /** Another file stands where the log was. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** So much goes into the memory of the system faster than another thread is asked to put it there. */
const SMALL_BYTES = 64 * 1024;

interface Batch {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

export function createLogWriter(options: {
  files: FilePort;
  committer: Committer;
  path: string;
  id: string;
  fd: number;
  size: number;
  /** The last line there lacks its end. */
  endsOpen: boolean;
  ino: number;
  /** Of a log that was made just now: its header, and the directories that got a name. Durable with the first lines. */
  made: { header: string; directories: readonly string[] } | undefined;
}): LogWriter {
  const { files, committer, path, id } = options;
  let { fd, size, endsOpen, ino, made } = options;
  let lines: string[] = [];
  let batch: Batch | undefined;
  let failure: TroupeError | undefined;
  /** Work that is under way, the last of it last. */
  let pending: Promise<unknown> = Promise.resolve();

  const fail = async (thrown: unknown, failed: Batch): Promise<void> => {
    failure ??= storeFault(thrown, `session "${id}" cannot be written`);
    // What was written of it by halves is no part of the log.
    await files.truncate(fd, size).catch(() => {});
    failed.reject(failure);
    batch?.reject(failure);
    batch = undefined;
    lines = [];
  };

  const writer: Writer = {
    async write(): Promise<Written | undefined> {
      const current = batch;
      if (current === undefined) return undefined;
      const text = (endsOpen ? '\n' : '') + lines.join('');
      batch = undefined;
      lines = [];
      const bytes = Buffer.from(text);
      try {
        if (files.writeNow === undefined || bytes.length > SMALL_BYTES) await writeAll(files, fd, bytes, size);
        else files.writeNow(fd, bytes, size);
      } catch (thrown) {
        await fail(thrown, current);
        return undefined;
      }
      return {
        fd,
        id,
        ino,
        at: made === undefined ? size : 0,
        bytes: made === undefined ? bytes : Buffer.concat([Buffer.from(made.header), bytes]),
        directories: made?.directories ?? [],
        done(thrown) {
          if (thrown !== undefined) return void fail(thrown, current);
          size += bytes.length;
          endsOpen = false;
          made = undefined;
          current.resolve();
        },
      };
    },
  };

  return {
    get fd() {
      return fd;
    },
    get size() {
      return size;
    },
    write(line) {
      if (failure !== undefined) return Promise.reject(failure);
      lines.push(line);
      if (batch === undefined) {
        batch = newBatch();
        pending = Promise.all([pending, batch.promise]);
        // Whoever appended hears of it; the rest is for `written`.
        pending.catch(() => {});
        committer.ask(writer);
      }
      return batch.promise;
    },
    alsoWait(work) {
      pending = Promise.all([pending, work]);
      pending.catch(() => {});
    },
    async written() {
      await pending;
      if (failure !== undefined) throw failure;
    },
    async reopen() {
      const now = await files.open(path, 'r+');
      const before = fd;
      ({ size, ino } = await files.facts(now));
      fd = now;
      endsOpen = false;
      await files.close(before);
    },
    close: () => files.close(fd),
  };
}

function newBatch(): Batch {
  let resolve: Batch['resolve'] = () => {};
  let reject: Batch['reject'] = () => {};
  const promise = new Promise<void>((keep, refuse) => {
    resolve = keep;
    reject = refuse;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
