import type { ShellWord } from './command.js';
import { mayBeOption, type Reach } from './reach-options.js';

const HARMLESS = /^(?:-[uBOEsIVwW]+|--version|--help|-v|-h|--check|--no-warnings|--enable-source-maps|--test|--watch)$/;

/**
 * Code that an interpreter is given by an option or as its input; options stand before the script, what stands behind
 * it is the script's own. Without a script it takes its input for one.
 */
export function reachInterpreter(words: readonly ShellWord[]): Reach[] {
  const reaches: Reach[] = [];
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { value, head, text } = word;
    if (mayBeOption(word)) return [...reaches, { at, option: text, maybe: true }];
    if (value === '--version' || value === '--help' || value === '-V') return reaches;
    if (value === '-' || head.startsWith('/dev/') || head.startsWith('/proc/'))
      return [...reaches, { at, option: text }];
    if (!head.startsWith('-')) return reaches;
    if (!HARMLESS.test(value ?? '')) reaches.push({ at, option: head.split('=', 1)[0] as string });
  }
  return [...reaches, { at: words.length, option: 'its input' }];
}
