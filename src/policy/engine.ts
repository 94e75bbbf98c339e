import type { PermissionMode, PolicyDecision, PolicyEvaluator, PolicyRequest } from '../contracts/index.js';
import { describeError, type Problem, throwProblems } from '../kernel/errors.js';
import { narrowPermissionMode, narrowPolicyDecision } from '../kernel/narrow.js';
import type { PolicyRule, PolicyRuleSet, PolicyTier } from '../kernel/policy-rules.js';

/** Low to high: a rule of a higher tier wins, whatever its priority. */
const TIERS: readonly PolicyTier[] = ['default', 'extension', 'workspace', 'user', 'admin'];
const DECISIONS: readonly PolicyRule['decision'][] = ['allow', 'ask_user', 'deny'];
const MAX_PRIORITY = 999;

interface RankedRule {
  readonly rule: PolicyRule;
  /** Tier + priority / 1000. */
  readonly rank: number;
  readonly says: string;
}

/**
 * The host's policy: rule sets merged by tier and priority, and evaluators beside them; the strictest decides. Throws
 * `POLICY_INVALID` with every fault of the rules.
 */
export function createPolicyEngine(sources: readonly (PolicyRuleSet | PolicyEvaluator)[]): PolicyEvaluator {
  const ruleSets = sources.filter((source): source is PolicyRuleSet => 'rules' in source);
  const evaluators = sources.filter((source): source is PolicyEvaluator => !('rules' in source));
  throwProblems(ruleSets.flatMap(faultsOf), 'POLICY_INVALID');
  const rules = rank(ruleSets);
  const byRules = (request: PolicyRequest): PolicyDecision => {
    const found = rules.find(({ rule }) => matches(rule, request));
    return found === undefined ? byDefault(request) : decisionOf(found, request);
  };
  return {
    evaluate(request) {
      const own = byRules(request);
      return evaluators.length === 0 ? own : strictest(own, evaluators, request);
    },
    getExcluded: () => [],
  };
}

function rank(ruleSets: readonly PolicyRuleSet[]): RankedRule[] {
  const ranked = ruleSets.flatMap((set) =>
    set.rules.map((rule, index) => ({
      rule,
      rank: TIERS.indexOf(set.tier ?? 'user') + 1 + (rule.priority ?? 0) / 1000,
      says: `${set.file ?? `${set.tier ?? 'user'} rules`}[${index}]`,
    })),
  );
  // Among equals the stricter wins.
  return ranked.sort((a, b) => b.rank - a.rank || strictness(b.rule.decision) - strictness(a.rule.decision));
}

const strictness = (outcome: PolicyDecision['outcome']) => DECISIONS.indexOf(outcome);

function faultsOf(set: PolicyRuleSet): Problem[] {
  const from = set.file ?? 'policy';
  const problems: Problem[] = [];
  const fault = (index: number, key: string, message: string) =>
    problems.push({ code: 'POLICY_INVALID', path: `${from}:rules[${index}].${key}`, message });
  if (set.tier !== undefined && !TIERS.includes(set.tier)) {
    problems.push({ code: 'POLICY_INVALID', path: `${from}:tier`, message: `must be one of ${TIERS.join(', ')}` });
  }
  set.rules.forEach((rule, index) => {
    const names = typeof rule.toolName === 'string' ? [rule.toolName] : rule.toolName;
    if (
      !Array.isArray(names) ||
      names.length === 0 ||
      !names.every((name) => typeof name === 'string' && name !== '')
    ) {
      fault(index, 'toolName', 'must be a tool name, "*", or a list of them');
    }
    if (!DECISIONS.includes(rule.decision)) fault(index, 'decision', `must be one of ${DECISIONS.join(', ')}`);
    const { priority = 0 } = rule;
    if (!Number.isInteger(priority) || priority < 0 || priority > MAX_PRIORITY) {
      fault(index, 'priority', `must be a whole number from 0 to ${MAX_PRIORITY}`);
    }
    if (set.tier === 'extension' && rule.decision === 'allow') fault(index, 'decision', 'an extension cannot allow');
    for (const key of Object.keys(rule))
      if (!KEYS.has(key)) fault(index, key, `unknown key; known: ${[...KEYS].join(', ')}`);
  });
  return problems;
}

const KEYS: ReadonlySet<string> = new Set([
  'toolName',
  'decision',
  'priority',
  'modes',
  'annotations',
  'principal',
  'context',
  'denyMessage',
  'allowMessage',
]);

function matches(rule: PolicyRule, request: PolicyRequest): boolean {
  const { action, principal, principalPath = '', context = {} } = request;
  const names = typeof rule.toolName === 'string' ? [rule.toolName] : rule.toolName;
  if (!names.some((name) => matchesName(name, action))) return false;
  if (rule.modes !== undefined) {
    const mode = narrowPermissionMode(context.mode ?? 'default');
    if (!rule.modes.some((one) => narrowPermissionMode(one) === mode)) return false;
  }
  if (rule.principal !== undefined && rule.principal !== principal) {
    if (`${principalPath}/`.startsWith(`${rule.principal}/`) === false) return false;
  }
  const { annotations = {} } = context;
  if (!Object.entries(rule.annotations ?? {}).every(([key, value]) => annotations[key] === value)) return false;
  return Object.entries(rule.context ?? {}).every(([key, value]) => (context[key] ?? false) === value);
}

const matchesName = (pattern: string, name: string) =>
  pattern === '*' || (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name);

function decisionOf({ rule, says }: RankedRule, request: PolicyRequest): PolicyDecision {
  switch (rule.decision) {
    case 'allow':
      return { outcome: 'allow', rule: says, ...(rule.allowMessage !== undefined && { message: rule.allowMessage }) };
    case 'deny':
      return { outcome: 'deny', rule: says, reason: rule.denyMessage ?? `${request.action} is denied by ${says}` };
    case 'ask_user':
      return { outcome: 'ask_user', rule: says };
    default:
      return rule.decision satisfies never;
  }
}

/** No rule matches: what the team's structure permits and what only reads may run, anything else is asked about. */
function byDefault({ action, context = {} }: PolicyRequest): PolicyDecision {
  const { annotations = {}, structural } = context;
  const mode: PermissionMode = narrowPermissionMode(context.mode ?? 'default');
  if (structural === true || annotations.readOnly === true) return { outcome: 'allow' };
  switch (mode) {
    case 'autonomous':
      return { outcome: 'allow' };
    case 'auto_edit':
      return annotations.category === 'edit' ? { outcome: 'allow' } : { outcome: 'ask_user' };
    case 'plan':
      return { outcome: 'deny', reason: `${action} may change things, and plan mode only reads` };
    default:
      return { outcome: 'ask_user' };
  }
}

async function strictest(
  own: PolicyDecision,
  evaluators: readonly PolicyEvaluator[],
  request: PolicyRequest,
): Promise<PolicyDecision> {
  let decided = own;
  for (const evaluator of evaluators) {
    let other: PolicyDecision;
    try {
      other = narrowPolicyDecision(await evaluator.evaluate(request));
    } catch (thrown) {
      other = { outcome: 'deny', reason: `the policy evaluator failed: ${describeError(thrown).message}` };
    }
    if (strictness(other.outcome) > strictness(decided.outcome)) decided = other;
  }
  return decided;
}
