// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are expansions of the shell.

import { describe, expect, test } from 'vitest';
import { parsedCommands } from '../../../src/policy/shell/judge.js';
import { judgeBy, judgeByRules, outcomeBy } from './shell-cases.js';

const allowed = (line: string, ...prefixes: string[]) => outcomeBy(line, prefixes);

describe('a prefix is whole words of one command', () => {
  test.each([
    ['ls', 'allow'],
    ['ls -la', 'allow'],
    ['lsof', 'ask_user'],
    ['ls-x', 'ask_user'],
    ['lsattr', 'ask_user'],
    ['./ls', 'ask_user'],
    ['../ls', 'ask_user'],
    ['/tmp/x/ls', 'ask_user'],
    ['PATH=p:$PATH ls', 'ask_user'],
    ["l's' -a", 'allow'],
    ['\\ls', 'allow'],
    ['LS', 'ask_user'],
    ['~/ls', 'ask_user'],
    ['$v/ls', 'ask_user'],
    ['"ls -la"', 'ask_user'],
    ['ls; lsof', 'ask_user'],
  ])('ls: %s → %s (B118, B133)', async (line, outcome) => {
    expect(await allowed(line, 'ls')).toBe(outcome);
  });

  test.each([
    ['git status', 'allow'],
    ['git status -s', 'allow'],
    ["git 'status'", 'allow'],
    ['git  \t status', 'allow'],
    ['git', 'ask_user'],
    ['gitx status', 'ask_user'],
    ['git statusx', 'ask_user'],
    ['git -p status', 'ask_user'],
    ['git $v', 'ask_user'],
    ['git {status,push}', 'ask_user'],
    ['git stat*', 'ask_user'],
  ])('git status: %s → %s', async (line, outcome) => {
    expect(await allowed(line, 'git status')).toBe(outcome);
  });

  test('a prefix with a path is that path', async () => {
    expect(await allowed('./run.sh a', './run.sh')).toBe('allow');
    expect(await allowed('run.sh a', './run.sh')).toBe('ask_user');
  });

  test('a prefix may be quoted as in the shell', async () => {
    expect(await allowed("npm run 'build all' -q", 'npm run "build all"')).toBe('allow');
    expect(await allowed('npm run build all', 'npm run "build all"')).toBe('ask_user');
  });
});

