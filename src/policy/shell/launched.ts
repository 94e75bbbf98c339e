import type { ShellWord } from './command.js';

/** What a command starts. */
export interface Launch {
  /** Each as the words of one command. */
  readonly commands?: readonly (readonly ShellWord[])[];
  /** Texts that a shell is given to run. */
  readonly scripts?: readonly { readonly text: string; readonly shell: 'bash' | 'sh' }[];
  /** Variables that it sets for them. */
  readonly assigns?: readonly string[];
  /** It does nothing but start them. */
  readonly passesOn: boolean;
  /** Why what it starts is not known, for a person. */
  readonly unknown?: string;
}

export const notKnown = (unknown: string): Launch => ({ passesOn: false, unknown });

/** Words in which a placeholder will be something that is known only when it runs. */
export function withPlaceholder(words: readonly ShellWord[], placeholder: string): readonly ShellWord[] {
  return words.map((word) => {
    const { value, head } = word;
    // Where the rest is not known, it may make one of what it begins with.
    const at = value === undefined ? head.indexOf(placeholder.slice(0, 1)) : value.indexOf(placeholder);
    return at < 0 ? word : { ...word, value: undefined, head: head.slice(0, at) };
  });
}
