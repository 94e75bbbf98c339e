import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Bag, MemoryStore } from '../../contracts/index.js';
import { findIn, type Remembered, wordsOf } from '../memory/memories.js';
import { type FilePort, orMissing, syncDirectory, writeAll } from './file-port.js';
import { doing } from './store-fault.js';

const LINE_END = 10;

/** What is remembered about users: a file of JSON lines for each, which any number of processes may add to. */
export function fileMemories(files: FilePort, root: string): MemoryStore {
  const directory = join(root, 'memory');
  const pathOf = (userId: string) =>
    join(directory, `${createHash('sha256').update(userId).digest('hex').slice(0, 32)}.jsonl`);

  async function add(path: string, entry: object): Promise<void> {
    await files.mkdir(directory, true);
    const fd = await files.open(path, 'a+');
    try {
      const { size } = await files.facts(fd);
      const last = Buffer.alloc(1);
      // An entry that was cut off keeps to its own line.
      const isTorn = size > 0 && (await files.read(fd, last, size - 1)) === 1 && last[0] !== LINE_END;
      await writeAll(files, fd, Buffer.from(`${isTorn ? '\n' : ''}${JSON.stringify(entry)}\n`));
      await files.datasync(fd);
      if (size === 0) for (const one of [directory, root]) await syncDirectory(files, one);
    } finally {
      await files.close(fd);
    }
  }

  return {
    add: (userId, { text, _meta }) =>
      doing('this cannot be remembered', add(pathOf(userId), { text, ...(_meta !== undefined && { _meta }) })),
    async search(userId, query, limit) {
      const bytes = await doing('memories cannot be read', orMissing(files.readFile(pathOf(userId))));
      return findIn(bytes === undefined ? [] : entriesIn(bytes.toString('utf8')), query, limit);
    },
  };
}

/** Those that are whole. */
function entriesIn(text: string): Remembered[] {
  return text.split('\n').flatMap((line) => {
    try {
      const { text: said, _meta } = JSON.parse(line) as { text?: unknown; _meta?: Bag };
      return typeof said === 'string' ? [{ text: said, words: wordsOf(said), _meta }] : [];
    } catch {
      return [];
    }
  });
}
