import type { ShellWord } from './command.js';
import { findPredicates } from './find-predicates.js';
import { type Launch, notKnown, withPlaceholder } from './launched.js';
import { mayBeOption } from './reach-options.js';

const STARTS = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** The commands that `find` would run for what it finds. */
export function launchFind(words: readonly ShellWord[]): Launch | undefined {
  const commands: (readonly ShellWord[])[] = [];
  const predicates = findPredicates(words);
  for (const at of predicates) {
    if (!STARTS.has(words[at]?.value ?? '')) continue;
    const rest = words.slice(at + 1);
    const length = rest.findIndex(
      ({ value }, index) => value === ';' || (value === '+' && rest[index - 1]?.value === '{}'),
    );
    if (length < 0) return notKnown('where the command that find starts ends is not known');
    if (rest.slice(0, length).some(mayEnd)) return notKnown('where the command that find starts ends is not known');
    const command = withPlaceholder(rest.slice(0, length), '{}');
    // With `+` the last word stands for many files.
    const isBatch = rest[length]?.value === '+';
    commands.push(
      isBatch ? command.map((word, index) => (rest[index]?.value === '{}' ? { ...word, many: 'any' } : word)) : command,
    );
  }
  const isKnown = !predicates.some((at) => mayBeOption(words[at] as ShellWord));
  if (!isKnown) return { commands, ...notKnown('whether find starts commands is known only when it runs') };
  return commands.length === 0 ? undefined : { commands, passesOn: false };
}

/** It may turn out to be the end of the command, `;` or `{} +`. */
const mayEnd = ({ value, head, many }: ShellWord) =>
  value === undefined && (many === 'any' || ';'.startsWith(head) || '{}'.startsWith(head));
