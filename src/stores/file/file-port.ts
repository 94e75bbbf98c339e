import fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

export interface FileFacts {
  readonly size: number;
  readonly mtimeMs: number;
  readonly ino: number;
  readonly dev: number;
  isDirectory(): boolean;
  isFile(): boolean;
}

/** Names on a machine: each is held by one process at a time, and free in the moment that process dies. */
export interface LivingPort {
  /** Holds the name until what it resolves with is closed; undefined while it is held. */
  hold(name: string): Promise<{ close(): void } | undefined>;
  isHeld(name: string): Promise<boolean>;
}

/** What the stores ask of a file system, as Node's callback functions do it. Rejections carry the system's `code`. */
export interface FilePort {
  /** Names the time between two starts of the machine, where it is not this one. */
  readonly boot?: string;
  /** Names that one process at a time holds, where it is not this machine's processes that share the files. */
  readonly living?: LivingPort;
  open(path: string, flags: string | number, mode?: number): Promise<number>;
  /** Resolves with the bytes written, which may be fewer. Without a position: at the end of what was opened to append. */
  write(fd: number, bytes: Uint8Array, position?: number | null): Promise<number>;
  /** Writes all of it at once, or throws. Left out where that could take long. */
  writeNow?(fd: number, bytes: Uint8Array, position: number): void;
  /** Resolves with the bytes read; 0 at the end. */
  read(fd: number, into: Uint8Array, position: number): Promise<number>;
  datasync(fd: number): Promise<void>;
  sync(fd: number): Promise<void>;
  close(fd: number): Promise<void>;
  truncate(fd: number, size: number): Promise<void>;
  facts(fd: number): Promise<FileFacts>;
  /** Of the path itself, not of what a link points to. */
  factsAt(path: string): Promise<FileFacts>;
  readFile(path: string): Promise<Buffer>;
  /** The text of a file if it is another one than `seen` says; at once. Undefined where it is not, or is not there. */
  readIfChanged(path: string, seen: string): { text: string; seen: string } | undefined;
  mkdir(path: string, recursive?: boolean): Promise<void>;
  names(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  removeAll(path: string): Promise<void>;
}

const open = promisify(fs.open);
const write = promisify(fs.write) as (
  fd: number,
  bytes: Uint8Array,
  offset: number,
  length: number,
  position: number | null,
) => Promise<{ bytesWritten: number }>;
const read = promisify(fs.read) as (
  fd: number,
  into: Uint8Array,
  offset: number,
  length: number,
  position: number,
) => Promise<{ bytesRead: number }>;
const mkdir = promisify(fs.mkdir);
const stat = promisify(fs.stat);
// Its types know no flags in numbers.
const readFile = promisify(fs.readFile) as unknown as (path: string, options: { flag: number }) => Promise<Buffer>;

const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;

/** Nobody waits for whoever writes a pipe that stands where a file should; to files it makes no difference. */
const TO_READ = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

/** The file system of this machine. */
export const nodeFiles: FilePort = {
  open: (path, flags, mode = FILE_MODE) => open(path, flags === 'r' ? TO_READ : flags, mode),
  write: async (fd, bytes, position = null) => (await write(fd, bytes, 0, bytes.length, position)).bytesWritten,
  writeNow(fd, bytes, position) {
    for (let done = 0; done < bytes.length; ) {
      done += fs.writeSync(fd, bytes, done, bytes.length - done, position + done);
    }
  },
  read: async (fd, into, position) => (await read(fd, into, 0, into.length, position)).bytesRead,
  datasync: promisify(fs.fdatasync),
  sync: promisify(fs.fsync),
  close: promisify(fs.close),
  truncate: promisify(fs.ftruncate),
  facts: promisify(fs.fstat) as (fd: number) => Promise<FileFacts>,
  factsAt: promisify(fs.lstat) as (path: string) => Promise<FileFacts>,
  readFile: (path) => readFile(path, { flag: TO_READ }),
  readIfChanged(path, seen) {
    const facts = fs.statSync(path, { throwIfNoEntry: false });
    if (!facts?.isFile()) return undefined;
    const now = `${facts.ino}:${facts.size}:${facts.mtimeMs}`;
    return now === seen ? undefined : { text: fs.readFileSync(path, 'utf8'), seen: now };
  },
  mkdir: async (path, recursive = false) => {
    if (recursive) await makeAll(path);
    else await mkdir(path, { mode: DIRECTORY_MODE });
  },
  names: promisify(fs.readdir) as (path: string) => Promise<string[]>,
  rename: promisify(fs.rename),
  link: promisify(fs.link),
  unlink: promisify(fs.unlink),
  removeAll: async (path) => {
    await promisify(fs.rm)(path, { recursive: true, force: true });
  },
};

/** Step by step: where a system refuses a name as one that is not there (`/proc`), Node's own way tries it for ever. */
async function makeAll(path: string): Promise<void> {
  const make = () =>
    mkdir(path, { mode: DIRECTORY_MODE }).catch(async (thrown: unknown) => {
      if (codeOf(thrown) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw thrown;
    });
  try {
    await make();
  } catch (thrown) {
    const above = dirname(path);
    if (codeOf(thrown) !== 'ENOENT' || above === path) throw thrown;
    await makeAll(above);
    await make();
  }
}

/** Writes all of it, in as many pieces as the system takes. Resolves with the bytes written. */
export async function writeAll(files: FilePort, fd: number, bytes: Uint8Array, position?: number): Promise<number> {
  let done = 0;
  while (done < bytes.length) {
    const rest = done === 0 ? bytes : bytes.subarray(done);
    done += await files.write(fd, rest, position === undefined ? null : position + done);
  }
  return done;
}

/** Whole or not at all: written beside it, durable, then put in its place. */
export async function replaceFile(files: FilePort, path: string, bytes: Uint8Array, durable = true): Promise<void> {
  const beside = `${path}.${process.pid}-${++replaced}.new`;
  const fd = await files.open(beside, 'wx');
  try {
    await writeAll(files, fd, bytes);
    if (durable) await files.datasync(fd);
  } catch (thrown) {
    await files.close(fd);
    await files.unlink(beside).catch(() => {});
    throw thrown;
  }
  await files.close(fd);
  await files.rename(beside, path);
}

let replaced = 0;

/** Makes names in a directory durable. Where a directory cannot be synced, the system does it in its own time. */
export async function syncDirectory(files: FilePort, path: string): Promise<void> {
  let fd: number;
  try {
    fd = await files.open(path, 'r');
  } catch {
    return;
  }
  try {
    await files.sync(fd);
  } catch {
    // Windows and some network file systems know no such thing.
  } finally {
    await files.close(fd);
  }
}

/** Undefined where there is no such file. */
export async function orMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw thrown;
  }
}

export const codeOf = (thrown: unknown): unknown => (thrown as { code?: unknown } | null)?.code;
