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
  /** A line that could not even be made has failed like one that could not be written. Rejects. */
  refuse(thrown: unknown): Promise<never>;
  /** Makes `written` wait for something more. */
  alsoWait(work: Promise<unknown>): void;
  /** Once all lines up to now are durable; rejects when one was not. */
  written(): Promise<void>;
  /** Another file stands where the log was. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface LogWriterOptions {
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
}

export const createLogWriter = (options: LogWriterOptions): LogWriter => new LineWriter(options);

/** So much goes into the memory of the system faster than another thread is asked to put it there. */
const SMALL_BYTES = 64 * 1024;

interface Batch {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

const NOTHING: readonly string[] = [];
const DONE = Promise.resolve();

/** A class, not closures: there is one per session that is open. */
class LineWriter implements LogWriter, Writer {
  readonly #files: FilePort;
  readonly #committer: Committer;
  readonly #path: string;
  readonly #id: string;
  fd: number;
  size: number;
  #ino: number;
  #endsOpen: boolean;
  #made: LogWriterOptions['made'];
  #lines: string[] | undefined;
  #batch: Batch | undefined;
  #failure: TroupeError | undefined;
  /** All that is under way. */
  #pending: Promise<void> = DONE;

  constructor({ files, committer, path, id, fd, size, ino, endsOpen, made }: LogWriterOptions) {
    this.#files = files;
    this.#committer = committer;
    this.#path = path;
    this.#id = id;
    this.fd = fd;
    this.size = size;
    this.#ino = ino;
    this.#endsOpen = endsOpen;
    this.#made = made;
  }

  write(line: string): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#batch !== undefined) this.#lines?.push(line);
    else {
      this.#lines = [line];
      this.#batch = newBatch();
      this.alsoWait(this.#batch.promise);
      this.#committer.ask(this);
    }
    return (this.#batch as Batch).promise;
  }

  refuse(thrown: unknown): Promise<never> {
    this.#failure ??= storeFault(thrown, `session "${this.#id}" cannot be written`);
    return Promise.reject(this.#failure);
  }

  alsoWait(work: Promise<unknown>): void {
    this.#pending = both(this.#pending, work);
    // Whoever appended hears of it; the rest is for `written`.
    this.#pending.catch(() => {});
  }

  async written(): Promise<void> {
    await this.#pending;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async commit(): Promise<Written | undefined> {
    const files = this.#files;
    const { fd, size } = this;
    const batch = this.#batch;
    if (batch === undefined) return undefined;
    const text = (this.#endsOpen ? '\n' : '') + this.#lines?.join('');
    this.#batch = undefined;
    this.#lines = undefined;
    const bytes = Buffer.from(text);
    try {
      if (files.writeNow === undefined || bytes.length > SMALL_BYTES) await writeAll(files, fd, bytes, size);
      else files.writeNow(fd, bytes, size);
    } catch (thrown) {
      await this.#fail(thrown, batch);
      return undefined;
    }
    const made = this.#made;
    return {
      fd,
      id: this.#id,
      ino: this.#ino,
      at: made === undefined ? size : 0,
      bytes: made === undefined ? bytes : Buffer.concat([Buffer.from(made.header), bytes]),
      directories: made?.directories ?? NOTHING,
      done: (thrown) => {
        if (thrown !== undefined) return void this.#fail(thrown, batch);
        this.size += bytes.length;
        this.#endsOpen = false;
        this.#made = undefined;
        batch.resolve();
      },
    };
  }

  async #fail(thrown: unknown, failed: Batch): Promise<void> {
    this.#failure ??= storeFault(thrown, `session "${this.#id}" cannot be written`);
    // What was written of it by halves is no part of the log.
    await this.#files.truncate(this.fd, this.size).catch(() => {});
    failed.reject(this.#failure);
    this.#batch?.reject(this.#failure);
    this.#batch = undefined;
    this.#lines = undefined;
  }

  async reopen(): Promise<void> {
    const now = await this.#files.open(this.#path, 'r+');
    const before = this.fd;
    const { size, ino } = await this.#files.facts(now);
    this.size = size;
    this.#ino = ino;
    this.fd = now;
    this.#endsOpen = false;
    await this.#files.close(before);
  }

  close(): Promise<void> {
    return this.#files.close(this.fd);
  }
}

/** Without keeping what either was resolved with: the next waits for this one. */
async function both(one: Promise<void>, other: Promise<unknown>): Promise<void> {
  await Promise.all([one, other]);
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
