import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../architecture/import-graph.js';

/** A fenced block of a document. */
export interface Block {
  /** The document, from the root of the repository. */
  readonly file: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  /** What stands behind the language: `run`, `file=team.yaml`. */
  readonly marks: readonly string[];
  readonly code: string;
}

export const documents: readonly string[] = [
  'README.md',
  'ARCHITECTURE.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The fenced blocks of a document, in order. */
export function blocksOf(file: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: string; code: string[] } | undefined;
  textOf(file)
    .split('\n')
    .forEach((text, at) => {
      const fence = /^```(.*)$/.exec(text);
      if (fence === null) open?.code.push(text);
      else if (open === undefined) open = { line: at + 2, info: fence[1] ?? '', code: [] };
      else {
        const [language = '', ...marks] = open.info.split(' ');
        blocks.push({ file, line: open.line, language, marks, code: `${open.code.join('\n')}\n` });
        open = undefined;
      }
    });
  if (open !== undefined) throw new Error(`${file}: a fenced block is never closed`);
  return blocks;
}
