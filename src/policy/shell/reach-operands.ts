import type { ShellWord } from './command.js';
import type { Reach } from './reach-options.js';

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
  words.flatMap(({ value, head }, at) => (at > 0 && (value === '-' || !head.startsWith('-')) ? [at] : []));
const reachAt = (words: readonly ShellWord[], at: number): Reach => ({ at, option: words[at]?.text ?? '' });

/** A second file is the one that is written. */
const writesSecond: ByOperand = (words) => {
  const [first, ...more] = operandsOf(words);
  // Words may stand for several.
  const at = more[0] ?? (first !== undefined && words[first]?.many !== 'one' ? first : undefined);
  return at === undefined ? [] : [reachAt(words, at)];
};

const matching =
  (pattern: RegExp): ByOperand =>
  (words) =>
    operandsOf(words)
      .filter((at) => pattern.test(words[at]?.head ?? '') || words[at]?.head === '')
      .map((at) => reachAt(words, at));

const BY_OPERAND: ReadonlyMap<string, ByOperand> = new Map<string, ByOperand>([
  [
    'tee',
    (words) =>
      operandsOf(words)
        .filter((at) => !HARMLESS_FILE.has(words[at]?.value ?? ''))
        .map((at) => reachAt(words, at)),
  ],
  ['dd', matching(/^of=/)],
  ['uniq', writesSecond],
  ['xxd', writesSecond],
  ['less', matching(/^\+/)],
  ['more', matching(/^\+/)],
  ['most', matching(/^\+/)],
  ['vi', matching(/^\+/)],
  ['vim', matching(/^\+/)],
  ['nvim', matching(/^\+/)],
  ['view', matching(/^\+/)],
  ['make', matching(/=/)],
  ['gmake', matching(/=/)],
  ['socat', matching(/(?:EXEC|SYSTEM|SHELL|OPEN|CREATE|FILE|GOPEN|PIPE|PTY)/i)],
  ['scp', matching(/^-/)],
  [
    'sqlite3',
    (words) =>
      operandsOf(words)
        .slice(1)
        .map((at) => reachAt(words, at)),
  ],
  ['npm', matching(/^(?:exec|x|config|c|set|explore|edit|init|create)$/)],
  ['pnpm', matching(/^(?:exec|dlx|config|create)$/)],
  ['yarn', matching(/^(?:exec|dlx|config|create|node)$/)],
  ['go', matching(/^(?:run|generate|tool|env)$/)],
  ['ip', matching(/^(?:netns|vrf)$/)],
]);

/** Words that are no options, by which a program writes or runs more than its name says. */
export function reachOperands(program: string, words: readonly ShellWord[]): Reach[] {
  if (TAKES_ORDERS.has(program)) return [{ at: words.length, option: 'its input' }];
  return BY_OPERAND.get(program)?.(words) ?? [];
}
