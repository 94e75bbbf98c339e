import type { ShellWord } from './command.js';

/** A word by which a command does more than its name says. */
export interface Reach {
  /** Its place among the words of the command. */
  readonly at: number;
  /** The option, as a rule would name it. */
  readonly option: string;
  /** It may be such an option: what it stands for is known only when it runs. */
  readonly maybe?: true;
  /** It starts nothing, save what stands in the list of commands on its own: it writes, or works elsewhere. */
  readonly startsNothing?: true;
  /** The text that a shell is given by it: its commands stand in the list as well. */
  readonly runs?: string;
  /** The program puts words of its own behind that text. */
  readonly appends?: true;
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
  /** Of all these, as they are told: those that only write or work elsewhere. Any other may start a program. */
  readonly writing?: 'all' | readonly string[];
  /** Those that may start one though `writing` is `all`. */
  readonly starting?: readonly string[];
  /** Of all these, as they are told: those whose value is a command for a shell. */
  readonly commands?: readonly string[];
}

/** The options of a table among the words of a command, and the words that may turn out to be one. */
export function optionReaches(words: readonly ShellWord[], table: OptionTable, from = 1): Reach[] {
  const reaches: Reach[] = [];
  for (let at = from; at < words.length; at++) {
    const word = words[at] as ShellWord;
    if (word.value === '--' && table.isEndless !== true) break;
    if (words[at + 1]?.many === 'one' && table.takesNext?.includes(word.head)) at++;
    const found = optionsIn(word, table);
    for (const option of found) reaches.push(reachBy(option, at, words, table));
    if (found.length === 0 && mayBeOption(word)) {
      reaches.push({ at, option: word.text, maybe: true, ...(table.writing === 'all' && { startsNothing: true }) });
    }
  }
  return reaches;
}

/** Known too little to say that it is no option. */
export function mayBeOption({ value, head, many, isGiven }: ShellWord): boolean {
  if (value !== undefined || isGiven === true) return false;
  return head === '' || head === '-' || many === 'any' || (head.startsWith('-') && !head.includes('='));
}

/** An option, and where in its word its value would begin. */
interface Option {
  readonly option: string;
  readonly valueFrom: number;
}

/** The options of a table in one word; of several letters the first, and the first that may start something. */
function optionsIn({ head }: ShellWord, table: OptionTable): Option[] {
  if (!head.startsWith('-') || head === '-') return [];
  const { short = '', valued = '', long = [], exact = [] } = table;
  const named = head.split('=', 1)[0] as string;
  if (exact.includes(named)) return [{ option: named, valueFrom: named.length + 1 }];
  if (head.startsWith('--')) {
    const name = named.slice(2);
    const meant =
      name === '' ? undefined : (long.find((one) => one === name) ?? long.find((one) => one.startsWith(name)));
    return meant === undefined ? [] : [{ option: `--${meant}`, valueFrom: named.length + 1 }];
  }
  const found: Option[] = [];
  for (let at = 1; at < head.length; at++) {
    const letter = head[at] as string;
    const option = { option: `-${letter}`, valueFrom: at + 1 };
    if (short.includes(letter)) {
      const isWriting = onlyWrites(option.option, table);
      if (found.length === 0 || !isWriting) found.push(option);
      if (!isWriting) break;
    } else if (valued.includes(letter)) break;
  }
  return found;
}

const onlyWrites = (option: string, { writing, starting }: OptionTable): boolean =>
  writing === 'all' ? starting?.includes(option) !== true : writing?.includes(option) === true;

function reachBy({ option, valueFrom }: Option, at: number, words: readonly ShellWord[], table: OptionTable): Reach {
  if (onlyWrites(option, table)) return { at, option, startsNothing: true };
  if (!table.commands?.includes(option)) return { at, option };
  const { value, head } = words[at] as ShellWord;
  const isAttached = head.length > valueFrom || head[valueFrom - 1] === '=';
  const next = words[at + 1];
  const text = isAttached ? value?.slice(valueFrom) : next?.many === 'one' ? next.value : undefined;
  return { at, option, ...runsOf(text) };
}

/** What a program hands to a shell, with words of its own behind it. */
export const runsOf = (text: string | undefined): Pick<Reach, 'runs' | 'appends'> =>
  text === undefined || text.trim() === '' ? {} : { runs: text, appends: true };

/** Whether something is started by it that is not seen among the commands of the line. */
export const startsUnseen = ({ startsNothing, runs }: Reach): boolean => startsNothing !== true && runs === undefined;
