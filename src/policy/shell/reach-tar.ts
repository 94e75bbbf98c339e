import type { ShellWord } from './command.js';
import { type OptionTable, optionReaches, type Reach } from './reach-options.js';

const TABLE: OptionTable = {
  short: 'IFTgPCXV',
  valued: 'bfHKLN',
  long: [
    'checkpoint-action',
    'to-command',
    'use-compress-program',
    'info-script',
    'new-volume-script',
    'rsh-command',
    'rmt-command',
    'files-from',
    'listed-incremental',
    'index-file',
    'absolute-names',
    'directory',
    'volno-file',
    'remove-files',
    'exclude-from',
  ],
  isEndless: true,
};

/** Options of `tar` that run programs, take orders from files or leave the folder; its first word needs no dash. */
export function reachTar(words: readonly ShellWord[]): Reach[] {
  const reaches = optionReaches(words, TABLE);
  const [, first] = words;
  if (first?.value !== undefined && !first.value.startsWith('-')) {
    const letter = [...first.value].find((one) => TABLE.short?.includes(one));
    if (letter !== undefined) reaches.push({ at: 1, option: letter });
  }
  words.forEach(({ head, text }, at) => {
    // An archive on another machine is fetched through a remote shell.
    if (at > 1 && /^(?:-\w*f|--file=)?[^/=]*:/.test(head)) reaches.push({ at, option: text });
  });
  return reaches;
}
