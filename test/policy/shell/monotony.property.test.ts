import { expect, test } from 'vitest';
import { DECISIONS, type PolicyRule } from '../../../src/kernel/policy-rules.js';
import { parseCommands } from '../../../src/policy/shell/parse.js';
import { isAbout } from '../../../src/policy/shell/prefix.js';
import { fc } from '../../support/fast-check.js';
import { adversaryLines } from './adversary-lines.js';
import { givenLines } from './given-lines.js';
import { plainLines, reachingLines } from './reaching-lines.js';
import { judgeByRules } from './shell-cases.js';

const line = fc.constantFrom(...givenLines, ...adversaryLines, ...reachingLines, ...plainLines);
const mode = fc.constantFrom('default', 'auto_edit', 'autonomous', 'plan', 'dont_ask');
const prefix = fc.constantFrom(
  'rm',
  'touch',
  'ls',
  'git',
  'git -c',
  'git push',
  'env',
  'bash',
  'ssh',
  'tar',
  'python -c',
  'find',
);
const condition = fc.oneof(
  fc.constant({}),
  prefix.map((commandPrefix) => ({ commandPrefix })),
  prefix.map((commandRegex) => ({ commandRegex })),
);
const rule: fc.Arbitrary<PolicyRule> = fc
  .tuple(fc.constantFrom(...DECISIONS), fc.nat({ max: 3 }), fc.boolean(), condition)
  .map(([decision, priority, allowRedirection, more]) => ({
    toolName: 'run_shell_command',
    decision,
    priority,
    allowRedirection,
    ...more,
  }));
const rules = fc.array(rule, { maxLength: 4 });
const strictness = async (...asked: Parameters<typeof judgeByRules>) =>
  DECISIONS.indexOf((await judgeByRules(...asked)).outcome);

test('adding a rule that denies or asks never makes what is said of a command line milder', async () => {
  await fc.assert(
    fc.asyncProperty(
      line,
      rules,
      rule,
      fc.constantFrom('deny', 'ask_user'),
      mode,
      async (text, before, more, decision, at) => {
        const was = await strictness(text, before, at);
        const added = { ...more, decision } as const;
        // An ask takes the place of a deny where it ranks higher: only among those that allow is it stricter.
        if (decision === 'ask_user' && was === 2) return;
        expect(await strictness(text, [...before, added], at)).toBeGreaterThanOrEqual(was);
      },
    ),
    { numRuns: 600, seed: 5 },
  );
});

test('a line of which one command is denied by the highest rule is denied, whatever wraps the command', async () => {
  await fc.assert(
    fc.asyncProperty(line, rules, prefix, mode, async (text, before, denied, at) => {
      const words = denied.split(' ');
      const isNamed = parseCommands(text).some((command) => isAbout(command.words, words) === true);
      const deny: PolicyRule = {
        toolName: 'run_shell_command',
        decision: 'deny',
        commandPrefix: denied,
        priority: 999,
      };
      const said = await judgeByRules(text, [...before, deny], at);
      if (isNamed) expect(said.outcome).toBe('deny');
    }),
    { numRuns: 600, seed: 6 },
  );
});

test('what a command that passes on starts is judged like the command alone', async () => {
  const wrappers = [
    'env X',
    'timeout 5 X',
    'nice X',
    'nohup X',
    'command X',
    "bash -c 'X'",
    'time X',
    '! X',
    '(X)',
    '{ X; }',
  ];
  const inner = fc.constantFrom('rm x', 'ls -l', 'git push', 'git status', 'touch m');
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...wrappers), inner, rules, mode, async (wrapper, command, given, at) => {
      const about = given.filter(({ commandPrefix, commandRegex }) => {
        const said = commandPrefix ?? commandRegex ?? '';
        return said !== 'env' && said !== 'bash';
      });
      const wrapped = wrapper.replace('X', command);
      // A pattern may be about the text of the wrapper as well: it is stricter then, never milder.
      expect(await strictness(wrapped, about, at)).toBeGreaterThanOrEqual(await strictness(command, about, at));
    }),
    { numRuns: 400, seed: 7 },
  );
});
