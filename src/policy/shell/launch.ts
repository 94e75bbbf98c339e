import { plainWord, programOf, type ShellWord, shownWord } from './command.js';
import { launchFind } from './launch-find.js';
import { launchShell } from './launch-shell.js';
import { type Launch, notKnown, withPlaceholder } from './launched.js';

interface Launcher {
  /** Options without a value: letters, and words after two dashes. */
  readonly flags?: string;
  readonly longFlags?: readonly string[];
  /** Options with a value, in the same word or the next one. */
  readonly valued?: string;
  readonly longValued?: readonly string[];
  /** Options with a value behind `=`, or without one. */
  readonly longOptional?: readonly string[];
  /** Words between the options and the command. */
  readonly operands?: number;
  /** `X=1` may stand before the command. */
  readonly assigns?: true;
  /** What is read from elsewhere is put behind the words of the command. */
  readonly appends?: true;
  /** It acts for another user, outlives its caller, or does more than to start: it needs a rule for itself. */
  readonly isMore?: true;
  /** Words of numbers as options: `nice -5`. */
  readonly numeric?: true;
}

const LAUNCHERS: ReadonlyMap<string, Launcher> = new Map<string, Launcher>([
  ['command', { flags: 'p' }],
  ['builtin', {}],
  ['exec', { flags: 'cl' }],
  ['nohup', {}],
  ['time', { flags: 'p' }],
  ['nice', { valued: 'n', longValued: ['adjustment'], numeric: true }],
  ['ionice', { flags: 't', valued: 'cn', longFlags: ['ignore'], longValued: ['class', 'classdata'] }],
  [
    'timeout',
    {
      flags: 'v',
      valued: 'ks',
      longFlags: ['foreground', 'preserve-status', 'verbose'],
      longValued: ['kill-after', 'signal'],
      operands: 1,
    },
  ],
  ['stdbuf', { valued: 'ioe', longValued: ['input', 'output', 'error'] }],
  ['env', { flags: 'i0v', longFlags: ['ignore-environment', 'null', 'debug'], assigns: true }],
  [
    'xargs',
    {
      flags: '0rtx',
      valued: 'adEILnPs',
      longFlags: ['null', 'no-run-if-empty', 'verbose', 'exit'],
      longValued: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars'],
      longOptional: ['max-lines', 'replace'],
      appends: true,
    },
  ],
  ['setsid', { flags: 'cfw', longFlags: ['ctty', 'fork', 'wait'], isMore: true }],
  [
    'sudo',
    {
      flags: 'AbEHkKnPS',
      valued: 'Cghprtu',
      longFlags: ['non-interactive', 'preserve-env', 'stdin', 'background', 'set-home', 'reset-timestamp'],
      longValued: ['user', 'group', 'host', 'prompt', 'role', 'type', 'close-from'],
      assigns: true,
      isMore: true,
    },
  ],
  ['doas', { flags: 'n', valued: 'u', isMore: true }],
  ['busybox', { isMore: true }],
  ['toybox', { isMore: true }],
  ['chroot', { operands: 1, longValued: ['userspec', 'groups'], longFlags: ['skip-chdir'], isMore: true }],
  ['taskset', { operands: 1, flags: 'ac', isMore: true }],
  ['chrt', { operands: 1, flags: 'bfior', isMore: true }],
  ['strace', { flags: 'fFqrtTvxyCcdiw', valued: 'abeEIPosSuX', isMore: true }],
  ['ltrace', { flags: 'fhirStC', valued: 'aeElnosuxX', isMore: true }],
  ['unbuffer', { flags: 'p', isMore: true }],
  ['linux32', { isMore: true }],
  ['linux64', { isMore: true }],
  ['setarch', { flags: '3BFILRSTXZ', isMore: true }],
  ['catchsegv', { isMore: true }],
  ['eatmydata', { isMore: true }],
  ['chronic', { flags: 'e', isMore: true }],
  ['run-one', { isMore: true }],
  ['trickle', { flags: 's', valued: 'duwtlL', isMore: true }],
  [
    'valgrind',
    { longOptional: ['tool', 'leak-check', 'error-exitcode', 'quiet', 'show-leak-kinds'], flags: 'qv', isMore: true },
  ],
  ['xvfb-run', { flags: 'a', isMore: true }],
  ['dbus-launch', { longFlags: ['exit-with-session'], isMore: true }],
  ['ssh-agent', { isMore: true }],
  ['fakeroot', { isMore: true }],
  ['dbus-run-session', { isMore: true }],
]);

const FLOCK: Launcher = {
  flags: 'eFnosux',
  valued: 'Ew',
  longFlags: ['exclusive', 'nonblock', 'nb', 'no-fork', 'shared', 'unlock', 'close', 'verbose'],
  longValued: ['timeout', 'wait', 'conflict-exit-code'],
  operands: 1,
  isMore: true,
};

/** Whether a command is known to start others, or may: the start of its words says little of what it does. */
export const startsOthers = (words: readonly ShellWord[]): boolean => launchOf(words) !== undefined;

