import type { StandardSchema } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';

/**
 * What a schema's own validator makes of a value (defaults, transforms, refinements), or what is wrong with it. The
 * value stands in events, so one that is no JSON is taken as JSON writes it. Never rejects.
 */
export async function applyValidator(
  validator: StandardSchema<unknown, unknown>,
  value: unknown,
): Promise<{ faults: string[]; value: unknown }> {
  try {
    const result = await validator['~standard'].validate(value);
    if (result.issues === undefined) return { faults: [], value: asJson(result.value) };
    const faults = result.issues.map(({ path = [], message }) => {
      const place = path.map((key) => `/${String(typeof key === 'object' ? key.key : key)}`).join('');
      return `${place} ${message}`.trim();
    });
    return { faults, value };
  } catch (thrown) {
    return { faults: [`its validator failed: ${describeError(thrown).message}`], value };
  }
}

const asJson = (value: unknown): unknown =>
  jsonFault(value) === undefined ? value : JSON.parse(JSON.stringify(value) ?? 'null');
