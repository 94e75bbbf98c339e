import { expect, test, vi } from 'vitest';
import type { PolicyDecision, PolicyEvaluator, PolicyRequest } from '../../src/contracts/index.js';
import type { PolicyRule, PolicyTier } from '../../src/kernel/policy-rules.js';
import { createPolicyEngine } from '../../src/policy/engine.js';

const rules = (list: PolicyRule[], tier?: PolicyTier, file?: string) => ({
  rules: list,
  ...(tier !== undefined && { tier }),
  ...(file !== undefined && { file }),
});
const request = (action: string, more: Partial<PolicyRequest> = {}): PolicyRequest => ({ action, ...more });
const outcomeOf = (engine: PolicyEvaluator, asked: PolicyRequest) => (engine.evaluate(asked) as PolicyDecision).outcome;

const reads = { annotations: { readOnly: true } };
const edits = { annotations: { category: 'edit' } };

test.each([
  ['default', { plain: 'ask_user', reads: 'allow', edits: 'ask_user', structural: 'allow' }],
  ['auto_edit', { plain: 'ask_user', reads: 'allow', edits: 'allow', structural: 'allow' }],
  ['autonomous', { plain: 'allow', reads: 'allow', edits: 'allow', structural: 'allow' }],
  ['plan', { plain: 'deny', reads: 'allow', edits: 'deny', structural: 'allow' }],
  ['dont_ask', { plain: 'ask_user', reads: 'allow', edits: 'ask_user', structural: 'allow' }],
  ['yolo', { plain: 'allow', reads: 'allow', edits: 'allow', structural: 'allow' }],
  ['acceptEdits', { plain: 'ask_user', reads: 'allow', edits: 'allow', structural: 'allow' }],
  ['some mode of the future', { plain: 'ask_user', reads: 'allow', edits: 'ask_user', structural: 'allow' }],
])('without rules, in mode %s', (mode, expected) => {
  const engine = createPolicyEngine([]);
  expect({
    plain: outcomeOf(engine, request('t', { context: { mode } })),
    reads: outcomeOf(engine, request('t', { context: { mode, ...reads } })),
    edits: outcomeOf(engine, request('t', { context: { mode, ...edits } })),
    structural: outcomeOf(engine, request('t', { context: { mode, structural: true } })),
  }).toEqual(expected);
});

test('a higher tier wins whatever the priority, and inside a tier the higher priority', () => {
  const engine = createPolicyEngine([
    rules([{ toolName: 'a', decision: 'allow', priority: 999 }], 'workspace'),
    rules([{ toolName: 'a', decision: 'deny' }], 'admin'),
    rules([
      { toolName: 'b', decision: 'deny', priority: 1 },
      { toolName: 'b', decision: 'allow', priority: 2 },
    ]),
  ]);
  expect(outcomeOf(engine, request('a'))).toBe('deny');
  expect(outcomeOf(engine, request('b'))).toBe('allow');
});

test('among equals the stricter wins, in whatever order they stand', () => {
  for (const order of [
    ['allow', 'ask_user', 'deny'],
    ['deny', 'ask_user', 'allow'],
  ] as const) {
    const engine = createPolicyEngine([rules(order.map((decision) => ({ toolName: 'a', decision })))]);
    expect(outcomeOf(engine, request('a'))).toBe('deny');
  }
});

test('a rule says who decided: its file and place, or its own words', () => {
  const engine = createPolicyEngine([
    rules([{ toolName: 'a', decision: 'deny' }], 'user', 'policy.toml'),
    rules([{ toolName: 'b', decision: 'deny', denyMessage: 'not on a Friday' }]),
    rules([{ toolName: 'c', decision: 'allow', allowMessage: 'fine' }], 'admin'),
  ]);
  expect(engine.evaluate(request('a'))).toEqual({
    outcome: 'deny',
    reason: 'a is denied by policy.toml[0]',
    rule: 'policy.toml[0]',
  });
  expect(engine.evaluate(request('b'))).toMatchObject({ reason: 'not on a Friday', rule: 'user rules[0]' });
  expect(engine.evaluate(request('c'))).toEqual({ outcome: 'allow', message: 'fine', rule: 'admin rules[0]' });
});

