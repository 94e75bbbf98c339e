import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { descriptorPath, realPathOf, sameFile } from './open-inside.js';
import { isInside, type Workspace } from './place.js';
import { fsCode, quoted, WorkspaceRefusal, writeRefusalFor } from './refusal.js';

const { O_RDONLY, O_NOFOLLOW = 0, O_DIRECTORY = 0 } = constants;
const OPEN_FOLDER = O_RDONLY | O_NOFOLLOW | O_DIRECTORY;

/** A folder that stays the same one, whatever becomes of the path that led to it. The caller closes it. */
export interface OpenFolder {
  /** The path of an entry, for the calls of the system. */
  at(name: string): string;
  /** Whether it lies inside the workspace at this moment. */
  isInside(): Promise<boolean>;
  /** Makes what was done in it durable, where the system can. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a folder at an absolute path without symbolic links, as `locateAny` gives them, and makes what is missing of it.
 * It goes down from the root one folder at a time, and follows no link that was put in the way meanwhile. `asked` is for
 * the sentences.
 */
export async function openFolderInside(workspace: Workspace, absolute: string, asked: string): Promise<OpenFolder> {
  if (!isInside(workspace.root, absolute)) throw replaced(asked);
  const names = relative(workspace.root, absolute).split(sep).filter(Boolean);
  try {
    const byDescriptor = process.platform === 'linux' && (await openByDescriptor(workspace, names, asked));
    return byDescriptor || (await openFolderByPath(workspace, names, asked));
  } catch (thrown) {
    throw writeRefusalFor(thrown, asked);
  }
}

/** Each step begins at the folder that is already open, so that nothing above it matters any more. */
async function openByDescriptor(workspace: Workspace, names: readonly string[], asked: string) {
  let handle = await open(workspace.root, OPEN_FOLDER);
  try {
    const real = await realPathOf(handle);
    if (real === undefined) {
      await handle.close();
      return undefined;
    }
    if (real !== workspace.root) throw replaced(asked);
    for (const name of names) {
      const next = await openOrMake(`${descriptorPath(handle)}/${name}`);
      await handle.close();
      handle = next;
    }
    return folderOf(workspace, handle);
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function openOrMake(path: string): Promise<FileHandle> {
  try {
    return await open(path, OPEN_FOLDER);
  } catch (thrown) {
    if (fsCode(thrown) !== 'ENOENT') throw thrown;
  }
  await makeFolder(path);
  return open(path, OPEN_FOLDER);
}

function folderOf(workspace: Workspace, handle: FileHandle): OpenFolder {
  return {
    at: (name) => `${descriptorPath(handle)}/${name}`,
    isInside: async () => isInside(workspace.root, (await realPathOf(handle)) ?? ''),
    sync: () => handle.sync().catch(() => {}),
    close: () => handle.close(),
  };
}

/** Where folders have no descriptor paths: the path must lead to the same folder as long as it is used. */
export async function openFolderByPath(
  workspace: Workspace,
  names: readonly string[],
  asked: string,
): Promise<OpenFolder> {
  let path = workspace.root;
  for (const name of names) {
    path = join(path, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined) await makeFolder(path);
    else if (!stats.isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
  }
  const opened = await lstat(path, { bigint: true });
  const folder: OpenFolder = {
    at: (name) => join(path, name),
    isInside: async () => {
      const real = await realpath(path).catch(() => undefined);
      return real === path && sameFile(await lstat(path, { bigint: true }), opened);
    },
    sync: async () => {},
    close: async () => {},
  };
  if (!(await folder.isInside())) throw replaced(asked);
  return folder;
}

/** Another call may make it at the same time. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((thrown) => {
    if (fsCode(thrown) !== 'EEXIST') throw thrown;
  });
}

export function replaced(asked: string): WorkspaceRefusal {
  return new WorkspaceRefusal(
    'execution_failed',
    `${quoted(asked)}: a folder on the way was replaced meanwhile; nothing was written.`,
  );
}
