import type { ShellWord } from './command.js';
import { findPredicates } from './find-predicates.js';
import { mayBeOption, type Reach } from './reach-options.js';

const ACTIONS = new Set('-exec -execdir -ok -okdir -delete -fls -fprint -fprint0 -fprintf -files0-from'.split(' '));

/** Actions of `find` that run, write or delete. A word of that look that is the argument of a test is none. */
export function reachFind(words: readonly ShellWord[]): Reach[] {
  return findPredicates(words).flatMap((at): Reach[] => {
    const word = words[at] as ShellWord;
    // What it starts is judged on its own.
    if (word.value !== undefined && ACTIONS.has(word.value)) return [{ at, option: word.value, startsNothing: true }];
    return mayBeOption(word) ? [{ at, option: word.text, maybe: true }] : [];
  });
}