test('names: exact, a prefix, a list, and nothing that merely begins alike (B118)', () => {
  const engine = createPolicyEngine([rules([{ toolName: ['read', 'mcp_git_*', 'writer.*'], decision: 'deny' }])]);
  const denied = ['read', 'mcp_git_log', 'writer.save', 'readme', 'mcp_gitlab_x', 'writer'].filter(
    (name) => outcomeOf(engine, request(name)) === 'deny',
  );
  expect(denied).toEqual(['read', 'mcp_git_log', 'writer.save']);
});

test('a tool of a server whose name had to be cut is denied and hidden by its whole name too, and not allowed by it', () => {
  const whole = `mcp_s_${'x'.repeat(85)}`;
  const context = { mcpName: 's', mcpTool: 'x'.repeat(85) };
  const cut = `mcp_s_${'x'.repeat(49)}_01234567`;
  const of = (toolName: string, decision: PolicyRule['decision']) =>
    createPolicyEngine([rules([{ toolName, decision }])]);
  for (const toolName of [whole, `${whole.slice(0, 70)}*`]) {
    expect(outcomeOf(of(toolName, 'deny'), request(cut, { context }))).toBe('deny');
    expect(of(toolName, 'deny').getExcluded?.({ tools: [{ name: cut, ...context }] })).toEqual([cut]);
    expect(outcomeOf(of(toolName, 'allow'), request(cut, { context }))).toBe('ask_user');
    expect(outcomeOf(of(toolName, 'deny'), request(cut, { context: { ...context, mcpTool: 'y' } }))).toBe('ask_user');
  }
});

test('a principal is an agent, or a path and all below it, never a name that begins alike', () => {
  const engine = createPolicyEngine([rules([{ toolName: '*', decision: 'deny', principal: 'lead/reviewer' }])]);
  const at = (principal: string, principalPath: string) =>
    outcomeOf(engine, request('t', { principal, principalPath }));
  expect(at('reviewer', 'lead/reviewer')).toBe('deny');
  expect(at('helper', 'lead/reviewer/helper')).toBe('deny');
  expect(at('reviewer2', 'lead/reviewer2')).toBe('ask_user');
  expect(at('reviewer', 'reviewer')).toBe('ask_user');
  const byName = createPolicyEngine([rules([{ toolName: '*', decision: 'deny', principal: 'reviewer' }])]);
  expect(outcomeOf(byName, request('t', { principal: 'reviewer', principalPath: 'a/b/reviewer' }))).toBe('deny');
});

test('modes, annotations and context of a rule must all match', () => {
  const engine = createPolicyEngine([
    rules([
      { toolName: 'a', decision: 'deny', modes: ['yolo'] },
      { toolName: 'b', decision: 'deny', annotations: { destructive: true } },
      { toolName: 'c', decision: 'deny', context: { executor: 'adk' } },
      { toolName: 'd', decision: 'deny', context: { opaque: false } },
    ]),
  ]);
  expect(outcomeOf(engine, request('a', { context: { mode: 'autonomous' } }))).toBe('deny');
  expect(outcomeOf(engine, request('a', { context: { mode: 'default' } }))).toBe('ask_user');
  expect(outcomeOf(engine, request('b', { context: { annotations: { destructive: true } } }))).toBe('deny');
  expect(outcomeOf(engine, request('b'))).toBe('ask_user');
  expect(outcomeOf(engine, request('c', { context: { executor: 'adk' } }))).toBe('deny');
  expect(outcomeOf(engine, request('c', { context: { executor: 'local' } }))).toBe('ask_user');
  expect(outcomeOf(engine, request('d'))).toBe('deny');
  expect(outcomeOf(engine, request('d', { context: { opaque: true } }))).toBe('ask_user');
});

