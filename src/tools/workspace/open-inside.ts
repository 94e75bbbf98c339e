import type { BigIntStats, Dirent } from 'node:fs';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir, readlink, realpath } from 'node:fs/promises';
import { isInside, type Workspace } from './place.js';
import { quoted, refusalFor, WorkspaceRefusal } from './refusal.js';

// Not on every platform; NONBLOCK keeps a named pipe from holding the thread that opens it.
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0 } = constants;
const READ_FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** An open regular file. The caller closes `handle`. */
export interface OpenFile {
  readonly handle: FileHandle;
  /** Bytes. */
  readonly size: number;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file at a path that `locate` gave. Between the two a folder on the way may have been replaced by a
 * link, so it is what was opened that must lie inside the root, not only the path. `path` is for the sentences.
 */
export async function openFileInside(workspace: Workspace, absolute: string, path: string): Promise<OpenFile> {
  let handle: FileHandle;
  try {
    handle = await open(absolute, READ_FILE);
  } catch (thrown) {
    throw refusalFor(thrown, path);
  }
  try {
    const stats = await handle.stat({ bigint: true });
    if (stats.isDirectory()) throw new WorkspaceRefusal('execution_failed', `${quoted(path)} is a folder.`);
    if (!stats.isFile()) throw new WorkspaceRefusal('execution_failed', `${quoted(path)} is not a regular file.`);
    if (!(await liesInside(workspace, handle, absolute, stats))) throw moved(path);
    return { handle, size: Number(stats.size), stats };
  } catch (thrown) {
    await handle.close();
    throw refusalFor(thrown, path);
  }
}

/** The entries of a folder, at most `most` of them, in no order; `more` when there were others. */
export async function readFolderInside(
  workspace: Workspace,
  absolute: string,
  path: string,
  most: number,
): Promise<{ entries: Dirent[]; more: boolean }> {
  try {
    const byDescriptor =
      process.platform === 'linux' && (await readFolderByDescriptor(workspace, absolute, path, most));
    return byDescriptor || (await readFolderByPath(absolute, path, most));
  } catch (thrown) {
    throw refusalFor(thrown, path);
  }
}

async function readFolderByDescriptor(workspace: Workspace, absolute: string, path: string, most: number) {
  const handle = await open(absolute, O_RDONLY | O_NOFOLLOW | O_DIRECTORY);
  try {
    const real = await realPathOf(handle);
    if (real === undefined) return undefined;
    if (!isInside(workspace.root, real)) throw moved(path);
    return await takeEntries(descriptorPath(handle), most);
  } finally {
    await handle.close();
  }
}

/** Where a folder cannot be read through its descriptor: it must be the same folder before and after. */
export async function readFolderByPath(absolute: string, path: string, most: number) {
  const before = await lstat(absolute, { bigint: true });
  if (!before.isDirectory() || (await realpath(absolute)) !== absolute) throw moved(path);
  const taken = await takeEntries(absolute, most);
  const after = await lstat(absolute, { bigint: true });
  if (!sameFile(before, after) || (await realpath(absolute)) !== absolute) throw moved(path);
  return taken;
}

async function takeEntries(folder: string, most: number): Promise<{ entries: Dirent[]; more: boolean }> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder, { bufferSize: 256 })) {
    if (entries.length >= most) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

async function liesInside(workspace: Workspace, handle: FileHandle, absolute: string, opened: BigIntStats) {
  const real = await realPathOf(handle);
  return real === undefined ? isSameInside(workspace, absolute, opened) : isInside(workspace.root, real);
}

/** The portable check: the path still leads inside the root, and to the file that was opened. */
export async function isSameInside(workspace: Workspace, absolute: string, opened: BigIntStats): Promise<boolean> {
  const real = await realpath(absolute);
  return isInside(workspace.root, real) && sameFile(await lstat(real, { bigint: true }), opened);
}

export const sameFile = (one: BigIntStats, other: BigIntStats) => one.dev === other.dev && one.ino === other.ino;

/** The kernel's own answer to where an open file lies; nothing where it gives none (no Linux, no /proc). */
export async function realPathOf(handle: FileHandle): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  return readlink(descriptorPath(handle)).catch(() => undefined);
}

export const descriptorPath = (handle: FileHandle) => `/proc/self/fd/${handle.fd}`;

function moved(path: string): WorkspaceRefusal {
  return new WorkspaceRefusal(
    'execution_failed',
    `${quoted(path)} was replaced while it was opened; nothing was read.`,
  );
}
