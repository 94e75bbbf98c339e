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

/** The stricter of two; what either says of how it may run holds for both. */
function stricterOf(one: PolicyDecision, other: PolicyDecision): PolicyDecision {
  const [milder, stricter] = strictness(other.outcome) > strictness(one.outcome) ? [one, other] : [other, one];
  if (stricter.outcome === 'deny' || milder.outcome === 'deny') return stricter;
  const commands = stricter.commands ?? milder.commands;
  const sandbox = stricter.sandbox === true || milder.sandbox === true;
  if (commands === stricter.commands && sandbox === (stricter.sandbox ?? false)) return stricter;
  return { ...stricter, ...(commands !== undefined && { commands }), ...(sandbox && { sandbox }) };
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
