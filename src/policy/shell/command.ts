import type { Reach } from './reach-options.js';

/** One word of a command, as far as it is known before it runs. */
export interface ShellWord {
  /** As it is written. */
  readonly text: string;
  /** What the command is given. Undefined: known only when it runs. */
  readonly value: string | undefined;
  /** How it begins, as far as that is known: all of it when `value` is. */
  readonly head: string;
  /** `alike`: may become several words, or none, that all begin with `head`; `any`: several of any kind. */
  readonly many: 'one' | 'alike' | 'any';
  /** The program that starts the command adds it: the name of a host or a file, no command and no option. */
  readonly isGiven?: true;
}

/** One simple command that would run. */
export interface ShellCommand {
  /** As it is written. */
  readonly text: string;
  /** The command word first. Empty where there is no command but an assignment, a redirection, or a thing not known. */
  readonly words: readonly ShellWord[];
  /** Words by which it does more than its name says. */
  readonly reaches: readonly Reach[];
  /** Variables that are set for it, or by it. */
  readonly assigns: readonly string[];
  /** Its redirections that write or reach out, as they are written. */
  readonly writes: readonly string[];
  /** Why what it runs is not known, for a person; then no rule about commands can allow it. */
  readonly unknown: string | undefined;
  /** It does nothing but start others, which stand in the list on their own: it needs no rule for itself. */
  readonly passesOn: boolean;
}

export const plainWord = (value: string): ShellWord => ({ text: value, value, head: value, many: 'one' });

/** The word as a person would type it; what is not known stands as it is written. */
export function shownWord({ value, text }: ShellWord): string {
  if (value === undefined) return text;
  return /^[\w@%+=:,./^-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

export const shownWords = (words: readonly ShellWord[]): string => words.map(shownWord).join(' ');

/** `/usr/bin/find` is `find`. Undefined when the command word is not known. */
export function programOf(words: readonly ShellWord[]): string | undefined {
  const name = words[0]?.value;
  return name?.slice(name.lastIndexOf('/') + 1);
}
