import type { ShellWord } from './command.js';
import { mayBeOption, type Reach } from './reach-options.js';
import { isPlainSed } from './sed-script.js';

const WITHOUT_VALUE = /^(?:-[nErszu]+|--(?:quiet|silent|regexp-extended|separate|null-data|unbuffered|posix|debug))$/;
const SCRIPT_OPTION = /^(?:-[nErszu]*e|--expression(?:=|$))/;

/** Options of `sed` that change files or read orders from one, and orders that run or write. */
export function reachSed(words: readonly ShellWord[]): Reach[] {
  const reaches: Reach[] = [];
  let hasScript = false;
  const script = (word: ShellWord | undefined, at: number, from = 0) => {
    hasScript = true;
    if (word === undefined) return;
    const text = word.value?.slice(from);
    if (text === undefined) reaches.push({ at, option: word.text, maybe: true });
    else if (!isPlainSed(text)) {
      reaches.push({ at, option: text, ...(isPlainSed(text, true) && { startsNothing: true }) });
    }
  };
  const operands: number[] = [];
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { value, head } = word;
    if (value === '--') {
      for (let rest = at + 1; rest < words.length; rest++) operands.push(rest);
      break;
    }
    const [option] = SCRIPT_OPTION.exec(head) ?? [];
    if (value !== undefined && option !== undefined) {
      if (value.length > option.length || option.endsWith('=')) script(word, at, option.length);
      else script(words[++at], at);
    } else if (mayBeOption(word)) reaches.push({ at, option: word.text, maybe: true });
    else if (!head.startsWith('-') || head === '-') operands.push(at);
    else if (!WITHOUT_VALUE.test(head)) {
      const isInPlace = /^(?:-[nErszu]*i|--in-place(?:=|$))/.test(head);
      reaches.push({ at, option: head.split('=', 1)[0] as string, ...(isInPlace && { startsNothing: true }) });
    }
  }
  const [first] = operands;
  if (!hasScript && first !== undefined) script(words[first], first);
  return reaches;
}
