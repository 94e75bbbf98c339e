import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHost, type PolicyFileOptions, policyFromToml, type TroupeError } from '../../src/index.js';
import { createPolicyEngine } from '../../src/policy/engine.js';

/** What is wrong with a file, `place: message`. */
function faultsOf(text: string, options: PolicyFileOptions = {}): string[] {
  try {
    policyFromToml(text, { file: 'p.toml', ...options });
  } catch (thrown) {
    const { code, problems } = thrown as TroupeError;
    expect(code).toBe('POLICY_INVALID');
    return problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

test('every key of a rule is read, and its line is kept', () => {
  const set = policyFromToml(
    `\ufeff# mine
[[rules]]
toolName = ["run_shell_command", "mcp_hub_*"]
decision = "allow"
priority = 10
argsPattern = '"path":"docs/'
modes = ["default", "plan", "acceptEdits"]
annotations = ["read-only"]
principal = "lead/reviewer"
allowRedirection = false
allowEnv = ["CI"]
sandbox = true
grant = true
allowMessage = "fine"
context.executor = "adk"

[[rules]]
toolName = "run_shell_command"
commandPrefix = "git status"
decision = "ask_user"
`,
    { tier: 'admin', file: 'p.toml' },
  );
  expect(set).toMatchObject({ tier: 'admin', file: 'p.toml', lines: [2, 17] });
  expect(set.rules[0]).toMatchObject({ priority: 10, context: { executor: 'adk' }, annotations: ['read-only'] });
  expect(() => createPolicyEngine([set])).not.toThrow();
});

test('every fault is told at once, with file, line, rule and key, and no rule of the file counts (B116)', () => {
  const text = `[[rules]]
toolName = "write_file"
decision = "deny"

[[rules]]
toolName = "raed_file"
decision = "alow"
prioritty = 1

[[rules]]
toolName = "run_shell_command"
decision = "allow"
priority = "high"
commandPrefix = "git"
commandRegex = "(a+)+$"
modes = ["planning"]

[other]
x = 1
`;
  expect(faultsOf(text)).toEqual([
    expect.stringMatching(/^p\.toml:18:other: unknown key/),
    expect.stringMatching(/^p\.toml:8:rules\[1\]\.prioritty: unknown key \(did you mean "priority"\?\)/),
    expect.stringMatching(/^p\.toml:7:rules\[1\]\.decision: .*did you mean "allow"/),
    expect.stringMatching(
      /^p\.toml:6:rules\[1\]\.toolName: no tool "raed_file" is known \(did you mean "read_file"\?\)/,
    ),
    expect.stringMatching(/^p\.toml:13:rules\[2\]\.priority: must be a whole number/),
    expect.stringMatching(/^p\.toml:16:rules\[2\]\.modes: no permission mode "planning"/),
    expect.stringMatching(/^p\.toml:15:rules\[2\]\.commandRegex: cannot stand beside commandPrefix/),
    expect.stringMatching(/^p\.toml:15:rules\[2\]\.commandRegex: a repetition in it/),
  ]);
});

test.each([
  ['[[rules]\n', /^p\.toml:1: is no TOML at column \d+/],
  ['rules = 1\n', /^p\.toml:1:rules: must be a list/],
  ['[rules]\na = 1\n', /must be a list/],
  ['[[rules]]\n', /toolName: must be a tool name/],
  [`x = ${'['.repeat(60)}`, /is no TOML/],
  ['\u0000', /is no TOML/],
])('%j is no policy', (text, fault) => {
  expect(faultsOf(text).join('\n')).toMatch(fault);
});

test.each(['(a+)+$', '(a|a)*b', '(.*a){20}', '([a-z]+)*!', '(?=a)', '(a)\\1', '[', ''])(
  'the pattern %s is refused where it is loaded',
  (pattern) => {
    const rule = (key: string) => `[[rules]]\ntoolName = "x"\ndecision = "deny"\n${key} = '${pattern}'\n`;
    expect(faultsOf(rule('argsPattern'))).toHaveLength(1);
    expect(faultsOf(rule('commandRegex'))).not.toEqual([]);
  },
);

test('an extension may deny and ask, and neither allow nor grant nor speak of the autonomous mode', () => {
  const rule = (more: string) => `[[rules]]\ntoolName = "x"\n${more}\n`;
  const extension = { tier: 'extension' } as const;
  expect(faultsOf(rule('decision = "deny"'), extension)).toEqual([]);
  expect(faultsOf(rule('decision = "ask_user"'), extension)).toEqual([]);
  expect(faultsOf(rule('decision = "allow"'), extension)).toHaveLength(1);
  expect(faultsOf(rule('decision = "allow"\ngrant = true\nprincipal = "a"'), extension)).toHaveLength(2);
  for (const mode of ['autonomous', 'yolo', 'bypassPermissions']) {
    expect(faultsOf(rule(`decision = "deny"\nmodes = ["${mode}"]`), extension)).toHaveLength(1);
  }
});

test('a file that is pinned is the one that was pinned', () => {
  const text = '[[rules]]\ntoolName = "x"\ndecision = "deny"\n';
  const sha256 = createHash('sha256').update(text).digest('hex');
  expect(faultsOf(text, { sha256 })).toEqual([]);
  expect(faultsOf(text, { sha256: `sha256:${sha256.toUpperCase()}` })).toEqual([]);
  expect(faultsOf(`${text}\n`, { sha256 })).toEqual([expect.stringContaining('is not the file that is pinned')]);
  expect(faultsOf(text, { sha256: 'abc' })).toEqual([expect.stringContaining('no SHA-256')]);
});

test('a name that is near to a tool of one’s own is no slip', () => {
  const text = '[[rules]]\ntoolName = "write_files"\ndecision = "deny"\n';
  expect(faultsOf(text)).toEqual([expect.stringContaining('did you mean "write_file"')]);
  expect(faultsOf(text, { tools: ['write_files'] })).toEqual([]);
});

test('a file with one fault stops the start of the host: none of its rules is half-loaded', () => {
  const good = policyFromToml('[[rules]]\ntoolName = "x"\ndecision = "deny"\n');
  const bad = { ...good, rules: [...good.rules, { toolName: 'y', decision: 'alow' as never }] };
  expect(() => createHost({ policy: [good] })).not.toThrow();
  expect(() => createHost({ policy: [good, bad] })).toThrow(/rules\[1\]\.decision/);
});

test.each([
  '-exec rm {} ;',
  '-exec rm {} +',
  '-execdir ls ;',
  '-ok rm {} ;',
  '-okdir rm {} ;',
  '-delete',
  '-fls out',
  '-fprint out',
  '-fprint0 out',
  '-fprintf out %p',
])('a rule for find does not cover find . %s; a name in quotes that looks like it is one (B131)', async (rest) => {
  const engine = createPolicyEngine([
    { rules: [{ toolName: 'run_shell_command', decision: 'allow', commandPrefix: 'find' }] },
  ]);
  const outcomeOf = async (command: string) =>
    (await engine.evaluate({ action: 'run_shell_command', args: { command }, context: { mode: 'default' } })).outcome;
  expect(await outcomeOf(`find . ${rest.replaceAll(';', '\\;').replaceAll('{}', '{}')}`)).toBe('ask_user');
  expect(await outcomeOf('find . -name x')).toBe('allow');
  expect(await outcomeOf(`find . -name '${rest.split(' ')[0]}'`)).toBe('allow');
});
