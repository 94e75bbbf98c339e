import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { createPolicyEngine } from '../../../src/policy/engine.js';
import { fc } from '../../support/fast-check.js';
import '../../support/process-limit.js';

const engine = createPolicyEngine([
  { rules: [{ toolName: 'run_shell_command', decision: 'allow', commandRegex: '.*', allowRedirection: true }] },
]);
const outcomeOf = async (command: string) =>
  (await engine.evaluate({ action: 'run_shell_command', args: { command }, context: { mode: 'default' } })).outcome;

test.each([
  'ls (',
  'ls(',
  'ls (ls',
  'ls | cat (',
  'ls )',
  'ls "',
  "ls '",
  'ls `',
  'ls $(',
  'ls &&',
  '| ls',
  'ls <',
  "ls <<E'",
  'ls ${ ls',
  'if ls',
  'for',
  'case x',
  '{ ls',
  'ls; }',
  'ls; fi',
  'ls <(',
])('%s is no command line, and no rule allows it (B135)', async (line) => {
  expect(await outcomeOf(line)).toBe('ask_user');
});

const pieces =
  'ls a ( ) { } ; & && | || " \' ` $( < > << <<E if then fi for do done case esac in ! [[ ]] (( )) x=1 \\ # <( $ ${ E >& function';
const line = fc
  .array(fc.tuple(fc.constantFrom(...pieces.split(' '), '\n'), fc.constantFrom('', ' ')), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => parts.flat().join(''));

test('whatever bash itself cannot read is asked about, though every command were allowed', async () => {
  await fc.assert(
    fc.asyncProperty(line, async (text) => {
      if ((await outcomeOf(text)) !== 'allow') return;
      const { status, stderr } = spawnSync('bash', ['--noprofile', '--norc', '-n', '-c', text], { encoding: 'utf8' });
      expect(`${status} ${stderr}`).not.toMatch(/syntax error|unexpected/);
    }),
    { seed: 20, numRuns: 1_500 },
  );
});
