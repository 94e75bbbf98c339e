import { expect, test, vi } from 'vitest';
import type { PolicyEvaluator, PolicyScopeTool } from '../../src/contracts/index.js';
import { createPolicyEngine } from '../../src/policy/engine.js';

const tools: readonly PolicyScopeTool[] = [
  { name: 'read', annotations: { readOnly: true } },
  { name: 'write', annotations: { category: 'edit' } },
  { name: 'shell' },
  { name: 'mcp_git_push' },
  { name: 'helper', structural: true },
];
const excluded = (engine: PolicyEvaluator, scope: object = {}) => engine.getExcluded?.({ tools, ...scope });

test('without a deny rule nothing is excluded, at no cost: the list is never looked at', () => {
  const untouchable = new Proxy([] as PolicyScopeTool[], {
    get() {
      throw new Error('the list was read');
    },
  });
  for (const sources of [[], [{ rules: [{ toolName: '*', decision: 'allow' as const }] }]]) {
    const engine = createPolicyEngine(sources);
    const first = engine.getExcluded?.({ tools: untouchable, mode: 'default' });
    expect(first).toEqual([]);
    expect(engine.getExcluded?.({ tools: untouchable, mode: 'autonomous' })).toBe(first);
  }
});

test('tools that a rule denies whatever the arguments are excluded; what may be allowed or asked about is not', () => {
  const engine = createPolicyEngine([
    {
      rules: [
        { toolName: ['shell', 'mcp_*'], decision: 'deny' },
        { toolName: 'mcp_git_push', decision: 'ask_user', priority: 5 },
      ],
    },
  ]);
  expect(excluded(engine)).toEqual(['shell']);
});

test('a deny for one principal or one mode excludes there only', () => {
  const engine = createPolicyEngine([
    {
      rules: [
        { toolName: 'shell', decision: 'deny', principal: 'writer' },
        { toolName: 'write', decision: 'deny', modes: ['dont_ask'] },
      ],
    },
  ]);
  expect(excluded(engine, { principal: 'writer', principalPath: 'team/writer' })).toEqual(['shell']);
  expect(excluded(engine, { principal: 'reader', principalPath: 'team/reader' })).toEqual([]);
  expect(excluded(engine, { principal: 'reader', principalPath: 'team/reader', mode: 'dont_ask' })).toEqual(['write']);
});

test('what a leader may never do is excluded for those who act for it', () => {
  const engine = createPolicyEngine([{ rules: [{ toolName: 'shell', decision: 'deny', principal: 'planner' }] }]);
  const scope = { principal: 'writer', principalPath: 'lead/writer' };
  expect(excluded(engine, scope)).toEqual([]);
  expect(
    createPolicyEngine([{ rules: [{ toolName: 'shell', decision: 'deny', principal: 'planner' }] }]).getExcluded?.({
      tools,
      ...scope,
      actingFor: [{ principal: 'planner', principalPath: 'lead' }],
    }),
  ).toEqual(['shell']);
});

test('plan mode excludes what may change things, save what a rule lets through by name of the mode', () => {
  const engine = createPolicyEngine([{ rules: [{ toolName: 'write', decision: 'allow', modes: ['plan'] }] }]);
  expect(excluded(engine, { mode: 'plan' })).toEqual(['shell', 'mcp_git_push']);
});

test('it is worked out once per list and scope', () => {
  const engine = createPolicyEngine([{ rules: [{ toolName: 'shell', decision: 'deny' }] }]);
  const filter = vi.spyOn(tools as PolicyScopeTool[], 'filter');
  const scope = { mode: 'default', principal: 'a', principalPath: 'a' };
  const first = excluded(engine, scope);
  for (let turn = 0; turn < 100; turn++) expect(excluded(engine, scope)).toBe(first);
  expect(filter).toHaveBeenCalledTimes(1);
  filter.mockRestore();
});

test('without a list of tools the names that deny rules spell out are told', () => {
  const engine = createPolicyEngine([{ rules: [{ toolName: ['shell', 'mcp_*'], decision: 'deny' }] }]);
  expect(engine.getExcluded?.()).toEqual(['shell']);
});

test('evaluators add to the list; one that fails or answers nonsense hides nothing', () => {
  const evaluate = () => ({ outcome: 'allow' }) as const;
  const engine = createPolicyEngine([
    { rules: [{ toolName: 'shell', decision: 'deny' }] },
    { evaluate, getExcluded: () => ['write', 'shell'] },
    {
      evaluate,
      getExcluded() {
        throw new Error('no');
      },
    },
    { evaluate, getExcluded: () => 'read' as never },
  ]);
  expect(excluded(engine)).toEqual(['shell', 'write']);
});

test('a rule that wants a sandbox excludes what it is about whatever the arguments, where there is none, and nothing else', () => {
  const always = createPolicyEngine([{ rules: [{ toolName: 'shell', decision: 'allow', sandbox: true }] }]);
  expect(excluded(always)).toEqual(['shell']);
  const sandboxed = [{ name: 'shell', annotations: { sandboxed: true } }];
  expect(always.getExcluded?.({ tools: sandboxed })).toEqual([]);

  const some = createPolicyEngine([
    {
      rules: [
        { toolName: 'shell', decision: 'allow', sandbox: true, commandPrefix: 'npm test' },
        { toolName: 'write', decision: 'ask_user', sandbox: true, argsPattern: '"path":"docs/' },
        { toolName: 'mcp_git_push', decision: 'deny' },
      ],
    },
  ]);
  expect(excluded(some)).toEqual(['mcp_git_push']);
});