test('explicit ask and deny rules hold in autonomous mode', () => {
  const engine = createPolicyEngine([
    rules([
      { toolName: 'ask', decision: 'ask_user' },
      { toolName: 'deny', decision: 'deny' },
    ]),
  ]);
  const context = { mode: 'autonomous' };
  expect(['ask', 'deny', 'other'].map((name) => outcomeOf(engine, request(name, { context })))).toEqual([
    'ask_user',
    'deny',
    'allow',
  ]);
});

test('plan mode is lifted only by a rule that names it', () => {
  const engine = createPolicyEngine([
    rules([
      { toolName: 'write', decision: 'allow' },
      { toolName: 'shell', decision: 'ask_user' },
      { toolName: 'write_plan', decision: 'allow', modes: ['plan'] },
      { toolName: 'read', decision: 'ask_user' },
    ]),
  ]);
  const at = (name: string, more = {}) => outcomeOf(engine, request(name, { context: { mode: 'plan', ...more } }));
  expect(['write', 'shell', 'write_plan'].map((name) => at(name))).toEqual(['deny', 'deny', 'allow']);
  // What only reads is not bound by the mode, so its own rule counts.
  expect(at('read', reads)).toBe('ask_user');
});

test('a child may do no more than the leaders above it, whatever its own rules say', () => {
  const engine = createPolicyEngine([
    rules([
      { toolName: 'save', decision: 'allow', principal: 'writer', priority: 9 },
      { toolName: 'shell', decision: 'allow', principal: 'writer', priority: 9 },
      { toolName: 'shell', decision: 'deny', principal: 'lead' },
    ]),
  ]);
  const asWriter = (action: string, actingFor?: PolicyRequest['actingFor']) =>
    engine.evaluate(
      request(action, { principal: 'writer', principalPath: 'team/writer', ...(actingFor && { actingFor }) }),
    );
  const lead = [{ principal: 'lead', principalPath: 'team' }];
  expect(asWriter('save')).toMatchObject({ outcome: 'allow' });
  expect(asWriter('save', lead)).toMatchObject({ outcome: 'ask_user' });
  expect(asWriter('shell', lead)).toMatchObject({ outcome: 'deny', rule: 'user rules[2]' });
});

test('a grant for the principal lifts the bound of its leaders, and nothing else', () => {
  const engine = createPolicyEngine([
    rules([{ toolName: 'save', decision: 'allow', principal: 'writer', grant: true }]),
    rules([{ toolName: 'shell', decision: 'allow', principal: 'writer', grant: true }]),
    rules([{ toolName: 'shell', decision: 'deny', principal: 'writer' }], 'admin'),
  ]);
  const actingFor = [{ principal: 'lead', principalPath: 'team' }];
  const asWriter = (action: string) =>
    outcomeOf(engine, request(action, { principal: 'writer', principalPath: 'team/writer', actingFor }));
  expect(asWriter('save')).toBe('allow');
  expect(asWriter('shell')).toBe('deny');
});

test('what runs out of sight is allowed by its name only', () => {
  const engine = (toolName: string | string[]) => createPolicyEngine([rules([{ toolName, decision: 'allow' }])]);
  const asked = request('billing', { context: { opaque: true, mode: 'autonomous' } });
  expect(engine('billing').evaluate(asked)).toMatchObject({ outcome: 'allow', rule: 'user rules[0]' });
  expect(engine(['x', 'billing']).evaluate(asked)).toHaveProperty('rule');
  // Allowed in passing: the mode's default, by no rule.
  expect(engine('*').evaluate(asked)).not.toHaveProperty('rule');
  expect(engine('bill*').evaluate(asked)).not.toHaveProperty('rule');
  expect(outcomeOf(createPolicyEngine([rules([{ toolName: '*', decision: 'deny' }])]), asked)).toBe('deny');
});