/** What a command starts, looked through by its words. Undefined: it is not known to start any. */
export function launchOf(words: readonly ShellWord[]): Launch | undefined {
  const program = programOf(words);
  if (program === undefined) return undefined;
  const launch = launchBy(program, words);
  // A program of that name from elsewhere is not the one that only passes on.
  const isBare = words[0]?.value === program;
  return launch?.passesOn && !isBare ? { ...launch, passesOn: false } : launch;
}

function launchBy(program: string, words: readonly ShellWord[]): Launch | undefined {
  switch (program) {
    case 'find':
      return launchFind(words);
    case 'eval':
    case 'watch':
    case 'su':
    case 'script':
      return launchShell(program, words);
    case 'flock':
      if (words.some(({ value }) => value === undefined || /^-(?:c$|-command)/.test(value))) {
        return launchShell(program, words);
      }
      return launchWith(program, FLOCK, words);
    default: {
      const launcher = LAUNCHERS.get(program);
      return launcher === undefined ? launchShell(program, words) : launchWith(program, launcher, words);
    }
  }
}

function launchWith(program: string, launcher: Launcher, words: readonly ShellWord[]): Launch | undefined {
  const { operands = 0, assigns = false, appends = false, isMore = false } = launcher;
  if (program === 'command' && /^-p*[vV]/.test(words[1]?.head ?? '')) return undefined;
  let at = 1;
  let replaced: string | undefined;
  for (; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { value } = word;
    if (!word.head.startsWith('-')) {
      if (word.head === '') return notKnown(`what ${program} starts is known only when it runs`);
      break;
    }
    if (value === undefined) return notKnown(`the options of ${program} are known only when it runs`);
    if (value === '--') {
      at++;
      break;
    }
    if (program === 'env' && value === '-') continue;
    if (program === 'env' && /^(-S|--split-string)/.test(value)) return splitString(words, at);
    const takes = optionTakes(launcher, value);
    if (takes === undefined) return notKnown(`what ${program} does with ${value} is not known`);
    if (program === 'xargs' && /^(-I|--replace)/.test(value)) {
      replaced = takes === 'next' ? words[at + 1]?.value : value.replace(/^(-I|--replace=?)/, '') || '{}';
      if (replaced === undefined) return notKnown('what xargs starts is known only when it runs');
    }
    if (takes === 'next') at++;
  }
  const set: string[] = [];
  for (; assigns && at < words.length; at++) {
    const [, name] = /^([^=]*)=/.exec(words[at]?.head ?? '') ?? [];
    if (name === undefined) break;
    set.push(name);
  }
  at += operands;
  const command = words.slice(at);
  if (words.slice(1, at).some(({ many }) => many !== 'one')) {
    return notKnown(`what ${program} starts is known only when it runs`);
  }
  // Many of those that do more start a shell by themselves.
  if (command.length === 0 && isMore) return notKnown(`what ${program} starts is not known`);
  if (command.length === 0 && !appends) return undefined;
  const started = appends ? withInput(command.length === 0 ? [plainWord('echo')] : command, replaced) : command;
  return { commands: [started], assigns: set, passesOn: !isMore };
}

/** How many words an option takes: itself, or the next one too. Undefined: it is not known. */
function optionTakes(launcher: Launcher, option: string): 'self' | 'next' | undefined {
  const { flags = '', valued = '', longFlags = [], longValued = [], longOptional = [], numeric = false } = launcher;
  if (option.startsWith('--')) {
    const [name = '', value] = option.slice(2).split('=', 2);
    if (longValued.includes(name)) return value === undefined ? 'next' : 'self';
    if (longOptional.includes(name)) return 'self';
    return longFlags.includes(name) && value === undefined ? 'self' : undefined;
  }
  if (numeric && /^--?\d+$/.test(option)) return 'self';
  for (let at = 1; at < option.length; at++) {
    const letter = option[at] as string;
    if (valued.includes(letter)) return at === option.length - 1 ? 'next' : 'self';
    if (!flags.includes(letter)) return undefined;
  }
  return option.length > 1 ? 'self' : undefined;
}

const INPUT: ShellWord = { text: '…', value: undefined, head: '', many: 'any' };

/** With `-I` the input stands in place of a word's part; else it is put behind. */
function withInput(words: readonly ShellWord[], replaced: string | undefined): readonly ShellWord[] {
  return replaced === undefined ? [...words, INPUT] : withPlaceholder(words, replaced);
}

/** `env -S 'FOO=1 cmd arg'`: only plain words are taken apart. */
function splitString(words: readonly ShellWord[], at: number): Launch {
  const option = words[at]?.value ?? '';
  const attached = option.replace(/^(-S|--split-string=?)/, '');
  const text = attached === '' ? words[at + 1]?.value : attached;
  if (text === undefined || !/^[\w@%+=:,./ -]*$/.test(text)) return notKnown('what env starts is not known');
  const rest = words.slice(attached === '' ? at + 2 : at + 1);
  const split = text.split(' ').filter((one) => one !== '');
  return (
    launchWith('env', { assigns: true, flags: 'i0v' }, [plainWord('env'), ...split.map(plainWord), ...rest]) ??
    notKnown(`env is given ${shownWord(plainWord(text))} to take apart`)
  );
}
