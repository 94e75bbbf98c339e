import type { ShellWord } from './command.js';
import { type OptionTable, optionReaches, type Reach, runsOf } from './reach-options.js';

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
  writing: [
    '-g',
    '-P',
    '-C',
    '-X',
    '-V',
    '--listed-incremental',
    '--index-file',
    '--absolute-names',
    '--directory',
  ].concat(['--volno-file', '--remove-files', '--exclude-from']),
  commands: [
    '-I',
    '-F',
    '--to-command',
    '--use-compress-program',
    '--info-script',
    '--new-volume-script',
    '--rsh-command',
    '--rmt-command',
  ],
};
/** What it does with an archive: of these, what writes one or takes one out. */
const MODE: OptionTable = {
  short: 'crxuA',
  valued: 'bfHKLNIFTgCXV',
  long: ['create', 'append', 'extract', 'get', 'update', 'catenate', 'concatenate', 'delete'],
  isEndless: true,
  writing: 'all',
};

/** Options of `tar` that run programs, take orders from files, write or leave the folder; its first word needs no dash. */
export function reachTar(words: readonly ShellWord[]): Reach[] {
  const reaches = optionReaches(words, TABLE).map((reach) => withAction(reach, words));
  for (const mode of optionReaches(words, MODE)) if (mode.maybe !== true) reaches.push(mode);
  const [, first] = words;
  if (first?.value !== undefined && !first.value.startsWith('-')) {
    for (const letter of first.value) {
      if (TABLE.short?.includes(letter)) {
        reaches.push({ at: 1, option: letter, ...(TABLE.writing?.includes(`-${letter}`) && { startsNothing: true }) });
      } else if (MODE.short?.includes(letter)) reaches.push({ at: 1, option: letter, startsNothing: true });
    }
  }
  words.forEach(({ head, text }, at) => {
    // An archive on another machine is fetched through a remote shell.
    if (at > 1 && /^(?:-\w*f|--file=)?[^/=]*:/.test(head)) reaches.push({ at, option: text });
  });
  return reaches;
}

/** `--checkpoint-action=exec=command`; the other actions write. */
function withAction(reach: Reach, words: readonly ShellWord[]): Reach {
  if (reach.option !== '--checkpoint-action') return reach;
  const { value = '' } = words[reach.at] as ShellWord;
  const mark = value.indexOf('=');
  const action = mark < 0 ? words[reach.at + 1]?.value : value.slice(mark + 1);
  if (action === undefined) return reach;
  return action.startsWith('exec=') ? { ...reach, ...runsOf(action.slice('exec='.length)) } : reach;
}
