import type { StandardSchema } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';

type Validated = Awaited<ReturnType<StandardSchema<unknown, unknown>['~standard']['validate']>>;

interface Applied {
  faults: string[];
  value: unknown;
}

/**
 * What a schema's own validator makes of a value (defaults, transforms, refinements), or what is wrong with it. The
 * value stands in events, so one that is no JSON is taken as JSON writes it. At once where the validator answers at
 * once. Never throws, and never rejects.
 */
export function applyValidator(
  validator: StandardSchema<unknown, unknown>,
  value: unknown,
): Applied | Promise<Applied> {
  const failed = (thrown: unknown): Applied => ({
    faults: [`its validator failed: ${describeError(thrown).message}`],
    value,
  });
  const take = (result: Validated): Applied => {
    if (result.issues === undefined) return { faults: [], value: asJson(result.value) };
    const faults = result.issues.map(({ path = [], message }) => {
      const place = path.map((key) => `/${String(typeof key === 'object' ? key.key : key)}`).join('');
      return `${place} ${message}`.trim();
    });
    return { faults, value };
  };
  try {
    const result = validator['~standard'].validate(value);
    return result instanceof Promise ? result.then(take).catch(failed) : take(result);
  } catch (thrown) {
    return failed(thrown);
  }
}

const asJson = (value: unknown): unknown =>
  jsonFault(value) === undefined ? value : JSON.parse(JSON.stringify(value) ?? 'null');
