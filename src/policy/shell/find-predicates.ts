import type { ShellWord } from './command.js';

// Predicates of GNU find whose next word is their argument, whatever it looks like.
const WITH_ARGUMENT = new Set(
  (
    '-amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename ' +
    '-links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile ' +
    '-size -type -uid -used -user -wholename -xtype -D -fprint -fprint0 -fls -files0-from'
  ).split(' '),
);
const WITH_TWO = '-fprintf';
const STARTS = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** Places of the words that `find` takes for options, tests and actions: not their arguments, nor words of a command. */
export function findPredicates(words: readonly ShellWord[]): number[] {
  const places: number[] = [];
  for (let at = 1; at < words.length; at++) {
    const { value } = words[at] as ShellWord;
    places.push(at);
    if (value === undefined) continue;
    if (value === WITH_TWO) {
      if (words[at + 1]?.many !== 'one') continue;
      at += words[at + 2]?.many === 'one' ? 2 : 1;
    } else if (WITH_ARGUMENT.has(value) || /^-newer[aBcm][aBcmt]$/.test(value)) {
      if (words[at + 1]?.many === 'one') at++;
    } else if (STARTS.has(value)) {
      while (at + 1 < words.length && words[at]?.value !== ';' && !endsBatch(words, at)) at++;
    }
  }
  return places;
}

const endsBatch = (words: readonly ShellWord[], at: number) =>
  words[at]?.value === '+' && words[at - 1]?.value === '{}';
