import { randomBytes } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type OpenFolder, openFolderInside, replaced } from './open-folder.js';
import { openFileInside, sameFile } from './open-inside.js';
import type { Workspace } from './place.js';
import { fsCode, quoted, WorkspaceRefusal, writeRefusalFor } from './refusal.js';
import { count } from './shown-text.js';

/** Larger files are not edited. */
export const MAX_EDITED_BYTES = 8 * 1024 * 1024;

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
const PERMISSIONS = 0o777;

/** A file as it was when it was read. */
export interface FileBefore {
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

/** The whole of a regular file at a path that `locateAny` gave. Refuses one that is too large. */
export async function readWhole(workspace: Workspace, absolute: string, asked: string): Promise<FileBefore> {
  const { handle, size, stats } = await openFileInside(workspace, absolute, asked);
  try {
    if (size > MAX_EDITED_BYTES) throw tooLarge(asked, size);
    const bytes = await handle.readFile();
    if (bytes.length > MAX_EDITED_BYTES) throw tooLarge(asked, bytes.length);
    return { bytes, stats };
  } finally {
    await handle.close();
  }
}

export const tooLarge = (asked: string, bytes: number) =>
  new WorkspaceRefusal(
    'execution_failed',
    `${quoted(asked)} is too large to be edited: ${count(bytes, 'byte')}, of at most ${count(MAX_EDITED_BYTES, 'byte')}.`,
  );

export interface Writing {
  /** Where the file comes to lie, as `locateAny` gave it. */
  readonly absolute: string;
  /** As it was asked for. */
  readonly asked: string;
  readonly bytes: Buffer;
  /** What the writing starts from; absent: there was no such file. */
  readonly before: FileBefore | undefined;
}

/**
 * Puts a file in its place whole: readers see what was there before or all of it, never a part. Permissions stay as they
 * were, other names of the file (hard links) keep the old content. Missing folders are made.
 * Refuses when the file is no longer what `before` says, when it is not a regular file, or may not be written.
 */
export async function writeInside(workspace: Workspace, writing: Writing, signal: AbortSignal): Promise<void> {
  const folder = await openFolderInside(workspace, dirname(writing.absolute), writing.asked);
  const target = folder.at(basename(writing.absolute));
  const draft = folder.at(`.troupe-${randomBytes(8).toString('hex')}.tmp`);
  try {
    await checkUnchanged(target, writing);
    await writeDraft(draft, writing);
    try {
      signal.throwIfAborted();
      await moveIntoPlace(folder, { draft, target }, writing);
    } catch (thrown) {
      await unlink(draft).catch(() => {});
      throw thrown;
    }
    await folder.sync();
  } catch (thrown) {
    throw writeRefusalFor(thrown, writing.asked);
  } finally {
    await folder.close();
  }
}

/** Takes a file away, where it is still what `before` says. */
export async function removeInside(
  workspace: Workspace,
  { absolute, asked, before }: Pick<Writing, 'absolute' | 'asked'> & { readonly before: FileBefore },
): Promise<void> {
  const folder = await openFolderInside(workspace, dirname(absolute), asked);
  const target = folder.at(basename(absolute));
  try {
    await checkUnchanged(target, { absolute, asked, before, bytes: before.bytes });
    if (!(await folder.isInside())) throw replaced(asked);
    await unlink(target);
    await folder.sync();
  } catch (thrown) {
    throw writeRefusalFor(thrown, asked);
  } finally {
    await folder.close();
  }
}

async function writeDraft(draft: string, { bytes, before }: Writing): Promise<void> {
  const handle = await open(draft, NEW_FILE, before === undefined ? 0o666 : 0o600);
  try {
    await handle.writeFile(bytes);
    if (before !== undefined) await keepAccess(handle, before.stats);
    await handle.sync();
  } catch (thrown) {
    await unlink(draft).catch(() => {});
    throw thrown;
  } finally {
    await handle.close();
  }
}

/** Set-user-id bits are dropped, as by any write. Only who may give files away keeps the owner of another. */
async function keepAccess(handle: FileHandle, stats: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== stats.uid || own.gid !== stats.gid) {
    await handle.chown(Number(stats.uid), Number(stats.gid)).catch(() => {});
  }
  await handle.chmod(Number(stats.mode) & PERMISSIONS);
}

async function moveIntoPlace(
  folder: OpenFolder,
  { draft, target }: { draft: string; target: string },
  writing: Writing,
): Promise<void> {
  await checkUnchanged(target, writing);
  if (!(await folder.isInside())) throw replaced(writing.asked);
  // A link fails where there is a file by now; a rename would put this one in its place.
  if (writing.before === undefined && (await tryLink(draft, target, writing.asked))) {
    await unlink(draft).catch(() => {});
  } else await rename(draft, target);
}

/** False where the file system has no hard links. */
async function tryLink(draft: string, target: string, asked: string): Promise<boolean> {
  try {
    await link(draft, target);
    return true;
  } catch (thrown) {
    if (fsCode(thrown) === 'EEXIST') throw changed(asked);
    return false;
  }
}

async function checkUnchanged(target: string, { before, asked }: Writing): Promise<void> {
  const stats = await lstat(target, { bigint: true }).catch((thrown) => {
    if (fsCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  });
  if (before === undefined) {
    if (stats !== undefined) throw changed(asked);
    return;
  }
  if (stats === undefined || !isAsBefore(stats, before.stats)) throw changed(asked);
  await checkWritable(target);
}

/** A rename asks only for the rights to the folder. A program that runs cannot be opened, but may be replaced. */
async function checkWritable(target: string): Promise<void> {
  const handle = await open(target, O_WRONLY | O_NOFOLLOW | O_NONBLOCK).catch((thrown) => {
    if (fsCode(thrown) === 'ETXTBSY') return undefined;
    throw thrown;
  });
  await handle?.close();
}

const isAsBefore = (stats: BigIntStats, before: BigIntStats) =>
  stats.isFile() && sameFile(stats, before) && stats.size === before.size && stats.mtimeNs === before.mtimeNs;

const changed = (asked: string) =>
  new WorkspaceRefusal('execution_failed', `${quoted(asked)} was changed by others meanwhile; nothing was written.`);
