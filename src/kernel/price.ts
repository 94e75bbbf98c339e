import type { ModelPrice, ModelRequest, ModelUsage } from '../contracts/index.js';

const MILLION = 1_000_000;
/** What an answer can have where its price says nothing else. */
const MOST_OUTPUT_TOKENS = 65_536;
const MOST_INPUT_TOKENS = 1_000_000;

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

/**
 * What a call cost, in USD: cached tokens are part of the input tokens; thoughts stand beside the output tokens, or with
 * `thoughtsWithin` among them. Undefined where the provider did not say both input and output tokens.
 */
export function costOf(price: ModelPrice, usage: ModelUsage, thoughtsWithin = false): number | undefined {
  const { inputTokens, outputTokens, cachedTokens, thoughtTokens } = usage;
  if (!isAmount(inputTokens) || !isAmount(outputTokens)) return undefined;
  const cached = Math.min(isAmount(cachedTokens) ? cachedTokens : 0, inputTokens);
  const thought = isAmount(thoughtTokens) ? thoughtTokens : 0;
  const said = thoughtsWithin ? Math.max(0, outputTokens - thought) : outputTokens;
  const sum =
    (inputTokens - cached) * price.input +
    cached * (price.cached ?? price.input) +
    said * price.output +
    thought * (price.thought ?? price.output);
  return sum / MILLION;
}

/** The most that so many tokens can cost, in USD. */
export function mostOf(price: ModelPrice, inputTokens: number, outputTokens: number): number {
  const input = Math.max(price.input, price.cached ?? 0);
  return (inputTokens * input + outputTokens * dearestOutput(price)) / MILLION;
}

/** How many tokens of output `usd` can pay for beside `inputTokens`; below 0 where not even those. */
export function affordableOutput(price: ModelPrice, inputTokens: number, usd: number): number {
  const left = usd - mostOf(price, inputTokens, 0);
  const each = dearestOutput(price) / MILLION;
  if (left < 0) return -1;
  return each === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / each);
}

const dearestOutput = (price: ModelPrice): number => Math.max(price.output, price.thought ?? 0);

/** The most tokens that the answer to a request can have. */
export const outputBound = (request: Pick<ModelRequest, 'config'>, price: ModelPrice | undefined): number =>
  request.config?.maxOutputTokens ?? price?.maxOutputTokens ?? MOST_OUTPUT_TOKENS;

/** The most tokens that a request can have where nothing else bounds it. */
export const inputLimit = (price: ModelPrice): number => price.maxInputTokens ?? MOST_INPUT_TOKENS;

/** What is wrong with a price, in one sentence. */
export function priceFault(price: unknown): string | undefined {
  if (typeof price !== 'object' || price === null || Array.isArray(price))
    return 'must be { input, output, cached?, thought?, maxOutputTokens?, maxInputTokens? }, in USD per million tokens';
  for (const [key, value] of Object.entries(price)) {
    if (!KEYS.includes(key)) return `no "${key}" in a price; it has ${KEYS.join(', ')}`;
    if (value !== undefined && !isAmount(value)) return `${key} must be a number, 0 or more, not ${String(value)}`;
  }
  for (const key of ['input', 'output'] as const)
    if (!isAmount((price as ModelPrice)[key])) return `${key} is missing: USD per million tokens`;
  return undefined;
}

const KEYS = ['input', 'output', 'cached', 'thought', 'maxOutputTokens', 'maxInputTokens'];
