import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Larger files are no definitions. */
const MAX_BYTES = 1024 * 1024;

export type TextFile = { text: string /** SHA-256 of the bytes, hex. */; hash: string } | { fault: string };

/** A whole UTF-8 text file of at most 1 MB, its byte order mark dropped; or what is wrong with it. Never rejects. */
export async function readTextFile(path: string): Promise<TextFile> {
  try {
    // NONBLOCK keeps a named pipe from holding the thread that opens it.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await handle.stat();
      if (stats.isDirectory()) return { fault: 'is a folder; name a file' };
      if (!stats.isFile()) return { fault: 'is not a regular file' };
      const buffer = Buffer.alloc(MAX_BYTES + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length <= MAX_BYTES; length += read) {
        read = (await handle.read(buffer, length, buffer.length - length, length)).bytesRead;
      }
      if (length > MAX_BYTES) return { fault: 'is larger than 1 MB' };
      return decoded(buffer.subarray(0, length));
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    return { fault: faultOf(thrown) };
  }
}

function decoded(bytes: Uint8Array): TextFile {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, hash: createHash('sha256').update(bytes).digest('hex') };
  } catch {
    return { fault: 'is not UTF-8 text' };
  }
}

function faultOf(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read: permission denied';
  if (code === 'ELOOP') return 'is a symbolic link that leads nowhere but to itself';
  return `cannot be read (${code})`;
}
