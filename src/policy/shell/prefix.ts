import { programOf, type ShellWord } from './command.js';
import { withoutGlobalOptions } from './reach-git.js';

/** An allow begins with exactly these words, all of them known. */
export const startsWith = (words: readonly ShellWord[], prefix: readonly string[]): boolean =>
  prefix.every((one, at) => words[at]?.value === one);

/**
 * Whether a rule that is not an allow is about a command. `maybe`: what is known fits, and the rest is known only when
 * it runs, or options stand between the words.
 */
export function isAbout(words: readonly ShellWord[], prefix: readonly string[]): boolean | 'maybe' {
  const [first] = words;
  const [program = ''] = prefix;
  if (first === undefined) return false;
  if (first.value === undefined) return 'maybe';
  if (first.value !== program && (program.includes('/') || programOf(words) !== program)) return false;
  const said = restIsAbout(words, prefix);
  if (said === true || program !== 'git') return said;
  const bare = withoutGlobalOptions(words);
  if (bare === undefined) return said;
  const saidBare = restIsAbout(bare, prefix);
  return saidBare === true || !prefix.some((word) => word.startsWith('-')) ? saidBare : said;
}

function restIsAbout(words: readonly ShellWord[], prefix: readonly string[]): boolean | 'maybe' {
  let isSure = true;
  let at = 1;
  for (const wanted of prefix.slice(1)) {
    let isValue = false;
    for (; ; at++) {
      const word = words[at];
      if (word === undefined) return false;
      if (word.value === wanted) break;
      if (word.value === undefined && wanted.startsWith(word.head)) return 'maybe';
      // What it is split into begins as it does, and may go on with options.
      if (word.many === 'any' && (word.head.startsWith('-') || wanted.startsWith('-'))) return 'maybe';
      // Options may stand before a word, each with a value of its own; an option that is wanted may stand anywhere.
      const isOption = word.head.startsWith('-');
      if (!isOption && !isValue && !wanted.startsWith('-')) return false;
      isValue = isOption && !word.head.includes('=');
      isSure = false;
    }
    at++;
  }
  return isSure || 'maybe';
}
