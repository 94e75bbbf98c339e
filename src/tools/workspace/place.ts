import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fsCode, quoted, refusalFor, WorkspaceRefusal } from './refusal.js';

/** The folder that everything is confined to. */
export interface Workspace {
  /** As it was given, made absolute; may be a symbolic link. */
  readonly given: string;
  /** The same folder with every symbolic link resolved. */
  readonly root: string;
}

/** A path inside the workspace, after symbolic links: `absolute` for the system, `path` to show (`.` is the root). */
export interface Place {
  readonly absolute: string;
  /** Relative to the root, parts joined by `/`. */
  readonly path: string;
}

const MAX_LINKS = 40;

/** Resolves the root anew at each call: a root that is a link may be pointed elsewhere. Refuses one that is no folder. */
export async function openWorkspace(root: string): Promise<Workspace> {
  try {
    const real = await realpath(root);
    if ((await lstat(real)).isDirectory()) return { given: resolve(root), root: real };
  } catch {
    // Said below, without the machine's path.
  }
  throw new WorkspaceRefusal('execution_failed', 'The root of the workspace does not exist or is not a folder.');
}

/** Both paths absolute and normalised; a sibling that only begins alike (`ws-evil` beside `ws`) is not inside. */
export function isInside(root: string, absolute: string): boolean {
  return absolute === root || absolute.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * Where `path` leads: relative to the root, or absolute inside it, in either spelling of the root.
 * Every symbolic link on the way is followed, and the end must lie inside the root. What is outside is refused before
 * the file system is asked whether it exists, so the answer tells nothing about it.
 */
export async function locate(workspace: Workspace, path: string): Promise<Place> {
  const found = await locateAny(workspace, path);
  if (!found.exists) throw new WorkspaceRefusal('file_not_found', `${quoted(path)} does not exist.`);
  return found;
}

/**
 * The same for what need not exist. Then every link on the way was followed too, a link that leads to nothing as well:
 * the place is where a file would come to lie, and of its folders the last ones may be missing.
 */
export async function locateAny(workspace: Workspace, path: string): Promise<Place & { readonly exists: boolean }> {
  const { absolute, exists } = await follow(workspace, lexically(workspace, path), path, 0);
  return { ...placeOf(workspace, absolute), exists };
}

/** Arguments with the path that theirs leads to, relative to the root. Undefined: it is that, or leads to no place inside. */
export async function withPlainPath(root: string, args: unknown): Promise<object | undefined> {
  const { path: asked } = Object(args) as { path?: unknown };
  if (typeof asked !== 'string') return undefined;
  try {
    const { path } = await locateAny(await openWorkspace(root), asked);
    return path === asked ? undefined : { ...(args as object), path };
  } catch (thrown) {
    // The tool will say so itself.
    if (thrown instanceof WorkspaceRefusal) return undefined;
    throw thrown;
  }
}

export function placeOf(workspace: Workspace, absolute: string): Place {
  const path = relative(workspace.root, absolute);
  return { absolute, path: path === '' ? '.' : sep === '/' ? path : path.split(sep).join('/') };
}

function lexically(workspace: Workspace, path: string): string {
  if (path.includes('\0')) throw new WorkspaceRefusal('file_not_found', `${quoted(path)} is not a path.`);
  const absolute = resolve(workspace.root, path);
  if (isInside(workspace.root, absolute)) return absolute;
  // An absolute path may be spelled through the link that leads to the root.
  if (isAbsolute(path) && isInside(workspace.given, absolute)) {
    return join(workspace.root, relative(workspace.given, absolute));
  }
  throw outside(path);
}

interface Followed {
  /** Without a symbolic link on the way. */
  readonly absolute: string;
  readonly exists: boolean;
}

async function follow(workspace: Workspace, absolute: string, asked: string, links: number): Promise<Followed> {
  if (!isInside(workspace.root, absolute)) throw outside(asked);
  try {
    const real = await realpath(absolute);
    if (!isInside(workspace.root, real)) throw outside(asked);
    return { absolute: real, exists: true };
  } catch (thrown) {
    const code = fsCode(thrown);
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw refusalFor(thrown, asked);
  }
  return followMissing(workspace, absolute, asked, links);
}

/** `absolute` leads to nothing: finds out where that nothing would be. */
async function followMissing(workspace: Workspace, absolute: string, asked: string, links: number): Promise<Followed> {
  const parent =
    absolute === workspace.root ? absolute : (await follow(workspace, dirname(absolute), asked, links)).absolute;
  const missing = join(parent, basename(absolute));
  const target = await readlink(missing).catch(() => undefined);
  if (target === undefined) return { absolute: missing, exists: false };
  if (links >= MAX_LINKS) throw refusalFor(Object.assign(new Error(), { code: 'ELOOP' }), asked);
  return follow(workspace, resolve(parent, target), asked, links + 1);
}

function outside(asked: string): WorkspaceRefusal {
  return new WorkspaceRefusal(
    'execution_failed',
    `${quoted(asked)} is outside the workspace. Give a path inside it, relative to its root.`,
  );
}
