import { openFileInside } from './open-inside.js';
import type { Place, Workspace } from './place.js';
import { WorkspaceRefusal } from './refusal.js';

/** Larger files are not read for their lines. */
const MAX_BYTES = 8 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/** Bytes of a file, and its lines unless it is binary or larger than 8 MB. Empty when it cannot be opened. */
export async function measureFile(
  workspace: Workspace,
  place: Place,
  signal: AbortSignal,
): Promise<{ bytes?: number; lines?: number }> {
  try {
    const { handle, size } = await openFileInside(workspace, place.absolute, place.path);
    try {
      if (size > MAX_BYTES) return { bytes: size };
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(size, 1)));
      let lines = 0;
      let position = 0;
      let last = LINE_FEED;
      for (;;) {
        signal.throwIfAborted();
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
        if (bytesRead === 0) break;
        const chunk = buffer.subarray(0, bytesRead);
        if (position === 0 && chunk.includes(0)) return { bytes: size };
        for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines++;
        last = chunk[bytesRead - 1] ?? last;
        position += bytesRead;
      }
      return { bytes: position, lines: last === LINE_FEED ? lines : lines + 1 };
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (thrown instanceof WorkspaceRefusal) return {};
    throw thrown;
  }
}
