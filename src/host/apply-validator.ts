import type { StandardSchema } from '../contracts/index.js';
import { askValidator, type Verdict } from '../kernel/ask-validator.js';
import { describeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';

/**
 * What a schema's own validator makes of a value that stands in events (`askValidator`): where that is no JSON it is
 * taken as JSON writes it. Never throws, and never rejects.
 */
export function applyValidator(
  validator: StandardSchema<unknown, unknown>,
  value: unknown,
): Verdict | Promise<Verdict> {
  const verdict = askValidator(validator, value);
  return verdict instanceof Promise ? verdict.then(inJson) : inJson(verdict);
}

function inJson(verdict: Verdict): Verdict {
  const { faults, value } = verdict;
  if (faults.length > 0 || jsonFault(value) === undefined) return verdict;
  try {
    return { faults, value: JSON.parse(JSON.stringify(value) ?? 'null') };
  } catch (thrown) {
    return { faults: [`its validator made what is no JSON of it: ${describeError(thrown).message}`], value };
  }
}
