import type { ShellWord } from './command.js';
import { type Launch, notKnown } from './launched.js';

const SHELLS: ReadonlyMap<string, 'bash' | 'sh'> = new Map<string, 'bash' | 'sh'>([
  ['bash', 'bash'],
  ['rbash', 'bash'],
  ['sh', 'sh'],
  ['dash', 'sh'],
  ['ash', 'sh'],
]);
/** Their language is another one: what they are given is not read. */
const OTHER_SHELLS = new Set([
  'zsh',
  'ksh',
  'ksh93',
  'mksh',
  'lksh',
  'pdksh',
  'yash',
  'fish',
  'csh',
  'tcsh',
  'pwsh',
  'powershell',
  'nu',
  'xonsh',
  'elvish',
]);

/** Programs that start others, in ways of their own. */
const OTHER_STARTERS: ReadonlySet<string> = new Set([
  'su',
  'runuser',
  'pkexec',
  'flock',
  'script',
  'parallel',
  'unshare',
  'nsenter',
  'setpriv',
  'prlimit',
  'cpulimit',
  'numactl',
  'systemd-run',
  'firejail',
  'entr',
  'at',
  'batch',
  'newgrp',
  'sg',
  'capsh',
  'bwrap',
  'proot',
  'start-stop-daemon',
  'daemonize',
  'dtach',
  'abduco',
  'xterm',
  'x-terminal-emulator',
  'watchexec',
  'nodemon',
  'faketime',
  'rlwrap',
  'torsocks',
  'torify',
  'proxychains',
  'proxychains4',
  'perf',
  'ifne',
  'logrotate',
  'run-parts',
  'nix-shell',
]);
/** The loader, given a program to run. */
const LOADER = /^(?:ld\.so|ld-linux[\w.-]*|ld-musl[\w.-]*|ld[\w.-]*\.so(?:\.\d+)?)$/;

/** What a command hands to a shell as text. Undefined: it is not known to do so. */
export function launchShell(program: string, words: readonly ShellWord[]): Launch | undefined {
  const shell = SHELLS.get(program);
  if (shell !== undefined) return launchScript(program, shell, words);
  if (OTHER_SHELLS.has(program) || (LOADER.test(program) && words.length > 1))
    return notKnown(`what ${program} runs is not known`);
  switch (program) {
    case 'eval':
      return launchJoined(words.slice(1), 'bash', true);
    case 'watch': {
      const at = words.findIndex(({ head }, index) => index > 0 && !head.startsWith('-'));
      // With options, which of them take a word of their own is left open.
      return at === 1 ? launchJoined(words.slice(1), 'sh', false) : notKnown('what watch runs is not known');
    }
    default:
      if (!OTHER_STARTERS.has(program)) return undefined;
      return { ...notKnown(`what ${program} runs is not known`), ...givenText(words) };
  }
}

/** The text behind `-c`, or of `--command=`: it may be all that is run, or not. */
function givenText(words: readonly ShellWord[]): Pick<Launch, 'scripts'> {
  const at = words.findIndex(({ head }, index) => index > 0 && /^(?:-[a-z]*c$|--command(?:=|$))/.test(head));
  const { value = '' } = words[at] ?? {};
  const text = value.startsWith('--command=') ? value.slice('--command='.length) : words[at + 1]?.value;
  return at < 0 || text === undefined ? {} : { scripts: [{ text, shell: 'sh' }] };
}

/** Words that are put together to one text, as `eval` does. */
function launchJoined(words: readonly ShellWord[], shell: 'bash' | 'sh', passesOn: boolean): Launch {
  const values = words.map(({ value }) => value);
  if (values.includes(undefined)) return notKnown('what it evaluates is known only when it runs');
  if (values[0]?.startsWith('-') && values[0] !== '--') return notKnown('what it evaluates is not known');
  const text = (values[0] === '--' ? values.slice(1) : values).join(' ');
  return { scripts: [{ text, shell }], passesOn };
}

const RUNS_INPUT = 'it runs what is in a file, or what it is given as input';

/** `bash -c text`. Whatever else a shell is given comes from a file or from its input. */
function launchScript(program: string, shell: 'bash' | 'sh', words: readonly ShellWord[]): Launch {
  let runsText = false;
  for (let at = 1; at < words.length; at++) {
    const { value, head } = words[at] as ShellWord;
    if (value === undefined && (head === '' || /^[-+]/.test(head)))
      return notKnown(`what ${program} runs is not known`);
    if (/^[-+]./.test(head) && value !== '--') {
      if (value === '--login' || value === '--posix' || value === '--noprofile' || value === '--norc') continue;
      if (!/^-[celuxvfBCE]+$/.test(value ?? '')) return notKnown(`what ${program} does with ${head} is not known`);
      runsText ||= value?.includes('c') === true;
      continue;
    }
    if (!runsText) return notKnown(RUNS_INPUT);
    const text = words[value === '--' || value === '-' ? at + 1 : at];
    if (text?.value === undefined || text.many !== 'one')
      return notKnown(`what ${program} runs is known only when it runs`);
    return { scripts: [{ text: text.value, shell }], passesOn: true };
  }
  return notKnown(RUNS_INPUT);
}
