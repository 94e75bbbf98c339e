import { expect, test } from 'vitest';
import type { PolicyRequest } from '../../src/contracts/index.js';
import { createPolicyEngine } from '../../src/policy/engine.js';

const shell = (command: string): PolicyRequest => ({
  action: 'run_shell_command',
  args: { command },
  context: { mode: 'default', annotations: { category: 'execute' } },
});

/** What "always" would save of a command line, in short. */
async function saved(command: string, rules: Parameters<typeof createPolicyEngine>[0] = []) {
  const offered = await createPolicyEngine(rules).alwaysRules(shell(command));
  return offered?.map(({ commandPrefix, commandRegex }) => commandPrefix ?? `/${commandRegex}/`);
}

test.each([
  ['git status', ['git status']],
  ['npm test', ['npm test']],
  ['npm run build && npm test', ['npm run build', 'npm test']],
  ['npm test; npm test', ['npm test']],
  ['ls -la | wc -l', ['ls -la', 'wc -l']],
])('of %s a rule by prefix is kept for each command', async (command, prefixes) => {
  expect(await saved(command)).toEqual(prefixes);
});

test.each([
  'env git status',
  'timeout 5 git status',
  'nice -n 5 git status',
  'nohup git status',
  'command git status',
  "bash -c 'git status'",
])('of %s only the inner command may be kept (B136)', async (command) => {
  const prefixes = await saved(command);
  expect(prefixes === undefined || prefixes.every((prefix) => prefix === 'git status')).toBe(true);
  if (command.startsWith('env')) expect(prefixes).toEqual(['git status']);
});

test.each([
  'sudo ls',
  'xargs ls',
  'find . -exec ls {} +',
  '. ./x.sh',
  'bash x.sh',
  "trap 'ls' EXIT",
  '$X y',
  'echo $X',
  'echo *',
  'X=1 npm test',
  'env X=1 npm test',
  'echo hi > out',
  'ls (',
  '',
  'f() { cat $1; }; f x',
  'cat <(ls)',
])('of %s nothing is kept', async (command) => {
  expect(await saved(command)).toBeUndefined();
});

test.each([
  ['rm -rf build', 'rm -rf build src'],
  ['git push', 'git push --force'],
  ['cat a.txt', 'cat a.txt /etc/shadow'],
  ['find . -delete', 'find . -delete -o -name x'],
  ['npm publish', 'npm publish --tag x'],
  ['cat', 'cat /etc/shadow'],
  ['make', 'make deploy'],
  ['make test', 'make test deploy'],
])('of %s the very same is kept, and %s is none of it', async (command, more) => {
  const engine = createPolicyEngine([]);
  const rules = (await engine.alwaysRules(shell(command))) ?? [];
  expect(rules).toMatchObject([{ commandRegex: expect.any(String) }]);
  engine.add({ rules });
  expect((await engine.evaluate(shell(command))).outcome).toBe('allow');
  expect((await engine.evaluate(shell(more))).outcome).toBe('ask_user');
});

test('what is allowed already needs no rule', async () => {
  const rules = [{ toolName: 'run_shell_command', decision: 'allow' as const, commandPrefix: 'git' }];
  expect(await saved('git status && npm test', [{ rules }])).toEqual(['npm test']);
  expect(await saved('git status', [{ rules }])).toBeUndefined();
});

test('of another tool exactly these arguments are kept', async () => {
  const engine = createPolicyEngine([]);
  const call = (args: unknown): PolicyRequest => ({ action: 'save', args, context: { mode: 'default' } });
  const rules = (await engine.alwaysRules(call({ path: 'a.*', n: 1 }))) ?? [];
  expect(rules).toMatchObject([{ toolName: 'save', always: true, argsPattern: '^\\{"n":1,"path":"a\\.\\*"\\}$' }]);
  engine.add({ rules });
  const outcomes = [
    { n: 1, path: 'a.*' },
    { n: 1, path: 'a.b' },
    { n: 1, path: 'a.*', x: 1 },
  ].map((args) => engine.evaluate(call(args)) as { outcome: string });
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['allow', 'ask_user', 'ask_user']);
  expect(await engine.alwaysRules(call({ text: 'x'.repeat(2_000) }))).toBeUndefined();
});

test('a tool of a server is kept with its server', async () => {
  const request = { action: 'mcp_hub_x', args: {}, context: { mode: 'default', mcpName: 'hub' } };
  expect(await createPolicyEngine([]).alwaysRules(request)).toMatchObject([{ toolName: 'mcp_hub_x', mcpName: 'hub' }]);
});

test('a kept rule stands at 3.95: above the workspace, below a rule of the user', async () => {
  const request: PolicyRequest = { action: 'save', args: {}, context: { mode: 'default' } };
  const outcomeUnder = async (tier: 'workspace' | 'user' | 'admin') => {
    const engine = createPolicyEngine([{ rules: [{ toolName: 'save', decision: 'ask_user', priority: 0 }], tier }]);
    engine.add({ rules: (await engine.alwaysRules(request)) ?? [] });
    return (await engine.evaluate(request)).outcome;
  };
  expect(await Promise.all([outcomeUnder('workspace'), outcomeUnder('user'), outcomeUnder('admin')])).toEqual([
    'allow',
    'ask_user',
    'ask_user',
  ]);
});
