// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expansions of the shell.

import { STUBS } from './recording-bash.js';

const WORDS = [
  ...[
    'x',
    '-o',
    "'a b'",
    '"a b"',
    '\\;',
    '*',
    '{a,b}',
    '~',
    '$v',
    '"$v"',
    '${v:-d}',
    "$'a\\x62'",
    "'$(s1)'",
    '"\\$(s2)"',
  ],
  ...[
    '\\`s3\\`',
    '#x',
    'a#b',
    '$((1+2))',
    '"#"',
    "''",
    'x=1',
    '!',
    '[',
    '${#v}',
    '$#',
    '$"t"',
    '"$@"',
    'a\\\nb',
    '-$v',
  ],
];
const REDIRECTIONS = ['> f', '2>&1', '>> f', '&> f', '< /dev/null', '2> /dev/null', '>| f', '3<> f', '1>&2', '{n}> f'];
const BETWEEN = [' ; ', ' && ', ' || ', ' | ', ' |& ', ' & ', '\n', ' # c\n', ' \\\n&& ', '\n\n', ';'];

export type Random = () => number;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A command line of any shape, of which only stubs are run. */
export function commandLine(random: Random, starters: readonly string[], fuel = 3): string {
  const stub = () => pick(random, STUBS);
  const line = () => commandLine(random, starters, fuel - 1);

  const word = (): string => {
    if (fuel === 0 || random() < 0.6) return pick(random, WORDS);
    return pick<() => string>(random, [
      () => `$(${line()})`,
      () => `"a$(${line()})b"`,
      () => `"$(${line()} "x")"`,
      () => `\`${stub()} y\``,
      () => `"\`${stub()} \\"z\\"\`"`,
      () => `\`${stub()} \\\`${stub()}\\\`\``,
      () => `\${v:-$(${line()})}`,
      () => `"\${v:+x}\${w:-"$(${line()})"}"`,
      () => `<(${line()})`,
      () => `$(( 1 + $(${line()}; echo 1) ))`,
      () => `{$(${line()}),b}`,
    ])();
  };
  const redirection = (): string => {
    if (random() < 0.6) return '';
    if (fuel === 0 || random() < 0.6) return pick(random, REDIRECTIONS);
    return pick<() => string>(random, [
      () => `<<< ${word()}`,
      () => `> >(${line()})`,
      () => `<<E\na $(${line()}) \\$(s1)\nE\n`,
      () => `<<'E'\na $(${line()})\nE\n`,
      () => `<<-E\n\ta \`${stub()}\`\n\tE\n`,
    ])();
  };
  const simple = (): string => {
    const set = pick(random, ['', '', '', '', 'v=1 ', 'v=$(s4) ', 'v+=x ', 'v=(a $(s1)) ']);
    const words = Array.from({ length: Math.floor(random() * 3) }, word);
    return [set + stub(), ...words, redirection()].join(' ');
  };
  const started = (name: string, make: () => string) => (starters.includes(name) ? [make] : []);
  const compound = (): string =>
    pick<() => string>(random, [
      () => `(${line()}\n)`,
      () => `{ ${line()}\n}`,
      () => `{ ${line()}\n} > f`,
      () => `if ${line()}\nthen ${line()}\nelse ${line()}\nfi`,
      () => `for v in ${word()} b; do ${line()}\ndone`,
      () => `for ((i=0;i<2;i++)); do ${line()}\ndone`,
      () => `while ${line()}\ndo ${line()}\nbreak; done`,
      () => `case ${word()} in (x) s1;; *) ${line()}\n;& esac`,
      () => `f() { ${line()}\n}; f`,
      () => `function g { ${line()}\n}; g`,
      () => `! ${simple()}`,
      () => `time ${simple()}`,
      () => `coproc { ${line()}\n}; wait`,
      () => `eval ${quoted(line())}`,
      () => `bash -c ${quoted(line())}`,
      () => `command ${simple()}`,
      () => `builtin eval ${quoted(simple())}`,
      () => `(exec ${simple()}\n)`,
      () => `[[ -n $(${line()}) && x == x ]]`,
      () => `v=$(${line()})`,
      () => `printf '%s' "$(${line()})"`,
      ...started('sh', () => `sh -c ${quoted(simple())}`),
      ...started('env', () => `env A=1 ${simple()}`),
      ...started('env', () => `env -S '${stub()} x y' z`),
      ...started('timeout', () => `timeout 5 ${simple()}`),
      ...started('timeout', () => `timeout -k 1 -s TERM 5 ${simple()}`),
      ...started('nice', () => `nice -n 1 ${simple()}`),
      ...started('nohup', () => `nohup ${simple()}`),
      ...started('setsid', () => `setsid -w ${simple()}`),
      ...started('stdbuf', () => `stdbuf -o0 ${simple()}`),
      ...started('xargs', () => `printf 'p q\\n' | xargs ${stub()} -x`),
      ...started('xargs', () => `printf 'p q\\n' | xargs -I{} -n1 ${stub()} a{}b {}`),
      ...started('xargs', () => `printf 'p q\\n' | xargs -n 1 sh -c ${quoted(`${stub()} "$@"`)} _`),
      ...started('find', () => `find . -maxdepth 0 -exec ${stub()} {} x \\; -exec ${stub()} y{} \\;`),
      ...started('find', () => `find . -maxdepth 0 -name '-exec' -o -execdir ${stub()} {} +`),
    ])();

  const count = 1 + Math.floor(random() * 3);
  const commands = Array.from({ length: count }, () => (fuel === 0 || random() < 0.5 ? simple() : compound()));
  return commands.reduce((text, command) => text + pick(random, BETWEEN) + command);
}

const PUT = [
  ...[
    ...'\'"\\`$(){}[];&|<>#\n \t*?!~=,-:^%',
    '',
    '$(',
    '<<',
    '\\\n',
    '\r',
    '\u00a0',
    '$((',
    '[[',
    "$'",
    '${',
    '${v:-',
    '"$(rm M)"',
  ],
  ...["'$(rm M)'", '$(rm M)', '`rm M`', '; rm M'],
];

/** A generated line, or one of `lines`, with a few characters put in, taken out or put in place of others. */
export function spoiltLine(random: Random, starters: readonly string[], lines?: readonly string[]): string {
  let line = lines === undefined ? commandLine(random, starters, 2) : pick(random, lines);
  for (let change = Math.floor(random() * 3); change >= 0; change--) {
    const at = Math.floor(random() * line.length);
    line = line.slice(0, at) + pick(random, PUT) + line.slice(at + Math.floor(random() * 3));
  }
  return line;
}
