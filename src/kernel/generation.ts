import type { GenerationConfig } from '../contracts/index.js';

/** `upper` over `lower`: objects are merged, lists and all else replaced. Neither is changed. */
export function mergeGeneration(
  lower: GenerationConfig | undefined,
  upper: GenerationConfig | undefined,
): GenerationConfig | undefined {
  if (lower === undefined || upper === undefined) return upper ?? lower;
  return mergeObjects(lower, upper) as GenerationConfig;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function mergeObjects(lower: Record<string, unknown>, upper: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    if (value === undefined || key === '__proto__') continue;
    const below = result[key];
    result[key] = isObject(value) && isObject(below) ? mergeObjects(below, value) : value;
  }
  return result;
}
