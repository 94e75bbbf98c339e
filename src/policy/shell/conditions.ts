import { type ShellCommand, shownWords } from './command.js';
import { isAbout, startsWith } from './prefix.js';
import { reachesOf } from './reach.js';
import type { Reach } from './reach-options.js';

/** What a rule says of a command: one of the two. */
export interface CommandCondition {
  readonly prefix?: readonly string[] | undefined;
  readonly regex?: CommandRegex | undefined;
}

export interface CommandRegex {
  readonly source: string;
  /** Anywhere in the text. */
  find(text: string): boolean;
  /** From the beginning of the text. */
  lookingAt(text: string): boolean;
}

const reaches = new WeakMap<ShellCommand, readonly Reach[]>();

/** Words by which the command does more than its name says; worked out once. */
export function reachesIn(command: ShellCommand): readonly Reach[] {
  let found = reaches.get(command);
  if (found === undefined) {
    found = reachesOf(command.words);
    reaches.set(command, found);
  }
  return found;
}

/** Whether an allow with this condition means the whole of the command: nothing of it is unknown, nothing reaches further. */
export function covers({ prefix, regex }: CommandCondition, command: ShellCommand): boolean {
  const { words, unknown } = command;
  if (unknown !== undefined || words.length === 0) return false;
  if (prefix !== undefined) {
    return startsWith(words, prefix) && reachesIn(command).every(({ at }) => at < prefix.length);
  }
  if (regex === undefined || !regex.lookingAt(shownWords(words))) return false;
  const source = regex.source.replaceAll('\\', '');
  return reachesIn(command).every(({ option, maybe }) => maybe !== true && names(source, option));
}

/** An option as a word of its own in the text of a pattern. */
function names(source: string, option: string): boolean {
  for (let at = source.indexOf(option); at >= 0; at = source.indexOf(option, at + 1)) {
    if (!/[\w-]/.test(source[at - 1] ?? '') && !/[\w-]/.test(source[at + option.length] ?? '')) return true;
  }
  return false;
}

/** Whether an ask or a deny with this condition is about the command. `maybe`: that is known only when it runs. */
export function concerns({ prefix, regex }: CommandCondition, command: ShellCommand): boolean | 'maybe' {
  const { words, unknown } = command;
  const said = prefix === undefined ? regex !== undefined && isFound(regex, command) : isAbout(words, prefix);
  return said === false && unknown !== undefined ? 'maybe' : said;
}

function isFound(regex: CommandRegex, { text, words }: ShellCommand): boolean | 'maybe' {
  if (words.length === 0) return false;
  const plain = words.map(({ value, text: written }) => value ?? written).join(' ');
  if (regex.find(plain) || regex.find(shownWords(words)) || regex.find(text)) return true;
  return words.some(({ value }) => value === undefined) ? 'maybe' : false;
}
