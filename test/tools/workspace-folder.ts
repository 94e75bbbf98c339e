import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import type { ToolDefinition, ToolPreview, ToolResultData, ToolUpdate } from '../../src/contracts/index.js';
import { type WorkspaceOptions, workspaceTools } from '../../src/tools/workspace.js';

/** A folder `ws` with these files, inside a folder of its own, both gone after `remove`. Contents by path. */
export async function workspaceFolder(files: Record<string, string | Uint8Array> = {}) {
  const outer = await realpath(await mkdtemp(join(tmpdir(), 'troupe-workspace-')));
  await chmod(outer, 0o755);
  const root = join(outer, 'ws');
  await mkdir(root);
  const write = async (path: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(outer, path)), { recursive: true });
    await writeFile(join(outer, path), content);
  };
  for (const [path, content] of Object.entries(files)) await write(`ws/${path}`, content);
  return { outer, root, write, remove: () => rm(outer, { recursive: true, force: true }) };
}

export type Folder = Awaited<ReturnType<typeof workspaceFolder>>;

/** Makes folders as `workspaceFolder` does; those of a test are gone behind it. */
export function workspaceFolders() {
  const folders: Folder[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await folder.remove();
  });
  return async (files?: Record<string, string | Uint8Array>): Promise<Folder> => {
    const folder = await workspaceFolder(files);
    folders.push(folder);
    return folder;
  };
}

/** Calls the tools of a workspace as a host does. */
export function callerOf(
  root: string,
  signal: AbortSignal = new AbortController().signal,
  options: Partial<WorkspaceOptions> & { progress?: (update: ToolUpdate) => void } = {},
) {
  const { progress = () => {}, ...rest } = options;
  const tools = new Map(workspaceTools({ root, ...rest }).map((tool): [string, ToolDefinition] => [tool.name, tool]));
  return async (name: string, args: object = {}): Promise<ToolResultData> => {
    const execute = tools.get(name)?.execute as (args: object, context: object) => Promise<ToolResultData>;
    return execute(args, { signal, progress });
  };
}

/** Previews a call as a host does before it asks. */
export function previewerOf(root: string, options: Partial<WorkspaceOptions> = {}) {
  const tools = workspaceTools({ root, ...options });
  return async (name: string, args: object): Promise<ToolPreview> => {
    const preview = tools.find((tool) => tool.name === name)?.preview as (args: object) => Promise<ToolPreview>;
    return preview(args);
  };
}

export const textOf = (result: ToolResultData, part = 0): string => {
  const content = result.llmContent[part];
  return content?.type === 'text' ? content.text : '';
};

/** The sentences about what was left out. */
export const noteOf = (result: ToolResultData): string => textOf(result, 1);

export const dataOf = <T>(result: ToolResultData): T => result.data as T;

/** Runs `task` without the rights of root, for which no file is unreadable. */
export async function asOrdinaryUser<T>(task: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    return await task();
  } finally {
    process.seteuid?.(0);
  }
}
