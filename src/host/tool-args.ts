import type { ToolResultData } from '../contracts/index.js';
import { askValidator, type Verdict } from '../kernel/ask-validator.js';
import { validateJson } from '../kernel/schema.js';
import { errorResult } from '../kernel/tool-result.js';
import type { Call } from './tool-call.js';

/** Holds a call's arguments against its tool's schema. Nothing when they fit, else the result that says all that is wrong. */
export function validateArgs(call: Call): undefined | ToolResultData | Promise<ToolResultData | undefined> {
  const { entry } = call;
  call.parsedArgs = undefined;
  // Built-in tools say themselves what they take.
  if (entry === undefined || entry.builtin !== undefined) {
    return isPlainObject(call.args)
      ? undefined
      : errorResult('invalid_tool_params', `the arguments of ${call.name} must be an object`);
  }
  const errors = validateJson(entry.tool?.checkedSchema ?? entry.descriptor.parametersSchema, call.args);
  return errors instanceof Promise ? errors.then((list) => parseArgs(call, list)) : parseArgs(call, errors);
}

const isPlainObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

function parseArgs(call: Call, errors: string[]): undefined | ToolResultData | Promise<ToolResultData | undefined> {
  if (errors.length > 0) return unfit(call, errors);
  const validator = call.entry?.tool?.validate;
  if (validator === undefined) return undefined;
  const verdict = askValidator(validator, call.args);
  return verdict instanceof Promise ? verdict.then((said) => take(call, said)) : take(call, verdict);
}

function take(call: Call, { faults, value }: Verdict): ToolResultData | undefined {
  if (faults.length > 0) return unfit(call, faults);
  call.parsedArgs = { value };
  return undefined;
}

const unfit = (call: Call, errors: readonly string[]) =>
  errorResult('invalid_tool_params', `the arguments of ${call.name} do not fit: ${errors.join('; ')}`);

/**
 * What the tool is given: the validator's output where there is one (defaults and transforms applied), else a copy, so
 * that a tool which works on its arguments changes no record of them.
 */
export const argsFor = (call: Call): unknown =>
  call.parsedArgs === undefined ? copyArgs(call.args) : call.parsedArgs.value;

/** Arguments are JSON: what a call holds was read as such. */
export const copyArgs = (args: unknown): unknown => JSON.parse(JSON.stringify(args));
