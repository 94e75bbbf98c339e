import { expect, test } from 'vitest';
import type { PolicyDecision, PolicyRequest } from '../../src/contracts/index.js';
import { DECISIONS, type PolicyRule, TIERS } from '../../src/kernel/policy-rules.js';
import { createPolicyEngine } from '../../src/policy/engine.js';
import { fc } from '../support/fast-check.js';

const mode = fc.constantFrom('default', 'auto_edit', 'autonomous', 'plan', 'dont_ask');
const name = fc.constantFrom('read', 'write', 'mcp_git_push', 'lead.search');
const principal = fc.constantFrom('lead', 'lead/writer', 'writer', 'other');
const tier = fc.constantFrom(...TIERS.filter((one) => one !== 'extension'));
const rule: fc.Arbitrary<PolicyRule> = fc.record(
  {
    toolName: fc.oneof(name, fc.constantFrom('*', 'mcp_*', 'lead.*')),
    decision: fc.constantFrom(...DECISIONS),
    priority: fc.integer({ min: 0, max: 3 }),
    modes: fc.array(mode, { minLength: 1, maxLength: 2 }),
    annotations: fc.record({ readOnly: fc.boolean() }),
    principal,
  },
  { requiredKeys: ['toolName', 'decision'] },
);
const sets = fc.array(fc.record({ tier, rules: fc.array(rule, { maxLength: 4 }) }), { maxLength: 3 });
const request: fc.Arbitrary<PolicyRequest> = fc.record({
  action: name,
  principal: fc.constantFrom('lead', 'writer'),
  principalPath: fc.constantFrom('lead', 'lead/writer'),
  context: fc.record({
    mode,
    annotations: fc.record({ readOnly: fc.boolean() }, { requiredKeys: [] }),
    structural: fc.boolean(),
  }),
  actingFor: fc.constantFrom([], [{ principal: 'lead', principalPath: 'lead' }]),
});
const strictness = (decision: unknown) => DECISIONS.indexOf((decision as PolicyDecision).outcome);

test('adding a deny rule never makes a decision milder', () => {
  fc.assert(
    fc.property(sets, tier, rule, request, (before, at, added, asked) => {
      const after = [...before, { tier: at, rules: [{ ...added, decision: 'deny' as const }] }];
      const was = strictness(createPolicyEngine(before).evaluate(asked));
      expect(strictness(createPolicyEngine(after).evaluate(asked))).toBeGreaterThanOrEqual(was);
    }),
    { numRuns: 500 },
  );
});

test('an evaluator beside the rules never makes a decision milder', () => {
  const said = fc.constantFrom<unknown>(
    { outcome: 'allow' },
    { outcome: 'ask_user' },
    { outcome: 'deny' },
    null,
    'allow',
  );
  fc.assert(
    fc.property(sets, said, request, (rules, answer, asked) => {
      const was = strictness(createPolicyEngine(rules).evaluate(asked));
      const engine = createPolicyEngine([...rules, { evaluate: () => answer as PolicyDecision }]);
      expect(strictness(engine.evaluate(asked))).toBeGreaterThanOrEqual(was);
    }),
    { numRuns: 300 },
  );
});

test('the leaders above an agent never widen what it may do', () => {
  fc.assert(
    fc.property(sets, request, (rules, asked) => {
      const engine = createPolicyEngine(rules);
      const alone = strictness(engine.evaluate({ ...asked, actingFor: [] }));
      const led = engine.evaluate({ ...asked, actingFor: [{ principal: 'lead', principalPath: 'lead' }] });
      expect(strictness(led)).toBeGreaterThanOrEqual(alone);
    }),
    { numRuns: 300 },
  );
});

test('what is excluded is exactly what would be denied', () => {
  fc.assert(
    fc.property(sets, request, (rules, asked) => {
      const engine = createPolicyEngine(rules);
      const {
        mode: at,
        annotations,
        structural,
      } = asked.context as { mode: string; annotations: Record<string, unknown>; structural: boolean };
      const excluded = engine.getExcluded?.({
        mode: at,
        principal: asked.principal as string,
        principalPath: asked.principalPath as string,
        actingFor: asked.actingFor as [],
        tools: [{ name: asked.action, annotations, structural }],
      });
      expect(excluded).toEqual(strictness(engine.evaluate(asked)) === 2 ? [asked.action] : []);
    }),
    { numRuns: 500 },
  );
});
