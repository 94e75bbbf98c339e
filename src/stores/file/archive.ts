import { join } from 'node:path';
import { codeOf, type FilePort, writeAll } from './file-port.js';
import type { Range } from './scan-log.js';

/** Keeps what is taken out of a log, as it stood there, in a file of its own. Resolves with its path. */
export async function archive(
  files: FilePort,
  directory: string,
  name: string,
  log: number,
  ranges: readonly Range[],
): Promise<string> {
  await files.mkdir(directory, true);
  for (let number = 1; ; number++) {
    const path = join(directory, `${name}-${number}.jsonl`);
    let fd: number;
    try {
      fd = await files.open(path, 'wx');
    } catch (thrown) {
      if (codeOf(thrown) === 'EEXIST') continue;
      throw thrown;
    }
    try {
      for (const range of ranges) await copyRange(files, log, range, fd);
      await files.datasync(fd);
    } finally {
      await files.close(fd);
    }
    return path;
  }
}

const CHUNK_BYTES = 256 * 1024;

/** Copies bytes from one open file to the end of another, a chunk at a time. Resolves with the last of them. */
export async function copyRange(files: FilePort, from: number, range: Range, to: number): Promise<number | undefined> {
  let lastByte: number | undefined;
  const bytes = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, range.to - range.from));
  for (let at = range.from; at < range.to; ) {
    const room = bytes.subarray(0, Math.min(bytes.length, range.to - at));
    const count = await files.read(from, room, at);
    if (count === 0) break;
    await writeAll(files, to, room.subarray(0, count));
    lastByte = room[count - 1];
    at += count;
  }
  return lastByte;
}
