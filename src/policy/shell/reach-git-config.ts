import type { ShellWord } from './command.js';
import { type Reach, runsOf } from './reach-options.js';

/** Settings that say how things look or are named: whatever their value, nothing is started by it. */
const HARMLESS =
  /^(?:user\.(?:name|email|signingkey)|author\..*|committer\..*|color\..*|advice\..*|init\.defaultbranch|push\.(?!pushoption).*|pull\..*|fetch\.(?!.*helper).*|rebase\.(?!instructionformat).*|merge\.(?:ff|conflictstyle|log|stat|renames|renamelimit)|commit\.gpgsign|tag\.gpgsign|log\..*|status\..*|branch\.(?:autosetup\w+|sort|.*\.(?:remote|merge|rebase))|column\..*|diff\.(?:algorithm|colormoved|colormovedws|context|mnemonicprefix|noprefix|renames|renamelimit|wserrorhighlight|submodule)|core\.(?:autocrlf|safecrlf|eol|quotepath|filemode|ignorecase|precomposeunicode|longpaths|bigfilethreshold|abbrev|compression|whitespace|bare|logallrefupdates|symlinks|commentchar|untrackedcache|excludesfile)|gc\..*|pack\..*|safe\.directory|protocol\.version|http\.(?:postbuffer|sslverify|version|lowspeed\w+)|help\.autocorrect|rerere\..*|versionsort\..*|index\..*|feature\..*)$/;
/** Settings whose value is a command for a shell. */
const COMMANDS =
  /^(?:core\.(?:pager|editor|sshcommand|askpass|gitproxy|fsmonitor|alternaterefscommand)|pager\..*|sequence\.editor|diff\.external|diff\..*\.(?:command|textconv)|merge\..*\.driver|filter\..*\.(?:clean|smudge|process)|(?:difftool|mergetool|browser|man)\..*\.cmd|gpg\.program|gpg\..*\.program|remote\..*\.(?:uploadpack|receivepack|vcs)|uploadpack\.packobjectshook|interactive\.difffilter|sendemail\.(?:smtpserver|tocmd|cccmd|headercmd|sendmailcmd)|trailer\..*\.(?:command|cmd)|imap\.tunnel|web\.browser|rebase\.exec)$/;

/** What a setting that is given for one command, `key=value`, would start; `rest` are the words behind the subcommand. */
export function configReach(given: string, rest = ''): Pick<Reach, 'startsNothing' | 'runs' | 'appends'> {
  const mark = given.indexOf('=');
  const key = (mark < 0 ? given : given.slice(0, mark)).toLowerCase();
  const value = mark < 0 ? 'true' : given.slice(mark + 1);
  if (HARMLESS.test(key)) return { startsNothing: true };
  // Another subcommand, or behind `!` a text for a shell; then the words of the line.
  if (key.startsWith('alias.')) return { runs: `${value.startsWith('!') ? value.slice(1) : `git ${value}`} ${rest}` };
  if (key.startsWith('credential.')) return value.startsWith('!') ? runsOf(value.slice(1)) : {};
  if (!COMMANDS.test(key)) return {};
  // Of some of them a truth value says whether a built-in one is used.
  return /^(?:true|false|)$/.test(value) ? { startsNothing: true } : runsOf(value);
}

const LOOKS =
  /^(?:--?(?:get|get-all|get-regexp|get-urlmatch|get-color|get-colorbool|list|l|name-only|unset|unset-all)|get|list|unset)$/;
const WHERE =
  /^(?:--(?:global|local|system|worktree|show-origin|show-scope|null|includes|type=\w+|bool|int|path|add|replace-all|all)|-z|set)$/;

/** `git config`: looks, or a setting that stays. */
export function settingReach(words: readonly ShellWord[]): Pick<Reach, 'startsNothing' | 'runs' | 'appends'> {
  const rest = words.filter(({ value }) => value === undefined || !WHERE.test(value));
  const [first, second] = rest;
  if (first?.value === undefined) return {};
  if (LOOKS.test(first.value) || (rest.length === 1 && !first.head.startsWith('-'))) return { startsNothing: true };
  if (first.head.startsWith('-') || rest.length > 2) return {};
  return second?.value === undefined
    ? HARMLESS.test(first.value.toLowerCase())
      ? { startsNothing: true }
      : {}
    : configReach(`${first.value}=${second.value}`);
}
