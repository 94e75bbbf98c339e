import { type ShellCommand, shownWords } from './command.js';
import { isAbout, startsWith } from './prefix.js';
import { namedBy, startsAnything } from './unseen.js';

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

/** Whether an allow with this condition means the whole of the command: nothing of it is unknown, nothing reaches further. */
export function covers({ prefix, regex }: CommandCondition, command: ShellCommand): boolean {
  const { words, reaches, unknown } = command;
  if (unknown !== undefined || words.length === 0) return false;
  if (prefix !== undefined) {
    return startsWith(words, prefix) && reaches.every(({ at }) => at < prefix.length);
  }
  if (regex === undefined || !regex.lookingAt(shownWords(words))) return false;
  const source = regex.source.replaceAll('\\', '');
  return reaches.every(({ option, maybe }) => maybe !== true && names(source, option));
}

/** An option as a word of its own in the text of a pattern. */
function names(source: string, option: string): boolean {
  for (let at = source.indexOf(option); at >= 0; at = source.indexOf(option, at + 1)) {
    if (!/[\w-]/.test(source[at - 1] ?? '') && !/[\w-]/.test(source[at + option.length] ?? '')) return true;
  }
  return false;
}

/**
 * Whether an ask or a deny with this condition is about the command. `maybe`: that is known only when it runs, or it may
 * be about what the command starts, which does not stand in the list of commands.
 */
export function concerns(condition: CommandCondition, command: ShellCommand): boolean | 'maybe' {
  const said = saysOf(condition, command);
  if (said !== false) return said;
  if (startsAnything(command)) return 'maybe';
  const mayStart = (named: ShellCommand) => startsAnything(named) || saysOf(condition, named) !== false;
  return namedBy(command).some(mayStart) ? 'maybe' : false;
}

const saysOf = ({ prefix, regex }: CommandCondition, command: ShellCommand): boolean | 'maybe' =>
  prefix === undefined ? regex !== undefined && isFound(regex, command) : isAbout(command.words, prefix);

function isFound(regex: CommandRegex, { text, words }: ShellCommand): boolean | 'maybe' {
  if (words.length === 0) return false;
  const plain = words.map(({ value, text: written }) => value ?? written).join(' ');
  for (const one of new Set([plain, shownWords(words), text])) if (regex.find(one)) return true;
  return words.some(({ value }) => value === undefined) ? 'maybe' : false;
}
