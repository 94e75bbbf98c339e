import type {
  PermissionMode,
  PolicyDecision,
  PolicyEvaluator,
  PolicyRequest,
  PolicyScope,
  PolicyScopeTool,
} from '../contracts/index.js';
import { describeError, throwProblems } from '../kernel/errors.js';
import { narrowPermissionMode, narrowPolicyDecision } from '../kernel/narrow.js';
import { DECISIONS, type PolicyRule, type PolicyRuleSet, TIERS } from '../kernel/policy-rules.js';
import { isEvaluator, policyFaults } from './rule-faults.js';

interface RankedRule {
  readonly rule: PolicyRule;
  readonly names: readonly string[];
  readonly modes: readonly PermissionMode[] | undefined;
  /** Tier + priority / 1000. */
  readonly rank: number;
  readonly says: string;
}

const NONE: readonly string[] = Object.freeze([]);

/**
 * The host's policy: rule sets merged by tier and priority, and evaluators beside them; the strictest decides. It
 * answers at once where every evaluator does. Throws `POLICY_INVALID` with every fault of the rules.
 */
export function createPolicyEngine(sources: readonly (PolicyRuleSet | PolicyEvaluator)[]): PolicyEvaluator {
  throwProblems(policyFaults(sources), 'POLICY_INVALID');
  const rules = rank(sources.filter((source): source is PolicyRuleSet => !isEvaluator(source)));
  const evaluators = sources.filter(isEvaluator);
  const excludedByRules = createExclusion(rules);
  const others = evaluators.filter((evaluator) => evaluator.getExcluded !== undefined);
  return {
    evaluate(request) {
      const own = bounded(rules, request);
      return evaluators.length === 0 ? own : strictest(own, evaluators, withOwnArgs(request));
    },
    getExcluded(scope = {}) {
      const own = excludedByRules(scope);
      return others.length === 0 ? own : [...new Set([...own, ...others.flatMap((one) => excludedBy(one, scope))])];
    },
  };
}

function rank(ruleSets: readonly PolicyRuleSet[]): RankedRule[] {
  const ranked = ruleSets.flatMap((set) =>
    set.rules.map((rule, index) => ({
      rule,
      names: typeof rule.toolName === 'string' ? [rule.toolName] : rule.toolName,
      modes: rule.modes?.map(narrowPermissionMode),
      rank: TIERS.indexOf(set.tier ?? 'user') + 1 + (rule.priority ?? 0) / 1000,
      says: `${set.file ?? `${set.tier ?? 'user'} rules`}[${index}]`,
    })),
  );
  // Among equals the stricter wins.
  return ranked.sort((a, b) => b.rank - a.rank || strictness(b.rule.decision) - strictness(a.rule.decision));
}

const strictness = (outcome: PolicyDecision['outcome']) => DECISIONS.indexOf(outcome);

/** What the rules say of the agent itself, and of every leader that acts through it: the strictest, unless granted. */
function bounded(rules: readonly RankedRule[], request: PolicyRequest): PolicyDecision {
  const found = findRule(rules, request);
  let decided = decisionOf(found, request);
  if (request.actingFor === undefined || found?.rule.grant === true) return decided;
  for (const { principal, principalPath } of request.actingFor) {
    const asLeader = { ...request, principal, principalPath };
    const theirs = decisionOf(findRule(rules, asLeader), asLeader);
    if (strictness(theirs.outcome) > strictness(decided.outcome)) decided = theirs;
  }
  return decided;
}

function findRule(rules: readonly RankedRule[], request: PolicyRequest): RankedRule | undefined {
  if (rules.length === 0) return undefined;
  const mode = modeOf(request);
  const mayChange = !isFree(request);
  return rules.find((ranked) => {
    const { rule, names, modes } = ranked;
    if (!matches(ranked, mode, request)) return false;
    if (rule.decision === 'deny') return true;
    if (mode === 'plan' && mayChange && modes === undefined) return false;
    // What runs out of the host's sight is allowed by its name, not in passing.
    return rule.decision !== 'allow' || request.context?.opaque !== true || names.includes(request.action);
  });
}

function matches({ rule, names, modes }: RankedRule, mode: PermissionMode, request: PolicyRequest): boolean {
  const { action, principal, principalPath = '', context = {} } = request;
  if (!names.some((name) => matchesName(name, action))) return false;
  if (modes !== undefined && !modes.includes(mode)) return false;
  if (rule.principal !== undefined && rule.principal !== principal) {
    if (!`${principalPath}/`.startsWith(`${rule.principal}/`)) return false;
  }
  const { annotations = {} } = context;
  for (const [key, value] of Object.entries(rule.annotations ?? {})) if (annotations[key] !== value) return false;
  for (const [key, value] of Object.entries(rule.context ?? {})) if ((context[key] ?? false) !== value) return false;
  return true;
}

