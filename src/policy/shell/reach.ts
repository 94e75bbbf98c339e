import { programOf, type ShellWord } from './command.js';
import { reachAwk } from './reach-awk.js';
import { reachFind } from './reach-find.js';
import { reachGit } from './reach-git.js';
import { reachInterpreter } from './reach-interpreter.js';
import { reachOperands } from './reach-operands.js';
import { optionReaches, type Reach } from './reach-options.js';
import { reachSed } from './reach-sed.js';
import { OPTION_TABLES } from './reach-tables.js';
import { SCRIPT_TABLE } from './reach-tables-project.js';
import { reachTar } from './reach-tar.js';

const SPECIAL: ReadonlyMap<string, (words: readonly ShellWord[]) => Reach[]> = new Map([
  ['find', reachFind],
  ['gfind', reachFind],
  ['sed', reachSed],
  ['gsed', reachSed],
  ['ssed', reachSed],
  ['awk', reachAwk],
  ['gawk', reachAwk],
  ['mawk', reachAwk],
  ['nawk', reachAwk],
  ['original-awk', reachAwk],
  ['git', reachGit],
  ['tar', reachTar],
  ['gtar', reachTar],
  ['bsdtar', reachTar],
]);
const INTERPRETER =
  /^(?:python|pypy|perl|ruby|jruby|node|nodejs|deno|bun|php|lua|luajit|Rscript|tclsh|wish|expect|guile|ghc|ghci|runghc|irb|osascript|groovy|scala|swift|julia|elixir|erl|escript|racket|sbcl|clisp|ocaml|tsx|ts-node|jiti|jshell|R|octave|gnuplot|maxima)[\d.]*$/;

/**
 * The words by which a command would run or write something that its name does not say: no rule that merely begins
 * with that name is meant to allow it. Empty for a command that is not known to have any.
 */
export function reachesOf(words: readonly ShellWord[]): Reach[] {
  const program = programOf(words);
  if (program === undefined) return [];
  const special = SPECIAL.get(program);
  if (special !== undefined) return special(words);
  if (INTERPRETER.test(program)) return reachInterpreter(words);
  const table = OPTION_TABLES.get(program);
  const reaches = table === undefined ? [] : optionReaches(words, table);
  return [
    ...reaches,
    ...reachOperands(program, words),
    ...reachesBehind(program, words),
    ...reachScript(program, words),
  ];
}

/** What runs the scripts of a package; true: words behind the script are its own without a `--` before them. */
const SCRIPT_RUNNERS: ReadonlyMap<string, boolean> = new Map([
  ['npm', false],
  ['pnpm', true],
  ['yarn', true],
]);
const RUNS_SCRIPT = /^(?:run|run-script|test|t|tst|start|restart|stop)$/;

/** Options for a script of a package: by some, the programs that are common in scripts run or write other things. */
function reachScript(program: string, words: readonly ShellWord[]): Reach[] {
  const isOpen = SCRIPT_RUNNERS.get(program);
  if (isOpen === undefined) return [];
  const named = words.findIndex(({ head }, at) => at > 0 && !head.startsWith('-'));
  if (named < 0 || !(program === 'yarn' || RUNS_SCRIPT.test(words[named]?.value ?? ''))) return [];
  const dashes = words.findIndex(({ value }) => value === '--');
  const from = isOpen ? named + 1 : dashes + 1;
  if (from === 0) return [];
  return optionReaches(words, { ...SCRIPT_TABLE, isEndless: true }, from);
}

/** What starts the program that is named behind it, a word of its own between them where there is one. */
const STARTERS: ReadonlyMap<string, RegExp | undefined> = new Map([
  ['npx', undefined],
  ['bunx', undefined],
  ['npm', /^(?:exec|x)$/],
  ['pnpm', /^(?:exec|dlx)$/],
  ['yarn', /^(?:exec|dlx|run)$/],
  ['bundle', /^exec$/],
  ['poetry', /^run$/],
  ['pipenv', /^run$/],
  ['uv', /^run$/],
]);

/** The words of the program that is started: a rule that names it names none of its options. */
function reachesBehind(program: string, words: readonly ShellWord[]): Reach[] {
  if (!STARTERS.has(program)) return [];
  const between = STARTERS.get(program);
  const isName = ({ head }: ShellWord) => !head.startsWith('-');
  let at = words.findIndex((word, place) => place > 0 && isName(word));
  if (at > 0 && between !== undefined) {
    if (!between.test(words[at]?.value ?? '')) return [];
    at = words.findIndex((word, place) => place > at && isName(word));
  }
  if (at < 1) return [];
  return reachesOf(words.slice(at)).map((reach) => ({ ...reach, at: reach.at + at }));
}
