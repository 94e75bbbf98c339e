import type { ShellWord } from './command.js';
import { mayBeOption, type Reach } from './reach-options.js';

/** Options of `awk` that load or write files, and programs that run commands or write. */
export function reachAwk(words: readonly ShellWord[]): Reach[] {
  const reaches: Reach[] = [];
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { value, head } = word;
    if (value === '-F' || value === '-v') {
      at++;
      if (words[at]?.many !== 'one') reaches.push({ at, option: words[at]?.text ?? value, maybe: true });
      continue;
    }
    if (mayBeOption(word)) {
      reaches.push({ at, option: word.text, maybe: true });
      continue;
    }
    if (/^-[Fv]/.test(head)) continue;
    if (head.startsWith('-') && value !== '--') {
      // Any other option may bring a program of its own: what stands where then is not read.
      reaches.push({ at, option: head.split('=', 1)[0] as string });
      continue;
    }
    const program = value === '--' ? words[++at] : word;
    if (program?.value === undefined) reaches.push({ at, option: program?.text ?? '--', maybe: true });
    else if (!isPlainAwk(program.value)) {
      reaches.push({ at, option: program.value, ...(!mayStart(program.value) && { startsNothing: true }) });
    }
    break;
  }
  return reaches;
}

/**
 * Whether a program of `awk` surely runs no command and writes no file. `>` compares too, but in a program that prints
 * it is not told apart.
 */
function isPlainAwk(program: string): boolean {
  if (mayStart(program) || /close|fflush/.test(program)) return false;
  return !/print/.test(program) || !/>(?!=)/.test(program);
}

const mayStart = (program: string): boolean => /system|[|&]?\||@|extension/.test(program.replaceAll('||', ''));
