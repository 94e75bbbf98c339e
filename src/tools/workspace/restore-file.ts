import { contentHash } from './kept-before.js';
import { locateAny, openWorkspace } from './place.js';
import { WorkspaceRefusal } from './refusal.js';
import { inTurn } from './turns.js';
import { readWhole, removeInside, writeInside } from './write-inside.js';

/**
 * Puts a file below a root back to what it held, where it still holds what was written last (its hash). Without `before`
 * there was no such file, and it is taken away. Resolves with nothing, or with why it was left as it is.
 */
export async function restoreFile({
  root,
  path,
  after,
  before,
}: {
  root: string;
  path: string;
  after: string;
  before: Uint8Array | undefined;
}): Promise<string | undefined> {
  try {
    const workspace = await openWorkspace(root);
    const { absolute } = await locateAny(workspace, path);
    return await inTurn(absolute, async () => {
      const { exists } = await locateAny(workspace, path);
      if (!exists) return 'it is gone';
      const now = await readWhole(workspace, absolute, path);
      if (contentHash(now.bytes) !== after) return 'it was changed since';
      const writing = { absolute, asked: path, before: now };
      if (before === undefined) await removeInside(workspace, writing);
      else await writeInside(workspace, { ...writing, bytes: Buffer.from(before) }, new AbortController().signal);
      return undefined;
    });
  } catch (thrown) {
    if (thrown instanceof WorkspaceRefusal) return thrown.message;
    throw thrown;
  }
}
