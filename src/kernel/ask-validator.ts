import type { StandardSchema } from '../contracts/index.js';
import { describeError } from './errors.js';

/** What a schema's own validator says of a value. */
export interface Verdict {
  /** Each in one sentence, the place first; empty when the value fits. */
  readonly faults: string[];
  /** What the validator made of it (defaults, transforms); the value that was given when it does not fit. */
  readonly value: unknown;
}

/**
 * Asks a schema's own validator. At once where it answers at once. Never throws, and never rejects: a validator that
 * breaks, that says neither `value` nor `issues`, or whose value is undefined, has found the value unfit.
 */
export function askValidator(validator: StandardSchema<unknown, unknown>, value: unknown): Verdict | Promise<Verdict> {
  const unfit = (...faults: string[]): Verdict => ({ faults, value });
  const failed = (thrown: unknown) => unfit(`its validator failed: ${describeError(thrown).message}`);
  const take = (said: unknown): Verdict => {
    if (typeof said !== 'object' || said === null) return unfit(`${NO_VERDICT}, not ${String(said)}`);
    const { issues, value: made } = said as { issues?: unknown; value?: unknown };
    if (issues === undefined) return made === undefined ? unfit(NO_VERDICT) : { faults: [], value: made };
    const faults = Array.isArray(issues) ? issues.map(faultOf) : [];
    return faults.length > 0 ? unfit(...faults) : unfit('its validator refused it without saying why');
  };
  try {
    const said: unknown = validator['~standard'].validate(value);
    return isThenable(said) ? Promise.resolve(said).then(take).catch(failed) : take(said);
  } catch (thrown) {
    return failed(thrown);
  }
}

const NO_VERDICT = 'its validator must say { value } or { issues }';

function faultOf(issue: unknown): string {
  const { path, message } = Object(issue) as { path?: unknown; message?: unknown };
  const keys = Array.isArray(path) ? path : [];
  const place = keys.map((key) => `/${String(typeof key === 'object' && key !== null ? key.key : key)}`).join('');
  return `${place} ${typeof message === 'string' ? message : 'does not fit'}`.trim();
}

const isThenable = (said: unknown): said is PromiseLike<unknown> =>
  typeof said === 'object' && said !== null && 'then' in said && typeof said.then === 'function';
