import type { ShellWord } from './command.js';
import type { Reach } from './reach-options.js';
import { isDangerousVariable } from './variables.js';

/** Programs that take orders from their input, or from a file, in a language in which commands can be run. */
const TAKES_ORDERS = new Set([
  'ed',
  'ex',
  'dc',
  'm4',
  'at',
  'batch',
  'crontab',
  'ftp',
  'telnet',
  'screen',
  'tmux',
  'mail',
  'mailx',
  'mutt',
]);
const HARMLESS_FILE = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '-']);

type ByOperand = (words: readonly ShellWord[]) => Reach[];

const operandsOf = (words: readonly ShellWord[]): number[] =>
  words.flatMap(({ value, head, isGiven }, at) =>
    at > 0 && isGiven !== true && (value === '-' || !head.startsWith('-')) ? [at] : [],
  );
const reachAt = (words: readonly ShellWord[], at: number): Reach => ({ at, option: words[at]?.text ?? '' });
const NOTHING = { startsNothing: true } as const;

/** A second file is the one that is written. */
const writesSecond: ByOperand = (words) => {
  const [first, ...more] = operandsOf(words);
  // Words may stand for several.
  const at = more[0] ?? (first !== undefined && words[first]?.many !== 'one' ? first : undefined);
  return at === undefined ? [] : [{ ...reachAt(words, at), ...NOTHING }];
};

const matching =
  (pattern: RegExp): ByOperand =>
  (words) =>
    operandsOf(words)
      .filter((at) => pattern.test(words[at]?.head ?? '') || words[at]?.head === '')
      .map((at) => reachAt(words, at));

/** What it starts are its own words: whether a rule is about those is looked for there. */
const naming =
  (pattern: RegExp): ByOperand =>
  (words) =>
    matching(pattern)(words).map((reach) => ({ ...reach, ...NOTHING }));

const both =
  (...more: readonly ByOperand[]): ByOperand =>
  (words) =>
    more.flatMap((one) => one(words));

/** A rule has to name what is started. */
const namesFirst: ByOperand = (words) =>
  operandsOf(words)
    .slice(0, 1)
    .map((at) => ({ ...reachAt(words, at), ...NOTHING }));

const anywhere =
  (pattern: RegExp): ByOperand =>
  (words) =>
    words.flatMap(({ head }, at) => (at > 0 && pattern.test(head) ? [reachAt(words, at)] : []));

/** Of `dotnet`, options with `=`, `:` or nothing before their value, after one dash, two, or a slash. */
const DOTNET_OPTION =
  /^(?:--?|\/)(?:s|settings|a|test-adapter-path|o|output|results-directory|logger|collect|d|diag|p|property|configfile|additionalprobingpath|additional-deps|depsfile|runtimeconfig|artifacts-path|rsp|b|bl|binaryLogger|flp?\d?|fileLoggerParameters|dl|distributedLogger)(?:[:=]|$)/i;
/** Of `gh`, what looks at GitHub or works there; any other word is an alias, an extension, or a setting. */
const GH_PLAIN =
  /^(?:pr|issue|repo|run|workflow|release|search|status|label|project|gist|browse|cache|ruleset|org|api|help|version|attestation)$/;

const ghStarts: ByOperand = (words) =>
  operandsOf(words)
    .slice(0, 1)
    .filter((at) => !GH_PLAIN.test(words[at]?.value ?? ''))
    .map((at) => reachAt(words, at));

const INNER_RUN = /^(?:run|exec|create|compose|cp|save|export|import|load|build|buildx|commit)$/;