describe('every command is judged, wherever it stands (B130)', () => {
  const places = [
    'echo a; X',
    'echo a && X',
    'X || echo a',
    'echo a | X',
    'X |& echo',
    'X & echo a',
    'echo a\nX',
    '(X)',
    '{ X; }',
    '! X',
    'time X',
    'echo $(X)',
    'echo "a $(X) b"',
    'echo `X`',
    'echo "`X`"',
    'echo $(echo $(X))',
    'echo <(X)',
    'echo a > >(X)',
    'cat <<E\n$(X)\nE',
    'cat <<-E\n\t`X`\n\tE',
    'cat <<< "$(X)"',
    'echo ${v:-$(X)}',
    'echo "${v:+$(X)}"',
    'echo ${v/a/$(X)}',
    'echo $((1 + $(X)))',
    'if X; then echo a; fi',
    'if echo a; then X; else echo b; fi',
    'while X; do echo a; done',
    'until echo a; do X; done',
    'for i in $(X); do echo a; done',
    'for i in 1 2; do X; done',
    'case $(X) in *) echo a;; esac',
    'case a in a) X;; esac',
    'case a in $(X)) echo a;; esac',
    'f() { X; }; echo a',
    'function f { X; }',
    'coproc X',
    'coproc n { X; }',
    '[[ -n $(X) ]]; echo a',
    'echo {$(X),b}',
    'echo [$(X)]',
    'echo $[ $(X) ]',
  ];
  test.each(places)('%s', async (place) => {
    const line = place.replaceAll('X', 'touch m');
    expect(await allowed(line, 'echo', 'cat')).toBe('ask_user');
    const denied = await judgeByRules(line, [
      { toolName: 'run_shell_command', decision: 'allow' },
      { toolName: 'run_shell_command', decision: 'deny', commandPrefix: 'touch', priority: 1 },
    ]);
    expect(denied).toEqual({ outcome: 'deny', rule: 'p[1]', reason: '"touch m" is denied by p[1]' });
  });

  test.each(places.filter((place) => !/\$\(\(|\$\[|>/.test(place)))('%s: allowed when all of it is', async (place) => {
    expect(await allowed(place.replaceAll('X', 'touch m'), 'echo', 'cat', 'touch')).toBe('allow');
  });

  test.each([
    "echo '$(touch m)'",
    'echo "\\$(touch m)"',
    'echo \\`touch m\\`',
    "cat <<'E'\n$(touch m)\nE",
    'cat <<\\E\n`touch m`\nE',
    'cat <<E\n\\$(touch m)\nE',
    'echo hi # ; touch m',
    'echo "a;touch m"',
    'echo a\\;touch m',
    "echo $'a\\';touch m'",
  ])('%s runs only what it seems to run', async (line) => {
    expect(await allowed(line, 'echo', 'cat')).toBe('allow');
  });

  test('line breaks and comments within quotes part nothing, elsewhere they do (B138)', () => {
    expect(parsedCommands('python -c "\n# c\nprint(1)\n"')).toHaveLength(1);
    expect(parsedCommands('echo a#b; touch M')).toEqual(['echo a#b', 'touch M']);
    expect(parsedCommands('echo hi # ; touch M')).toEqual(['echo hi']);
  });

  test('the parts of a substitution are told in plain words (B140)', async () => {
    const line = 'echo "$(ls | head; date)"';
    expect(parsedCommands(line)).toEqual([line, 'ls', 'head', 'date']);
    expect(await judgeBy(line, ['echo', 'ls', 'head', 'date'])).toMatchObject({
      outcome: 'allow',
      commands: [line, 'ls', 'head', 'date'],
    });
    expect(await allowed(line, 'echo', 'ls', 'date')).toBe('ask_user');
  });
});

describe('what starts other commands', () => {
  const passing = [
    'timeout 5 X',
    'timeout -k 1 -s TERM 5 X',
    'timeout --signal=TERM 5s X',
    'nice X',
    'nice -n 5 X',
    'nice -5 X',
    'nohup X',
    'command X',
    'command -p X',
    'builtin X',
    'exec X',
    'env X',
    'env -i X',
    "env -S 'X'",
    'stdbuf -oL X',
    "bash -c 'X'",
    "bash -lc 'X'",
    "sh -c 'X'",
    "eval 'X'",
    'eval X',
    'xargs X',
    'xargs -n 1 -I{} X {}',
    "timeout 5 nice bash -c 'X'",
    'bash -c \'bash -c "X"\'',
    'nohup timeout 5 env X',
  ];
  test.each(passing)('%s is judged as what it starts (B135)', async (form) => {
    const line = form.replaceAll('X', 'touch m');
    expect(await allowed(line, 'touch')).toBe('allow');
    expect(
      await allowed(line, 'timeout', 'nice', 'nohup', 'command', 'exec', 'env', 'bash', 'sh', 'eval', 'xargs'),
    ).toBe('ask_user');
    const denied = await judgeByRules(line, [
      { toolName: 'run_shell_command', decision: 'allow' },
      { toolName: 'run_shell_command', decision: 'deny', commandPrefix: 'touch', priority: 1 },
    ]);
    expect(denied.outcome).toBe('deny');
  });

  test.each([
    ['sudo X', 'sudo'],
    ['sudo -u root X', 'sudo'],
    ['doas X', 'doas'],
    ['setsid -w X', 'setsid'],
    ['chroot /r X', 'chroot'],
    ['busybox X', 'busybox'],
    ['strace -f X', 'strace'],
  ])('%s does more than to start it: both are judged', async (form, starter) => {
    const line = form.replaceAll('X', 'touch m');
    expect(await allowed(line, 'touch')).toBe('ask_user');
    expect(await allowed(line, starter)).toBe('ask_user');
    expect(await allowed(line, starter, 'touch')).toBe('allow');
  });

  test('a rule about what passes on is heard when it is strict', async () => {
    const rules = [
      { toolName: 'run_shell_command', decision: 'allow', commandPrefix: 'touch' },
      { toolName: 'run_shell_command', decision: 'deny', commandPrefix: 'timeout' },
    ] as const;
    expect(await judgeByRules('timeout 5 touch m', rules)).toMatchObject({ outcome: 'deny', rule: 'p[1]' });
    expect(await judgeByRules('nice touch m', rules)).toMatchObject({ outcome: 'allow' });
  });

  test('a program of that name from elsewhere is not taken for it', async () => {
    expect(await allowed('./env touch m', 'touch')).toBe('ask_user');
    expect(await allowed('./timeout 5 touch m', 'touch')).toBe('ask_user');
  });
});

describe('what cannot be known is never allowed by a rule about commands, and asks (B141)', () => {
  test.each([
    '$v m',
    '"$v" m',
    '$(echo touch) m',
    '`echo touch` m',
    'tou* m',
    '{touch,m}',
    'eval "$v"',
    'eval touch $v',
    'eval $(echo touch)',
    'runuser -u x -- touch m',
    'pkexec touch m',
    'unshare -r touch m',
    'nsenter -t 1 touch m',
    'systemd-run touch m',
    'numactl -l touch m',
    'entr touch m',
    "at now <<< 'touch m'",
    '. ./s',
    'source s',
    'bash s.sh',
    'bash',
    'bash -s',
    'bash <<< "touch m"',
    'sh script',
    'zsh -c "touch m"',
    "trap 'touch m' EXIT",
    'bash -c "$v"',
    'bash -c',
    'env $v touch',
    'xargs -I% % m',
    'find . -exec {} \\;',
    'timeout $t touch m',
    'touch m; }',
    'touch "m',
    'touch $(m',
    'if touch m; then',
    'touch m ;; touch',
    'for PATH in p; do touch m; done',
    'read PATH; touch m',
    'printf -v PATH p; touch m',
    'shopt -s expand_aliases; touch m',
    'alias touch=x; touch m',
    'hash -p x touch; touch m',
    'enable -n echo; touch m',
    'set -a; touch m',
    'touch ${v@P}',
    'touch ${!v}',
    'touch $((v[i]))',
    "for v in 'a[$(x)]'; do touch $((v)); done",
    "f() { touch $(($1)); }; f 'a[$(x)]'",
    'read i; touch ${v[$i]}',
    'read v; [[ $v -eq 1 ]] && touch m',
    'read v; touch ${w:v}',
    'read v; ((v))',
    'touch !(m)',
    "sh -c '((touch m))'",
    'sh -c "touch \\$\'a\'"',
    'touch $\\\n(m)',
    'touch m\0',
    'read v; find . $v',
  ])('%s', async (line) => {
    const every = [
      'touch',
      'eval',
      '.',
      'source',
      'bash',
      'sh',
      'zsh',
      'trap',
      'env',
      'xargs',
      'find',
      'timeout',
      'read',
    ];
    const more = ['printf', 'shopt', 'alias', 'hash', 'enable', 'set', 'f', 'echo', '['];
    const starters = ['runuser', 'pkexec', 'unshare', 'nsenter', 'systemd-run', 'numactl', 'entr', 'at'];
    expect(await allowed(line, ...every, ...more, ...starters)).toBe('ask_user');
  });

  test('but a rule for the whole tool allows it', async () => {
    expect(await judgeByRules('bash s.sh', [{ toolName: 'run_shell_command', decision: 'allow' }])).toMatchObject({
      outcome: 'allow',
    });
  });

  test('where a stricter rule may be about it, it asks whatever allows it', async () => {
    const rules = [
      { toolName: 'run_shell_command', decision: 'allow' },
      { toolName: 'run_shell_command', decision: 'deny', commandPrefix: 'rm', priority: 1 },
    ] as const;
    for (const line of ['$v x', 'eval "$v"', 'bash s.sh', '. ./s', 'ls "']) {
      expect(await judgeByRules(line, rules), line).toMatchObject({ outcome: 'ask_user', rule: 'p[1]' });
      expect((await judgeByRules(line, rules.slice(1), 'autonomous')).outcome, line).toBe('ask_user');
    }
    expect(await judgeByRules('ls $v', rules)).toMatchObject({ outcome: 'allow' });
    expect(await judgeByRules('rm $v', rules)).toMatchObject({ outcome: 'deny' });
  });

  test('the reason is told to who is asked, without a word of the parser', async () => {
    const decision = await judgeBy('echo a; $v b', ['echo']);
    expect(decision).toMatchObject({ hint: '"$v b": which command it is is known only when it runs' });
  });
});

describe('a deny is met by other ways to write the same', () => {
  const deny = (commandPrefix: string) => [
    { toolName: 'run_shell_command', decision: 'allow' } as const,
    { toolName: 'run_shell_command', decision: 'deny', commandPrefix, priority: 1 } as const,
  ];
  test.each([
    ['git branch -d ', 'git branch -d x', 'deny'],
    ['git branch -d ', 'git branch -D x', 'allow'],
    ['git branch -d ', 'git branch -v -d x', 'ask_user'],
    ['git push', 'git -C dir push', 'deny'],
    ['git push', 'git -c a=b push', 'deny'],
    ['git push', 'git --no-pager push -f', 'deny'],
    ['git push', 'git -C push status', 'allow'],
    ['git push', 'git commit -m push', 'allow'],
    ['git push', 'git $v', 'ask_user'],
    ['git push', 'git pu$v', 'ask_user'],
    ['git push', 'git st$v', 'ask_user'],
    ['docker rm', 'docker -H x rm y', 'ask_user'],
    ['rm', '/bin/rm x', 'deny'],
    ['rm', './rm x', 'deny'],
    ['/bin/rm', 'rm x', 'allow'],
    ['rm', 'r\\m x', 'deny'],
    ['rm', 'rmdir x', 'allow'],
    ['rm', 'echo rm', 'allow'],
    ['rm', 'X=1 rm x', 'deny'],
    ['rm', '> f rm x', 'deny'],
    ['rm', 'find . -exec rm {} +', 'deny'],
    ['rm', 'find . | xargs rm', 'deny'],
    ['rm', "python -c 'import os'", 'ask_user'],
    ['rm', 'python script.py', 'allow'],
  ])('deny %s: %s → %s (B115)', async (prefix, line, outcome) => {
    const rules = deny(prefix).map((rule) => ({ ...rule, allowRedirection: true, allowEnv: ['X'] }));
    expect((await judgeByRules(line, rules)).outcome).toBe(outcome);
  });
});
