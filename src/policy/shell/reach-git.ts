import { type ShellWord, shownWords } from './command.js';
import { configReach, settingReach } from './reach-git-config.js';
import { mayBeOption, type OptionTable, optionReaches, type Reach } from './reach-options.js';

const NOTHING = { startsNothing: true } as const;

/** What does its own work only. Any other word may be an alias, another program, or a thing that runs commands. */
const PLAIN = new Set(
  (
    'add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap ' +
    'check-ref-format checkout cherry cherry-pick clean clone commit count-objects describe diff diff-files ' +
    'diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object help init log ls-files ls-remote ' +
    'ls-tree merge merge-base mv name-rev notes pack-refs prune pull push range-diff read-tree rebase reflog remote ' +
    'repack reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash ' +
    'status stripspace submodule switch symbolic-ref tag update-index update-ref var verify-commit verify-pack ' +
    'verify-tag version whatchanged worktree write-tree'
  ).split(' '),
);
const GLOBAL_WITH_VALUE = new Set([
  '-C',
  '-c',
  '--git-dir',
  '--work-tree',
  '--namespace',
  '--config-env',
  '--attr-source',
]);
const HARMLESS_GLOBAL = new Set([
  '--no-pager',
  '-P',
  '-p',
  '--paginate',
  '--no-optional-locks',
  '--literal-pathspecs',
  '--glob-pathspecs',
  '--noglob-pathspecs',
  '--icase-pathspecs',
  '--no-replace-objects',
  '--version',
  '-v',
  '--help',
  '-h',
  '--bare',
]);

const LONG = (
  'output output-directory exec upload-pack receive-pack extcmd tool open-files-in-pager ext-diff textconv template ' +
  'separate-git-dir index-output export-marks config config-env exec-path interactive contents'
).split(' ');
/** It opens an editor. */
const BRANCH = [...LONG, 'edit-description'];
const SHORT: Readonly<Record<string, string>> = {
  archive: 'o',
  clone: 'uc',
  'format-patch': 'o',
  grep: 'O',
  rebase: 'xi',
};
const WRITING =
  '-o -i --output --output-directory --textconv --separate-git-dir --index-output --export-marks --interactive --contents'.split(
    ' ',
  );
const COMMANDS = '-u -x -O --exec --upload-pack --receive-pack --extcmd --open-files-in-pager'.split(' ');
const MESSAGES: Readonly<Record<string, readonly string[]>> = {
  commit: ['-m', '--message', '-am', '-F', '--file'],
  tag: ['-m', '--message'],
  merge: ['-m'],
  notes: ['-m', '--message'],
  stash: ['-m', '--message'],
};
const NETWORK = new Set(['archive', 'clone', 'fetch', 'ls-remote', 'pull', 'push', 'remote', 'submodule']);
/** Words of a subcommand behind which a command stands. */
const STARTING: Readonly<Record<string, string>> = { bisect: 'run', submodule: 'foreach' };
/** Words of a subcommand that write a file which is named behind them. */
const SAVING: Readonly<Record<string, string>> = { bundle: 'create' };
/** Not plain, for they write what they please or what is behind them is long; they start nothing. */
const STARTS_NOTHING = new Set(
  (
    'bugreport check-ref-format commit-graph commit-tree diagnose fast-export fast-import get-tar-commit-id index-pack ' +
    'interpret-trailers mailinfo merge-file merge-tree mktag mktree multi-pack-index pack-objects patch-id ' +
    'prune-packed replace rerere show-index unpack-objects'
  ).split(' '),
);

/** Options by which `git` reads another configuration, runs or writes; words that are not its own. */
export function reachGit(words: readonly ShellWord[]): Reach[] {
  const reaches: Reach[] = [];
  const rest = () => shownWords(words.slice(subcommandAt(words, () => {}) + 1));
  const aliases = new Set<string | undefined>();
  const at = subcommandAt(words, (place, option, maybe) => {
    const given = option === '-c' ? words[place + 1]?.value : undefined;
    if (given !== undefined) aliases.add(/^alias\.([^=]*)=/i.exec(given)?.[1]?.toLowerCase());
    const more = option === '-C' ? NOTHING : given === undefined ? {} : configReach(given, rest());
    reaches.push({ at: place, option, ...more, ...(maybe && { maybe: true }) });
  });
  const word = words[at];
  if (word === undefined) return reaches;
  const name = word.value;
  if (name === undefined) return [...reaches, { at, option: word.text, maybe: true }];
  if (name === 'config') return [...reaches, { at, option: name, ...settingReach(words.slice(at + 1)) }];
  if (!PLAIN.has(name))
    return [
      ...reaches,
      { at, option: name, ...((STARTS_NOTHING.has(name) || aliases.has(name.toLowerCase())) && NOTHING) },
    ];
  const table: OptionTable = {
    long: name === 'branch' ? BRANCH : LONG,
    short: SHORT[name] ?? '',
    takesNext: MESSAGES[name] ?? [],
    writing: WRITING,
    commands: COMMANDS,
    ...(NETWORK.has(name) && { isEndless: true }),
  };
  reaches.push(...optionReaches(words, table, at + 1).map((reach) => withConfig(reach, words)));
  for (let place = at + 1; place < words.length; place++) {
    const { value, head, text } = words[place] as ShellWord;
    if (value !== undefined && value === STARTING[name]) {
      // What stands behind it is run as it is, or as one text.
      const rest = words.slice(place + 1);
      const known = rest.every((one) => one.value !== undefined);
      const line = rest.length === 1 ? rest[0]?.value : shownWords(rest);
      const isRun = known && line !== undefined && rest[0]?.head.startsWith('-') === false;
      reaches.push({ at: place, option: value, ...(isRun && { runs: line }) });
      break;
    }
    if (value !== undefined && value === SAVING[name]) reaches.push({ at: place, option: value, ...NOTHING });
    // `ext::sh -c …` is an address that runs a command.
    else if (NETWORK.has(name) && /^[\w.+-]+::/.test(head)) reaches.push({ at: place, option: text });
  }
  return reaches;
}

/** `git clone -c key=value`. */
function withConfig(reach: Reach, words: readonly ShellWord[]): Reach {
  if (reach.option !== '-c' && reach.option !== '--config') return reach;
  const { value = '', head } = words[reach.at] as ShellWord;
  const attached = head.startsWith('--') ? value.slice(value.indexOf('=') + 1 || value.length) : value.slice(2);
  const given = attached === '' ? words[reach.at + 1]?.value : attached;
  return given === undefined ? reach : { ...reach, ...configReach(given) };
}

/** The place of the subcommand; what stands before it is told on the way. */
function subcommandAt(
  words: readonly ShellWord[],
  tell: (at: number, option: string, maybe?: boolean) => void,
): number {
  let at = 1;
  for (; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { head, text } = word;
    if (mayBeOption(word) || word.many !== 'one') {
      tell(at, text, true);
      return words.length;
    }
    if (!head.startsWith('-')) break;
    const option = head.split('=', 1)[0] as string;
    if (!HARMLESS_GLOBAL.has(option)) tell(at, option);
    if (GLOBAL_WITH_VALUE.has(head)) at++;
  }
  return at;
}

/**
 * The words without the options between `git` and its subcommand: what they do is the same. Undefined: which word is
 * the subcommand is known only when it runs.
 */
export function withoutGlobalOptions(words: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const at = subcommandAt(words, () => {});
  if (words[at] === undefined) return words.some(({ value }) => value === undefined) ? undefined : words.slice(0, 1);
  return [words[0] as ShellWord, ...words.slice(at)];
}