const matchesName = (pattern: string, name: string) =>
  pattern === name || (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1)));

const modeOf = ({ context }: PolicyRequest) => narrowPermissionMode(context?.mode ?? 'default');
const isFree = ({ context }: PolicyRequest) => context?.structural === true || context?.annotations?.readOnly === true;

function decisionOf(found: RankedRule | undefined, request: PolicyRequest): PolicyDecision {
  if (found === undefined) return byDefault(request);
  const { rule, says } = found;
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
function byDefault(request: PolicyRequest): PolicyDecision {
  if (isFree(request)) return { outcome: 'allow' };
  switch (modeOf(request)) {
    case 'autonomous':
      return { outcome: 'allow' };
    case 'auto_edit':
      return request.context?.annotations?.category === 'edit' ? { outcome: 'allow' } : { outcome: 'ask_user' };
    case 'plan':
      return { outcome: 'deny', reason: `${request.action} may change things, and plan mode only reads` };
    default:
      return { outcome: 'ask_user' };
  }
}

/**
 * The names that the rules deny whatever the arguments. Worked out once per list of tools and scope; without a deny
 * rule, and outside plan mode, there is nothing to work out.
 */
function createExclusion(rules: readonly RankedRule[]): (scope: PolicyScope) => readonly string[] {
  const spelledOut = rules
    .filter(({ rule }) => rule.decision === 'deny')
    .flatMap(({ names }) => names.filter((name) => !name.endsWith('*')))
    .map((name): PolicyScopeTool => ({ name }));
  const denies = rules.some(({ rule }) => rule.decision === 'deny');
  const known = new WeakMap<readonly PolicyScopeTool[], Map<string, readonly string[]>>();
  return (scope) => {
    const { tools = spelledOut, mode = 'default', principal = '', principalPath = '', executor, actingFor } = scope;
    if (!denies && narrowPermissionMode(mode) !== 'plan') return NONE;
    let byScope = known.get(tools);
    if (byScope === undefined) {
      byScope = new Map();
      known.set(tools, byScope);
    }
    const key = `${mode}|${executor ?? ''}|${principal}|${principalPath}`;
    let excluded = byScope.get(key);
    if (excluded === undefined) {
      excluded = tools
        .filter(({ name, annotations, structural }) => {
          const context = {
            mode,
            ...(executor !== undefined && { executor }),
            ...(annotations !== undefined && { annotations }),
            ...(structural !== undefined && { structural }),
          };
          const request = { action: name, principal, principalPath, context, ...(actingFor && { actingFor }) };
          return bounded(rules, request).outcome === 'deny';
        })
        .map(({ name }) => name);
      byScope.set(key, excluded);
    }
    return excluded;
  };
}

/** A list that cannot be had hides nothing: what it would have hidden is denied when it is called. */
function excludedBy(evaluator: PolicyEvaluator, scope: PolicyScope): readonly string[] {
  try {
    const names = evaluator.getExcluded?.(scope);
    return Array.isArray(names) ? names : NONE;
  } catch {
    return NONE;
  }
}

/** A copy of the arguments, so that judging them cannot change them. */
function withOwnArgs(request: PolicyRequest): PolicyRequest {
  if (typeof request.args !== 'object' || request.args === null) return request;
  return { ...request, args: structuredClone(request.args) };
}

/** Each evaluator is asked, in order, until one denies. */
function strictest(
  own: PolicyDecision,
  evaluators: readonly PolicyEvaluator[],
  request: PolicyRequest,
): PolicyDecision | Promise<PolicyDecision> {
  let decided = own;
  for (const [index, evaluator] of evaluators.entries()) {
    if (decided.outcome === 'deny') break;
    const said = ask(evaluator, request);
    if (said instanceof Promise) {
      const sofar = decided;
      return said.then((other) => strictest(stricterOf(sofar, other), evaluators.slice(index + 1), request));
    }
    decided = stricterOf(decided, said);
  }
  return decided;
}

const stricterOf = (one: PolicyDecision, other: PolicyDecision) =>
  strictness(other.outcome) > strictness(one.outcome) ? other : one;

function ask(evaluator: PolicyEvaluator, request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
  try {
    const said: unknown = evaluator.evaluate(request);
    if (!isThenable(said)) return narrowPolicyDecision(said);
    return Promise.resolve(said).then(narrowPolicyDecision, failed);
  } catch (thrown) {
    return failed(thrown);
  }
}

const failed = (thrown: unknown): PolicyDecision => ({
  outcome: 'deny',
  reason: `the policy evaluator failed: ${describeError(thrown).message}`,
});

const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
