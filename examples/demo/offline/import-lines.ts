import { posix } from 'node:path';
import { extensionOf } from './kinds.js';
import type { FoundLine } from './tool-text.js';

const patterns: Readonly<Record<string, RegExp>> = {
  ' from ': /^(?:\s*(?:import|export)\b.*|[\w\s,$*{}]*)\sfrom\s+["']([^"']+)["']/,
  'require(': /\brequire\(\s*["']([^"']+)["']\s*\)/,
  'import ': /^\s*(?:from\s+(\S+)\s+)?import\s+(?:static\s+)?(\S+)/,
  '#include': /^\s*#\s*include\s+["<]([^">]+)[">]/,
  'using ': /^\s*(?:global\s+)?using\s+(?:static\s+)?([\w.]+)\s*;/,
  'use ': /^\s*(?:pub\s+)?use\s+([^;]+)/,
  require: /^\s*(?:local\s+\w+\s*=\s*)?require(?:_relative)?\s*\(?\s*["']([^"']+)["']/,
  'alias ': /^\s*alias\s+(\S+)/,
};

/** What a line imports, if it is one that was looked for by `word` and does import something. */
export function importedBy(word: string, { text }: FoundLine): string | undefined {
  const match = patterns[word]?.exec(text);
  return match?.[1] ?? match?.[2];
}

const scripts = ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs', 'vue', 'svelte'];

/** The file that a relative import of a script leads to, if it is one of `files`. */
export function targetOf(from: string, specifier: string, files: ReadonlySet<string>): string | undefined {
  if (!/^\.\.?(?:\/|$)/.test(specifier) || !scripts.includes(extensionOf(from))) return undefined;
  const path = posix.join(posix.dirname(from), specifier);
  const bare = path.replace(/\.[cm]?jsx?$/, '');
  const candidates = [
    path,
    ...scripts.map((extension) => `${bare}.${extension}`),
    ...scripts.map((extension) => `${path}.${extension}`),
    ...scripts.map((extension) => `${path}/index.${extension}`),
  ];
  return candidates.find((candidate) => files.has(candidate));
}
