import { plainWord, programOf, type ShellCommand, type ShellWord, shownWords } from './command.js';
import { launchOf } from './launch.js';
import { parseCommands } from './parse.js';
import { startsNothing } from './plain-programs.js';
import { reachesOf } from './reach.js';
import { startsUnseen } from './reach-options.js';
import { isDangerousVariable } from './variables.js';

/** Words of one command that are looked at as the beginning of another. */
const MOST_WORDS = 64;
/** What can be the name of a program, or part of it. */
const BETWEEN_NAMES = /[^\w./+~-]+/;

/**
 * Whether the command may start programs that do not stand in the list of commands: it is not known, it sets what
 * decides what runs, or an option gives it code or a command that was not read.
 */
export const startsAnything = (command: ShellCommand): boolean =>
  command.unknown !== undefined ||
  command.assigns.some(isDangerousVariable) ||
  command.reaches.some(startsUnseen) ||
  (command.words.length > MOST_WORDS && mayStartItsWords(command));

const mayStartItsWords = ({ words, passesOn }: ShellCommand): boolean => {
  const program = programOf(words);
  return program !== undefined && !passesOn && !startsNothing(program);
};

/** No program of such a name is started by another one; to many it is the name of a subcommand. */
const OF_THE_SHELL = new Set('exec eval command builtin source . time set trap'.split(' '));

const seen = new WeakMap<ShellCommand, readonly ShellCommand[]>();

/**
 * What a program of which nothing is known may start, since its words name it: `wrapper --flag rm x`, `wrapper 'rm x'`.
 * Worked out once. Empty for programs that are known not to start their words, or whose commands stand in the list.
 */
export function namedBy(command: ShellCommand): readonly ShellCommand[] {
  let named = seen.get(command);
  if (named === undefined) {
    named = mayStartItsWords(command) && launchOf(command.words) === undefined ? namedIn(command.words) : [];
    seen.set(command, named);
  }
  return named;
}

function namedIn(words: readonly ShellWord[]): ShellCommand[] {
  const named: ShellCommand[] = [];
  for (let at = 1; at < Math.min(words.length, MOST_WORDS); at++) {
    const word = words[at] as ShellWord;
    const { value, text } = word;
    if (value === undefined) {
      // It may name anything, unless its beginning says that it is an option or a file.
      named.push(commandOf([word.head === '' ? word : plainWord(text)]));
      named.push(...tokensOf(text));
      continue;
    }
    const rest = words.slice(at);
    if (!OF_THE_SHELL.has(value)) named.push(commandOf(rest));
    if (BETWEEN_NAMES.test(value)) named.push(...tokensOf(value), ...parseCommands(value).filter(isKnown));
  }
  return named;
}

const isKnown = ({ words, unknown }: ShellCommand) => words.length > 0 && unknown === undefined;

/** Every name in a text, with what stands behind it, as if it were a command. */
function tokensOf(text: string): ShellCommand[] {
  const words = text
    .split(BETWEEN_NAMES)
    .filter((one) => one !== '')
    .slice(0, MOST_WORDS)
    .map(plainWord);
  return words.map((_, at) => bare(words.slice(at)));
}

const bare = (words: readonly ShellWord[]): ShellCommand => ({
  text: shownWords(words),
  words,
  reaches: [],
  assigns: [],
  writes: [],
  unknown: undefined,
  passesOn: false,
});

const commandOf = (words: readonly ShellWord[]): ShellCommand => ({
  ...bare(words),
  reaches: reachesOf(words),
  unknown: launchOf(words)?.unknown,
});
