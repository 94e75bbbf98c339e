import { programOf, type ShellWord } from './command.js';
import { mayBeOption, type Reach } from './reach-options.js';

const HARMLESS = /^(?:-[wv]|--version|--help|-h|--check|--no-warnings|--enable-source-maps|--test|--watch)$/;
/** Of Python, letters without a value; `W` takes the rest of its word, or the next one. */
const PYTHON = /^(?:python|pypy)[\d.]*$/;
const PYTHON_FLAGS = /^-[uBOEsSIVqvbdR]+$/;
const PYTHON_WARNS = /^-[uBOEsSIVqvbdR]*W/;
/** The next word is its value. */
const VALUED = /^(?:-[XWIrC]|--(?:require|import|loader|experimental-loader|conditions|env-file|title))$/;
const GIVES_CODE = new Set(['deno eval', 'deno repl', 'deno x', 'bun x', 'bun exec', 'bun repl']);
/** Programs that are given no code by their words, as little as a script is. */
const PLAIN_MODULES = new Set(
  'pytest unittest venv virtualenv pip ensurepip http.server json.tool mypy black ruff flake8 pylint isort build compileall'.split(
    ' ',
  ),
);

/**
 * Code that an interpreter is given by an option or as its input; options stand before the script, what stands behind
 * it is the script's own. Without a script it takes its input for one.
 */
export function reachInterpreter(words: readonly ShellWord[]): Reach[] {
  const reaches: Reach[] = [];
  const isPython = PYTHON.test(programOf(words) ?? '');
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as ShellWord;
    const { value, head, text } = word;
    if (mayBeOption(word)) return [...reaches, { at, option: text, maybe: true }];
    if (value === '--test') return reaches;
    if (value === '--version' || value === '--help' || value === '-V') return reaches;
    if (value === '-' || head.startsWith('/dev/') || head.startsWith('/proc/'))
      return [...reaches, { at, option: text }];
    if (GIVES_CODE.has(`${programOf(words)} ${value}`)) return [...reaches, { at, option: text }];
    if (!head.startsWith('-')) return reaches;
    if (isPython && PYTHON_FLAGS.test(value ?? '')) continue;
    if (isPython && value !== undefined && PYTHON_WARNS.test(value)) {
      if (value.endsWith('W')) at++;
      continue;
    }
    if (!HARMLESS.test(value ?? '')) {
      const module = value === '-m' ? words[at + 1]?.value : undefined;
      const isPlain = module !== undefined && PLAIN_MODULES.has(module);
      reaches.push({ at, option: head.split('=', 1)[0] as string, ...(isPlain && { startsNothing: true }) });
      if (isPlain) return reaches;
      if (value !== undefined && VALUED.test(value)) at++;
    }
  }
  return [...reaches, { at: words.length, option: 'its input' }];
}
