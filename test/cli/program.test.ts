import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/program.js';
import { readImportGraph } from '../architecture/import-graph.js';
import { fakeIo } from './fake-io.js';

const troupe = async (...args: string[]) => {
  const io = fakeIo({ cwd: process.cwd() });
  const code = await runProgram({ args, io, version: '1.2.3' });
  return { code, out: io.stdout.text, err: io.stderr.text };
};

const commands = [
  'run',
  'chat',
  'serve',
  'studio',
  'check',
  'models',
  'graph',
  'policy',
  'sessions',
  'replay',
  'init',
  'trust',
  'hooks',
  'doctor',
];

test('the help names every command there is, and no other', async () => {
  const { code, out } = await troupe('--help');
  expect(code).toBe(0);
  const listed = [...out.matchAll(/^ {2}(\w+) (?:\[|<| )/gm)].map(([, name]) => name);
  expect(listed).toEqual([...commands, 'help']);
  expect(out).toContain('Exit codes: 0 completed, 1 failed, 2 bad input or use, 3 a limit was reached');
});

test.each(commands)('%s --help has an example that is a command line of it', async (command) => {
  const { code, out, err } = await troupe(command, '--help');
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(new RegExp(`Example:\n {2}troupe ${command} ?`));
});

test.each([
  [[], 'Usage: troupe'],
  [['dance'], "troupe: unknown command 'dance'; see troupe --help\n"],
  [
    ['graph', 'x.yaml', '--fromat'],
    "troupe: unknown option '--fromat' (Did you mean --format?); see troupe graph --help\n",
  ],
  [['run'], "troupe: missing required argument 'file'; see troupe run --help\n"],
  [['check', 'a', 'b'], 'troupe: too many arguments for '],
  [['graph', 'no-such-file.yaml'], 'troupe: no-such-file.yaml: '],
  [['run', 'no-such-file.yaml', 'go'], 'troupe: no-such-file.yaml: '],
])('bad use %j: exit code 2 and one sentence on stderr', async (args, sentence) => {
  const { code, out, err } = await troupe(...args);
  expect([code, out]).toEqual([2, '']);
  expect(err.startsWith(sentence), err).toBe(true);
  if (args.length > 0) expect(err.trimEnd().split('\n')).toHaveLength(1);
});

test('--version prints the version', async () => {
  expect(await troupe('--version')).toEqual({ code: 0, out: '1.2.3\n', err: '' });
});

test('the help loads neither the commands nor what they need', () => {
  const graph = readImportGraph();
  const loaded = new Set(['src/cli/main.ts']);
  for (const file of loaded)
    for (const { target, kind } of graph.get(file) ?? []) if (kind === 'value') loaded.add(target);
  const own = [...loaded].filter((file) => file.startsWith('src/') || file.startsWith('machines/')).sort();
  expect(own).toEqual([
    'src/cli/command-io.ts',
    'src/cli/exit-codes.ts',
    'src/cli/main.ts',
    'src/cli/plain-text.ts',
    'src/cli/program.ts',
    'src/cli/report-error.ts',
    'src/kernel/errors.ts',
    'src/kernel/visible-text.ts',
  ]);
  expect([...loaded].filter((file) => !own.includes(file) && !file.startsWith('node:'))).toEqual(['commander']);
});
