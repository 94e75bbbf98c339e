import type { PolicyDecision, PolicyEvaluator, PolicyRequest, PolicyScope } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { narrowPolicyDecision } from '../kernel/narrow.js';
import { strictness } from './ranked-rules.js';

const NONE: readonly string[] = Object.freeze([]);

/** Each evaluator is asked, in order, until one denies: the strictest of what they and the rules said. */
export function strictest(
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

/** The stricter of two. What the rules said of a command line is kept. */
function stricterOf(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  if (strictness(other.outcome) <= strictness(one.outcome)) return one;
  if (other.outcome !== 'ask_user' || one.outcome === 'deny' || one.commands === undefined) return other;
  return { commands: one.commands, ...other };
}

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

/** A copy of the arguments, so that judging them cannot change them. */
export function withOwnArgs(request: PolicyRequest): PolicyRequest {
  if (typeof request.args !== 'object' || request.args === null) return request;
  return { ...request, args: structuredClone(request.args) };
}

/** A list that cannot be had hides nothing: what it would have hidden is denied when it is called. */
export function excludedBy(evaluator: PolicyEvaluator, scope: PolicyScope): readonly string[] {
  try {
    const names = evaluator.getExcluded?.(scope);
    return Array.isArray(names) ? names : NONE;
  } catch {
    return NONE;
  }
}
