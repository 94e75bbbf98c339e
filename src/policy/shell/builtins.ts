import { type IsTainted, isPlainNumber } from './arithmetic.js';
import type { ShellWord } from './command.js';
import { isDangerousVariable } from './variables.js';

/** What the shell's own commands may do beyond their words: a reason why that is not known, or nothing. */
type Check = (args: readonly ShellWord[], isTainted: IsTainted) => string | undefined;

const RUNS_LATER = 'it sets up commands that run later';
const RUNS_FILE = 'it runs what is in a file';
const CHANGES_MEANING = 'it changes what other commands mean';
const EVALUATES = 'it evaluates its words once more';

const always =
  (reason: string): Check =>
  () =>
    reason;

/** `read`, `printf -v` and others set a variable that is named by a word. */
function nameFault(word: ShellWord | undefined): string | undefined {
  if (word === undefined) return undefined;
  const { value } = word;
  if (value === undefined) return 'the variable that it sets is known only when it runs';
  if (value.includes('[')) return EVALUATES;
  return isDangerousVariable(value) ? `it sets ${value}` : undefined;
}

const firstFault = (words: readonly ShellWord[]): string | undefined => {
  for (const word of words) {
    const fault = nameFault(word);
    if (fault !== undefined) return fault;
  }
  return undefined;
};

/** Names after the options; an option that takes a word is listed in `valued`. */
const setsNames =
  (valued: string, ...namedBy: string[]): Check =>
  (args) => {
    let at = 0;
    for (; at < args.length; at++) {
      const { value, head } = args[at] as ShellWord;
      if (value === '--') {
        at++;
        break;
      }
      if (!head.startsWith('-')) break;
      if (value === undefined) return 'its options are known only when it runs';
      const letter = value.at(-1) as string;
      const attached = [...value.slice(1, -1)].find((one) => valued.includes(one));
      if (attached !== undefined && namedBy.includes(attached)) return 'it sets a variable that is named by an option';
      if (attached === undefined && valued.includes(letter)) {
        const fault = namedBy.includes(letter) ? nameFault(args[at + 1]) : undefined;
        if (fault !== undefined) return fault;
        at++;
      }
    }
    return firstFault(args.slice(at));
  };

const declares: Check = (args) => {
  for (const { value, head } of args) {
    if (value === undefined && !/^\w+\+?=/.test(head)) return 'the variable that it sets is known only when it runs';
    if (/^[-+]\w*[ni]/.test(head)) return EVALUATES;
    if (/^\w*\[/.test(head)) return EVALUATES;
  }
  return undefined;
};

/** `test` evaluates the subscript in a name that it is asked about with `-v`. */
const tests: Check = (args) => {
  for (const [at, { value, many }] of args.entries()) {
    const next = args[at + 1];
    if (many === 'any') return 'what it tests is known only when it runs';
    if (value === '-v' || value === '-R') {
      if (next?.value === undefined || next.value.includes('[')) return EVALUATES;
    } else if (value === undefined && next !== undefined && (next.value === undefined || next.value.includes('['))) {
      return 'what it tests is known only when it runs';
    }
  }
  return undefined;
};

const prints: Check = ([first, second]) => {
  if (first === undefined) return undefined;
  if (first.value === '-v') return nameFault(second);
  if (first.head.startsWith('-v')) return 'it sets a variable that is named by an option';
  return first.value === undefined && first.head === '' ? 'its options are known only when it runs' : undefined;
};

const HARMLESS_SETTINGS = new Set(['errexit', 'nounset', 'pipefail', 'noglob', 'verbose', 'xtrace', 'noclobber']);

const sets: Check = (args) => {
  for (let at = 0; at < args.length; at++) {
    const { value, head } = args[at] as ShellWord;
    if (value === '--') return undefined;
    if (value === undefined) return head === '' || /^[-+]/.test(head) ? CHANGES_MEANING : undefined;
    if (!/^[-+]/.test(value)) return undefined;
    if (!/^[-+][efuvxCET]*o?$/.test(value)) return CHANGES_MEANING;
    if (value.endsWith('o') && !HARMLESS_SETTINGS.has(args[++at]?.value ?? '')) return CHANGES_MEANING;
  }
  return undefined;
};

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['.', always(RUNS_FILE)],
  ['source', always(RUNS_FILE)],
  ['trap', always(RUNS_LATER)],
  ['bind', always(RUNS_LATER)],
  ['complete', always(RUNS_LATER)],
  ['compopt', always(RUNS_LATER)],
  ['compgen', always(EVALUATES)],
  ['fc', always('it runs commands of before')],
  ['history', always('it reads and writes commands of before')],
  ['alias', always(CHANGES_MEANING)],
  ['unalias', always(CHANGES_MEANING)],
  ['shopt', always(CHANGES_MEANING)],
  ['enable', always(CHANGES_MEANING)],
  ['hash', always(CHANGES_MEANING)],
  ['let', (args, isTainted) => (args.every(({ text }) => isPlainNumber(text, isTainted)) ? undefined : EVALUATES)],
  ['set', sets],
  ['declare', declares],
  ['typeset', declares],
  ['local', declares],
  ['export', declares],
  ['readonly', declares],
  ['read', setsNames('adinNptu', 'a')],
  ['mapfile', mapsFile],
  ['readarray', mapsFile],
  ['printf', prints],
  ['unset', (args) => firstFault(args.filter(({ head }) => !head.startsWith('-')))],
  ['getopts', (args) => nameFault(args[1])],
  ['wait', (args) => (args.some(({ head }) => head.startsWith('-p')) ? EVALUATES : undefined)],
  ['jobs', (args) => (args.some(({ value }) => value?.includes('x') ?? true) ? 'it starts a command' : undefined)],
  ['test', tests],
  ['[', tests],
]);

function mapsFile(args: readonly ShellWord[]): string | undefined {
  if (args.some(({ head }) => /^-\w*[Cc]/.test(head))) return 'it runs a command for every line';
  return setsNames('dnOsuCc')(args, () => true);
}

/** Why it is not known what a command of the shell itself does with its words. Nothing for other commands. */
export function builtinFault(words: readonly ShellWord[], isTainted: IsTainted): string | undefined {
  const name = words[0]?.value;
  return name === undefined ? undefined : CHECKS.get(name)?.(words.slice(1), isTainted);
}

const DECLARING = new Set(['declare', 'typeset', 'local', 'export', 'readonly']);

/** Variables that a command of the shell sets by words such as `X=1`. */
export function declaredBy(words: readonly ShellWord[]): string[] {
  if (!DECLARING.has(words[0]?.value ?? '')) return [];
  return words.slice(1).flatMap(({ head }) => /^(\w+)\+?=/.exec(head)?.[1] ?? []);
}
