import { expect, test } from 'vitest';
import { createHost, TroupeError } from '../../src/index.js';
import { createPolicyEngine } from '../../src/policy/engine.js';

function faultsOf(...sources: unknown[]): string[] {
  try {
    createPolicyEngine(sources as never);
  } catch (thrown) {
    if (!(thrown instanceof TroupeError)) throw thrown;
    expect(thrown.code).toBe('POLICY_INVALID');
    return thrown.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

const faultsOfRule = (rule: unknown, tier = 'user') => faultsOf({ rules: [rule], tier });

test('every fault of every set is told at once, with file, rule and key', () => {
  expect(
    faultsOf(
      { file: 'a.toml', tier: 'root', rules: [{ toolName: 'x', decision: 'alow' }, null, { decision: 'deny' }] },
      { file: 'b.toml', rules: [{ toolName: 'x', decision: 'allow', priority: 1000, argPattern: 'y' }] },
      { rules: 'all' },
      42,
    ),
  ).toEqual([
    'a.toml:tier: must be one of default, extension, workspace, user, admin',
    'a.toml:rules[0].decision: must be one of allow, ask_user, deny (did you mean "allow"?)',
    'a.toml:rules[1]: must be a rule, that is { toolName, decision }',
    'a.toml:rules[2].toolName: must be a tool name, "*", a prefix such as "mcp_*", or a list of them',
    expect.stringMatching(
      /^b\.toml:rules\[0\]\.argPattern: unknown key \(did you mean "argsPattern"\?\); known: toolName, /,
    ),
    'b.toml:rules[0].priority: must be a whole number from 0 to 999',
    'policy:rules: must be a list of rules',
    'policy[3]: must be { rules } or an evaluator, that is { evaluate(request) }',
  ]);
});

test.each([
  ['priority', { priority: 1.5 }],
  ['priority', { priority: -1 }],
  ['priority', { priority: '5' }],
  ['modes', { modes: 'plan' }],
  ['modes', { modes: [] }],
  ['modes', { modes: ['plann'] }],
  ['annotations', { annotations: 'read-only' }],
  ['annotations', { annotations: [] }],
  ['annotations', { annotations: { readOnly: {} } }],
  ['principal', { principal: '' }],
  ['context', { context: 'adk' }],
  ['context.executer', { context: { executer: 'adk' } }],
  ['denyMessage', { denyMessage: 7 }],
  ['grant', { grant: 'yes' }],
  ['grant', { grant: true }],
  ['toolName', { toolName: [] }],
  ['toolName', { toolName: ['a', ''] }],
  ['toolName', { toolName: 'a*b' }],
])('%s: %o is a fault', (key, part) => {
  const faults = faultsOfRule({ toolName: 'x', decision: 'allow', ...part });
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(`policy:rules[0].${key}: `);
});

test('a misspelt mode is told with the one that is meant', () => {
  expect(faultsOfRule({ toolName: 'x', decision: 'allow', modes: ['plann'] })).toEqual([
    'policy:rules[0].modes: no permission mode "plann" (did you mean "plan"?)',
  ]);
});

test('an extension can neither allow nor grant; a grant is an allow for somebody', () => {
  expect(faultsOfRule({ toolName: 'x', decision: 'allow' }, 'extension')).toEqual([
    'policy:rules[0].decision: an extension cannot allow',
  ]);
  expect(faultsOfRule({ toolName: 'x', decision: 'allow', principal: 'a', grant: true }, 'extension')).toHaveLength(2);
  expect(faultsOfRule({ toolName: 'x', decision: 'deny' }, 'extension')).toEqual([]);
  expect(faultsOfRule({ toolName: 'x', decision: 'deny', principal: 'a', grant: true })).toHaveLength(1);
  expect(faultsOfRule({ toolName: 'x', decision: 'allow', principal: 'a', grant: true })).toEqual([]);
});

test('rules with every key in order are taken', () => {
  expect(
    faultsOfRule({
      toolName: ['a', 'b_*', '*'],
      decision: 'deny',
      priority: 999,
      modes: ['default', 'acceptEdits'],
      annotations: { readOnly: true },
      principal: 'lead/reviewer',
      context: { executor: 'adk', opaque: true },
      denyMessage: 'no',
      allowMessage: 'yes',
    }),
  ).toEqual([]);
});

test('a policy that does not load stops the start of the host', () => {
  expect(() => createHost({ policy: [{ rules: [{ toolName: 'x', decision: 'no' as never }] }] })).toThrow(
    /rules\[0\]\.decision/,
  );
});

test.each([
  [{ toolName: 'x', decision: 'deny', annotations: { readOnly: 'yes' } }, 'annotations: can never match: readOnly'],
  [{ toolName: 'x', decision: 'deny', annotations: { 'read-only': 1 } }, 'annotations: can never match: readOnly'],
  [{ toolName: 'x', decision: 'deny', annotations: { readOnyl: true } }, '(did you mean "readOnly"?)'],
  [{ toolName: 'x', decision: 'deny', annotations: ['destructve'] }, '(did you mean "destructive"?)'],
  [{ toolName: 'x', decision: 'deny', annotations: { category: true } }, 'annotations: can never match: category'],
  [{ toolName: 'x\u0000', decision: 'deny' }, 'toolName: can never match: no name of a tool'],
  [{ toolName: 'mcp_a_x', decision: 'deny', mcpName: 'b' }, 'mcpName: can never match: no tool of the server b'],
  [{ toolName: 'mcp_a_*', decision: 'deny', mcpName: 'b' }, 'mcpName: can never match: no tool of the server b'],
])('a rule that can never match is a fault: %j', (rule, said) => {
  expect(faultsOfRule(rule)).toEqual([expect.stringContaining(said)]);
});

test.each([
  { toolName: 'mcp_*', mcpName: 'b' },
  { toolName: 'm*', mcpName: 'b' },
  { toolName: 'mcp_b_*', mcpName: 'b' },
  { toolName: 'mcp_b_x', mcpName: 'b' },
  { toolName: ['mcp_a_x', 'mcp_b_x'], mcpName: 'b' },
  { toolName: 'mcp_my_server_0a1b2c3d_x', mcpName: 'my server' },
  { toolName: 'x', annotations: { readOnly: false, category: 'edit', ours: 3 } },
])('one that may match is none: %j', (rule) => {
  expect(faultsOfRule({ ...rule, decision: 'deny' })).toEqual([]);
});

test.each([
  ['toolName', { toolName: 'mail ' }],
  ['toolName', { toolName: ['ok', 'ma\u200bil'] }],
  ['principal', { principal: '*' }],
  ['principal', { principal: 'lead/*' }],
  ['principal', { principal: 'lead/' }],
  ['principal', { principal: '/lead' }],
  ['principal', { principal: 'lead//reviewer' }],
  ['principal', { principal: 'reviewer ' }],
  ['mcpName', { toolName: 'mcp_*', mcpName: '*' }],
  ['mcpName', { toolName: '*', mcpName: 'git*' }],
])('a deny that can never match is told: %s in %o', (key, part) => {
  expect(faultsOfRule({ toolName: 'x', decision: 'deny', ...part })).toEqual([
    expect.stringMatching(new RegExp(`^policy:rules\\[0\\]\\.${key}: can never match: `)),
  ]);
});

test('names of agents, paths, extensions and servers as they are may stand in a rule', () => {
  for (const principal of ['reviewer', 'lead/reviewer', 'ext:git-kit', '_a-1/b']) {
    expect(faultsOfRule({ toolName: 'x', decision: 'deny', principal })).toEqual([]);
  }
  for (const mcpName of ['github', 'ext:git-kit.github', 'my server']) {
    expect(faultsOfRule({ toolName: 'mcp_*', decision: 'deny', mcpName })).toEqual([]);
  }
});
