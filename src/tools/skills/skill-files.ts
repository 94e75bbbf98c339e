import { createHash } from 'node:crypto';
import { openFileInside, readFolderInside } from '../workspace/open-inside.js';
import { locate, openWorkspace, type Workspace } from '../workspace/place.js';
import { quoted, refusalFor, WorkspaceRefusal } from '../workspace/refusal.js';
import { compareBytes } from '../workspace/shown-text.js';

/** Longer texts are no instructions, and would fill a context. */
const MAX_TEXT_BYTES = 256 * 1024;
const MAX_FILES = 200;
const MAX_ENTRIES = 2_000;
const MAX_DEPTH = 8;

/** Files of a skill, relative to its folder, in byte order. */
export interface SkillFiles {
  readonly files: readonly string[];
  /** There are more, or folders that are nested deeper. */
  readonly more: boolean;
}

/**
 * A text file of a folder: UTF-8, at most 256 KB. Links are followed, and must end in the folder. Rejects with a
 * `WorkspaceRefusal` that shows no path of the machine.
 */
export async function readTextInside(folder: string, path: string): Promise<{ text: string; hash: string }> {
  const workspace = await openFolder(folder);
  const place = await locate(workspace, path).catch((thrown: unknown) => {
    throw thrown instanceof WorkspaceRefusal ? outsideOrGone(thrown, path) : thrown;
  });
  const { handle, size } = await openFileInside(workspace, place.absolute, path);
  try {
    if (size > MAX_TEXT_BYTES) throw tooLarge(path);
    const bytes = Buffer.alloc(MAX_TEXT_BYTES + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = (await handle.read(bytes, length, bytes.length - length, length)).bytesRead;
    }
    if (length > MAX_TEXT_BYTES) throw tooLarge(path);
    const taken = bytes.subarray(0, length);
    return { text: decoded(taken, path), hash: createHash('sha256').update(taken).digest('hex') };
  } catch (thrown) {
    throw refusalFor(thrown, path);
  } finally {
    await handle.close();
  }
}

/** The files of a folder and of those in it, save `SKILL.md` and `.git`. A link counts where it ends at a file of the folder. */
export async function listInside(folder: string): Promise<SkillFiles> {
  const workspace = await openFolder(folder);
  const files: string[] = [];
  let seen = 0;
  let more = false;
  const visit = async (path: string, depth: number): Promise<void> => {
    const absolute = (await locate(workspace, path)).absolute;
    const { entries, more: others } = await readFolderInside(workspace, absolute, path, MAX_ENTRIES);
    more ||= others;
    for (const entry of entries.sort((one, other) => compareBytes(one.name, other.name))) {
      const inner = path === '.' ? entry.name : `${path}/${entry.name}`;
      if (inner === 'SKILL.md' || entry.name.toLowerCase() === '.git') continue;
      if (++seen > MAX_ENTRIES || files.length >= MAX_FILES) {
        more = true;
        return;
      }
      if (entry.isFile() || (entry.isSymbolicLink() && (await isFileInside(workspace, inner)))) files.push(inner);
      else if (entry.isDirectory()) {
        if (depth >= MAX_DEPTH) more = true;
        else await visit(inner, depth + 1);
      }
    }
  };
  await visit('.', 1);
  return { files, more };
}

async function isFileInside(workspace: Workspace, path: string): Promise<boolean> {
  try {
    const { absolute } = await locate(workspace, path);
    await (await openFileInside(workspace, absolute, path)).handle.close();
    return true;
  } catch {
    return false;
  }
}

async function openFolder(folder: string): Promise<Workspace> {
  return openWorkspace(folder).catch(() => {
    throw new WorkspaceRefusal('file_not_found', 'The folder of the skill is not there.');
  });
}

/** The sentences of the workspace speak of its root. */
function outsideOrGone(refusal: WorkspaceRefusal, path: string): WorkspaceRefusal {
  if (refusal.errorType === 'file_not_found') return refusal;
  return new WorkspaceRefusal(refusal.errorType, `${quoted(path)} does not lie in the folder of the skill.`);
}

const tooLarge = (path: string) =>
  new WorkspaceRefusal('execution_failed', `${quoted(path)} is larger than ${MAX_TEXT_BYTES / 1024} KB.`);

function decoded(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new WorkspaceRefusal('execution_failed', `${quoted(path)} is not UTF-8 text.`);
  }
}