const says = (decision: unknown): PolicyEvaluator => ({ evaluate: () => decision as PolicyDecision });
const allow = { outcome: 'allow' } as const;
const ask = { outcome: 'ask_user' } as const;

test.each([
  ['allow by rules, ask by the evaluator', 'allow', ask, 'ask_user'],
  ['ask by rules, allow by the evaluator', 'ask_user', allow, 'ask_user'],
  ['deny by rules, allow by the evaluator', 'deny', allow, 'deny'],
  ['allow by rules, deny by the evaluator', 'allow', { outcome: 'deny', reason: 'no' }, 'deny'],
])('the strictest decides: %s', async (_, decision, said, expected) => {
  for (const evaluator of [says(said), says(Promise.resolve(said))]) {
    const engine = createPolicyEngine([rules([{ toolName: 'a', decision: decision as 'allow' }]), evaluator]);
    expect((await engine.evaluate(request('a'))).outcome).toBe(expected);
  }
});

test.each([
  [
    'throws',
    {
      evaluate: () => {
        throw new Error('database gone');
      },
    },
    'the policy evaluator failed: database gone',
  ],
  ['rejects', { evaluate: () => Promise.reject(new Error('timeout')) }, 'the policy evaluator failed: timeout'],
  ['says nothing', says(undefined), "the policy's outcome is not known: undefined"],
  ['says a text', says('allow'), "the policy's outcome is not known: undefined"],
  ['says an outcome of the future', says({ outcome: 'probably' }), 'the policy\'s outcome is not known: "probably"'],
  ['says an array', says([allow]), "the policy's outcome is not known: undefined"],
  ['has its outcome on the prototype', says(Object.create(allow)), "the policy's outcome is not known: undefined"],
])('an evaluator that %s denies', async (_, evaluator, reason) => {
  const engine = createPolicyEngine([evaluator as PolicyEvaluator]);
  expect(await engine.evaluate(request('a', { context: reads }))).toEqual({ outcome: 'deny', reason });
});

test('an evaluator that keeps rules of its own is an evaluator', () => {
  class Own {
    rules = ['nothing is allowed'];
    evaluate(): PolicyDecision {
      return { outcome: 'deny', reason: this.rules.join() };
    }
  }
  expect(createPolicyEngine([new Own()]).evaluate(request('a'))).toEqual({
    outcome: 'deny',
    reason: 'nothing is allowed',
  });
});

test('evaluators are asked in order until one denies, and only where the rules do not', async () => {
  const first = vi.fn(() => Promise.resolve(allow));
  const second = vi.fn(() => ({ outcome: 'deny', reason: 'no' }) as const);
  const third = vi.fn(() => allow);
  const engine = createPolicyEngine([
    { evaluate: first },
    { evaluate: second },
    { evaluate: third },
    rules([{ toolName: 'never', decision: 'deny' }]),
  ]);
  expect(await engine.evaluate(request('a'))).toEqual({ outcome: 'deny', reason: 'no' });
  expect([first, second, third].map((one) => one.mock.calls.length)).toEqual([1, 1, 0]);
  expect(outcomeOf(engine, request('never'))).toBe('deny');
  expect(first).toHaveBeenCalledTimes(1);
});

test('an evaluator cannot change the arguments that it judges', async () => {
  const engine = createPolicyEngine([
    {
      evaluate(asked) {
        (asked.args as { path: string }).path = '/etc/passwd';
        return allow;
      },
    },
  ]);
  const args = { path: 'a.txt' };
  await engine.evaluate(request('a', { args }));
  expect(args).toEqual({ path: 'a.txt' });
});

test('the engine answers at once where nobody has to be waited for', () => {
  const engine = createPolicyEngine([rules([{ toolName: 'a', decision: 'allow' }]), says(allow)]);
  expect(engine.evaluate(request('a'))).not.toBeInstanceOf(Promise);
});
