import type { PolicyDecision, PolicyEvaluator, PolicyRequest } from '../contracts/index.js';
import { throwProblems } from '../kernel/errors.js';
import type { PolicyRule, PolicyRuleSet } from '../kernel/policy-rules.js';
import { alwaysRuleForCall, alwaysRulesForLine } from './always-rules.js';
import { commandLineOf, createLineJudge, loadShell } from './command-line.js';
import { type Judged, judge } from './decide.js';
import { excludedBy, strictest, withOwnArgs } from './evaluators.js';
import { createExclusion } from './exclusion.js';
import { explainDecision, type PolicyExplanation } from './explain.js';
import { rankRules } from './ranked-rules.js';
import { isEvaluator, policyFaults } from './rule-faults.js';

export interface PolicyEngine extends PolicyEvaluator {
  /** What the rules say of a request, by which rule and why. Evaluators are not asked. */
  explain(request: PolicyRequest): Promise<PolicyExplanation>;
  /** Rules by which this very action, and little else, would be allowed from now on. Undefined: there can be none. */
  alwaysRules(request: PolicyRequest): Promise<readonly PolicyRule[] | undefined>;
  /** Has more rules count, from the next question on. Throws `POLICY_INVALID` with their faults. */
  add(set: PolicyRuleSet): void;
}

export interface PolicyEngineOptions {
  /** False: rules of the tier `workspace` do not count. Default true. */
  trusted?: boolean;
}

/**
 * The host's policy: rule sets merged by tier and priority, and evaluators beside them; the strictest decides. It
 * answers at once where every evaluator does, save for the first command line, for which a parser is loaded. Throws
 * `POLICY_INVALID` with every fault of the rules.
 */
export function createPolicyEngine(
  sources: readonly (PolicyRuleSet | PolicyEvaluator)[],
  { trusted = true }: PolicyEngineOptions = {},
): PolicyEngine {
  throwProblems(policyFaults(sources), 'POLICY_INVALID');
  const sets = sources.filter((source): source is PolicyRuleSet => !isEvaluator(source));
  const counted = sets.filter(({ tier }) => trusted || tier !== 'workspace');
  const evaluators = sources.filter(isEvaluator);
  let rules = rankRules(counted);
  let judgeLine = createLineJudge(rules);
  let excludedByRules = createExclusion(rules);
  const others = evaluators.filter((evaluator) => evaluator.getExcluded !== undefined);

  const byRules = (request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> => {
    const line = commandLineOf(request, rules);
    if (line === undefined) return decisionOf(judge(rules, request, { kind: 'call' }) as Judged);
    const judged = judgeLine(request, line);
    const decide = ({ strictest: of, commands }: Awaited<typeof judged>) => decisionOf(of, commands);
    return judged instanceof Promise ? judged.then(decide) : decide(judged);
  };
  return {
    evaluate(request) {
      const own = byRules(request);
      if (evaluators.length === 0) return own;
      const asked = withOwnArgs(request);
      return own instanceof Promise
        ? own.then((said) => strictest(said, evaluators, asked))
        : strictest(own, evaluators, asked);
    },
    getExcluded(scope = {}) {
      const own = excludedByRules(scope);
      return others.length === 0 ? own : [...new Set([...own, ...others.flatMap((one) => excludedBy(one, scope))])];
    },
    async explain(request) {
      const line = commandLineOf(request, rules);
      if (line === undefined) return explainDecision(request, judge(rules, request, { kind: 'call' }) as Judged);
      const { strictest: of, each } = await judgeLine(request, line);
      return explainDecision(request, of, each);
    },
    async alwaysRules(request) {
      // As a rule it would be about more than this one.
      if (request.action.includes('*')) return undefined;
      const line = commandLineOf(request, rules);
      if (line !== undefined) {
        return thatLoad(alwaysRulesForLine(request, await judgeLine(request, line), await loadShell()));
      }
      if (judge(rules, request, { kind: 'call' })?.outcome === 'allow') return undefined;
      const rule = alwaysRuleForCall(request);
      return rule && thatLoad([rule]);
    },
    add(set) {
      throwProblems(policyFaults([set]), 'POLICY_INVALID');
      counted.push(set);
      rules = rankRules(counted);
      judgeLine = createLineJudge(rules);
      excludedByRules = createExclusion(rules);
    },
  };
}

/** What a name that no tool has would make of them loads nowhere. */
const thatLoad = (rules: PolicyRule[] | undefined) =>
  rules !== undefined && policyFaults([{ rules }]).length === 0 ? rules : undefined;

function decisionOf({ outcome, ranked, reason, hint }: Judged, commands?: readonly string[]): PolicyDecision {
  const rule = ranked !== undefined && { rule: ranked.says };
  if (outcome === 'deny') return { outcome, reason, ...rule };
  const manner = commands !== undefined && { commands };
  if (outcome === 'ask_user') return { outcome, ...(hint !== undefined && { hint }), ...rule, ...manner };
  const message = ranked?.rule.allowMessage;
  return { outcome, ...rule, ...(message !== undefined && { message }), ...manner };
}