const BY_OPERAND: ReadonlyMap<string, ByOperand> = new Map<string, ByOperand>([
  [
    'tee',
    (words) =>
      operandsOf(words)
        .filter((at) => !HARMLESS_FILE.has(words[at]?.value ?? ''))
        .map((at) => ({ ...reachAt(words, at), ...NOTHING })),
  ],
  ['dd', (words) => matching(/^of=/)(words).map((reach) => ({ ...reach, ...NOTHING }))],
  ['uniq', writesSecond],
  ['xxd', writesSecond],
  ['less', matching(/^\+/)],
  ['more', matching(/^\+/)],
  ['most', matching(/^\+/)],
  ['vi', matching(/^\+/)],
  ['vim', matching(/^\+/)],
  ['nvim', matching(/^\+/)],
  ['view', matching(/^\+/)],
  ['make', setsForMake],
  ['gmake', setsForMake],
  ['socat', matching(/(?:EXEC|SYSTEM|SHELL|OPEN|CREATE|FILE|GOPEN|PIPE|PTY)/i)],
  ['scp', matching(/^-/)],
  ['ssh', runsAtHost],
  ['openssl', matching(/^engine$/)],
  ['sqlite3', queries],
  ['npm', both(matching(/^(?:config|c|set|edit)$/), naming(/^(?:exec|x|explore|init|create)$/))],
  ['pnpm', both(matching(/^config$/), naming(/^(?:exec|dlx|create)$/))],
  ['yarn', both(matching(/^config$/), naming(/^(?:exec|dlx|create|node)$/))],
  ['pip', matching(/^config$/)],
  ['pip3', matching(/^config$/)],
  ['composer', matching(/^(?:exec|global|config)$/)],
  ['bundle', matching(/^(?:config|plugin)$/)],
  [
    'dotnet',
    both(anywhere(DOTNET_OPTION), anywhere(/^@/), matching(/^(?:exec|fsi|script|tool|msbuild|vstest|.*\.dll)$/)),
  ],
  ['gh', ghStarts],
  ['npx', namesFirst],
  ['bunx', namesFirst],
  ['uvx', namesFirst],
  ['docker', naming(INNER_RUN)],
  ['podman', naming(INNER_RUN)],
  ['nerdctl', naming(INNER_RUN)],
  ['kubectl', naming(/^(?:exec|run|debug|cp)$/)],
  ['go', both(matching(/^(?:tool|env)$/), naming(/^(?:run|generate)$/))],
  ['ip', naming(/^(?:netns|vrf)$/)],
]);

/** `make SHELL=x`: a value that is no word of a command starts nothing. */
function setsForMake(words: readonly ShellWord[]): Reach[] {
  return matching(/=/)(words).map((reach) => {
    const [, name = '', value] = /^(\w+)[?:+]?=(.*)$/.exec(words[reach.at]?.value ?? '') ?? [];
    const isPlain = value !== undefined && /^[\d.]*$/.test(value) && !isDangerousVariable(name);
    return isPlain ? { ...reach, ...NOTHING } : reach;
  });
}

/** A query only reads or writes data, unless it is an order of the program, or loads or writes files. */
function queries(words: readonly ShellWord[]): Reach[] {
  const [, ...given] = operandsOf(words);
  // Without a query it takes orders from its input.
  if (given.length === 0 && words[1]?.value !== '--version') return [{ at: words.length, option: 'its input' }];
  return given.map((at) => {
    const { value } = words[at] as ShellWord;
    const isPlain = value !== undefined && !/^\s*\.|\n\s*\.|load_extension|\bedit\s*\(|fts3_tokenizer/i.test(value);
    return { ...reachAt(words, at), ...(isPlain && NOTHING) };
  });
}

const SSH_VALUED = 'bcilmpBQWoFSEIDJLReOw';

/** What stands behind the name of the host is put together to one text, for the shell there. */
function runsAtHost(words: readonly ShellWord[]): Reach[] {
  let at = 1;
  for (; at < words.length; at++) {
    const { value, head } = words[at] as ShellWord;
    if (!head.startsWith('-')) break;
    if (value !== undefined && value.length === 2 && SSH_VALUED.includes(value[1] as string)) at++;
  }
  const command = words.slice(at + 1);
  if (command.length === 0) return [];
  const values = command.map(({ value }) => value);
  return [{ ...reachAt(words, at + 1), ...(!values.includes(undefined) && { runs: values.join(' ') }) }];
}

/** Words that are no options, by which a program writes or runs more than its name says. */
export function reachOperands(program: string, words: readonly ShellWord[]): Reach[] {
  if (TAKES_ORDERS.has(program)) return [{ at: words.length, option: 'its input' }];
  return BY_OPERAND.get(program)?.(words) ?? [];
}
