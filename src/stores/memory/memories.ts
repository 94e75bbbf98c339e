import type { Bag, MemoryStore } from '../../contracts/index.js';

const DEFAULT_LIMIT = 10;

/** Something that is remembered, with the words that it is found by. */
export interface Remembered {
  readonly text: string;
  readonly words: ReadonlySet<string>;
  readonly _meta: Bag | undefined;
}

/**
 * What is remembered about users, for as long as the process lives. A search finds entries that share words with the
 * query; `score` is the share of the query's words that an entry has, best first, among equals the newest.
 */
export function memoryMemories(): MemoryStore {
  const users = new Map<string, Remembered[]>();
  return {
    async add(userId, { text, _meta }) {
      const entries = users.get(userId) ?? [];
      users.set(userId, entries);
      entries.push({ text, words: wordsOf(text), _meta });
    },
    search: async (userId, query, limit) => findIn(users.get(userId) ?? [], query, limit),
  };
}

/** The entries, oldest first, that share words with the query. */
export function findIn(
  entries: readonly Remembered[],
  query: string,
  limit = DEFAULT_LIMIT,
): { text: string; score: number; _meta?: Bag }[] {
  const wanted = wordsOf(query);
  const found = entries.flatMap((entry, at) => {
    const score = shareOf(wanted, entry.words);
    return score > 0 ? [{ entry, at, score }] : [];
  });
  found.sort((a, b) => b.score - a.score || b.at - a.at);
  return found.slice(0, limit).map(({ entry: { text, _meta }, score }) => ({
    text,
    score,
    ...(_meta !== undefined && { _meta }),
  }));
}

export const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

function shareOf(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of wanted) if (words.has(word)) shared++;
  return wanted.size === 0 ? 0 : shared / wanted.size;
}
