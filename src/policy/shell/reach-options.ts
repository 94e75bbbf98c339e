import type { ShellWord } from './command.js';

/** A word by which a command does more than its name says. */
export interface Reach {
  /** Its place among the words of the command. */
  readonly at: number;
  /** The option, as a rule would name it. */
  readonly option: string;
  /** It may be such an option: what it stands for is known only when it runs. */
  readonly maybe?: true;
}

export interface OptionTable {
  /** Letters after one dash. */
  readonly short?: string;
  /** Letters that take the rest of their word as a value, so that it holds no more letters. */
  readonly valued?: string;
  /** Names after two dashes; an abbreviation counts. */
  readonly long?: readonly string[];
  /** Whole words after one dash, as `-exec`; with a value behind `=` too. */
  readonly exact?: readonly string[];
  /** Whole words whose next word is a value, whatever it looks like. */
  readonly takesNext?: readonly string[];
  /** Options stand behind `--` too, or it means something else. */
  readonly isEndless?: true;
}

/** The options of a table among the words of a command, and the words that may turn out to be one. */
export function optionReaches(words: readonly ShellWord[], table: OptionTable, from = 1): Reach[] {
  const reaches: Reach[] = [];
  for (let at = from; at < words.length; at++) {
    const word = words[at] as ShellWord;
    if (word.value === '--' && table.isEndless !== true) break;
    if (words[at + 1]?.many === 'one' && table.takesNext?.includes(word.head)) at++;
    const option = reachOf(word, table);
    if (option !== undefined) reaches.push({ at, option });
    else if (mayBeOption(word)) reaches.push({ at, option: word.text, maybe: true });
  }
  return reaches;
}

/** Known too little to say that it is no option. */
export function mayBeOption({ value, head, many }: ShellWord): boolean {
  if (value !== undefined) return false;
  return head === '' || head === '-' || many === 'any' || (head.startsWith('-') && !head.includes('='));
}

function reachOf({ head }: ShellWord, table: OptionTable): string | undefined {
  if (!head.startsWith('-') || head === '-') return undefined;
  const { short = '', valued = '', long = [], exact = [] } = table;
  const named = head.split('=', 1)[0] as string;
  if (exact.includes(named)) return named;
  if (head.startsWith('--')) {
    const name = named.slice(2);
    const meant = name === '' ? undefined : long.find((one) => one.startsWith(name));
    return meant === undefined ? undefined : `--${meant}`;
  }
  for (const letter of head.slice(1)) {
    if (short.includes(letter)) return `-${letter}`;
    if (valued.includes(letter)) return undefined;
  }
  return undefined;
}
