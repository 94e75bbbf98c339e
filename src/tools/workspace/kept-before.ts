import { createHash } from 'node:crypto';
import type { Bag, ToolContext } from '../../contracts/index.js';

/** Hash of a content, as results of edits name it (hex). */
export const contentHash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Keeps what a file held before an edit, as an artifact of the session under the hash of its content, so that a rewind
 * can put it back. Returns what the result of the edit says of it; nothing where the session keeps no artifacts, or
 * could not keep this one: then a rewind leaves the file as it is.
 */
export async function keepBefore(
  { artifacts, sessionId }: Pick<ToolContext, 'artifacts' | 'sessionId'>,
  before: Uint8Array | undefined,
  after: Uint8Array,
): Promise<Bag | undefined> {
  if (artifacts === undefined) return undefined;
  const hash = contentHash(after);
  if (before === undefined) return { after: hash };
  const name = `before/${contentHash(before)}`;
  try {
    const kept = await artifacts.load(sessionId, name);
    const { version } = kept ?? (await artifacts.save(sessionId, name, before, 'application/octet-stream'));
    return { after: hash, before: { name, version } };
  } catch {
    return undefined;
  }
}
