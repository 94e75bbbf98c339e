import type { GenerationConfig, ModelInterface } from '../contracts/index.js';
import { chatModel } from './wire/chat-model.js';
import type { Fetch, HeadersProvider } from './wire/clean-fetch.js';
import { fromEnvironment } from './wire/sdk.js';

export interface OpenRouterOptions {
  /** What stands after `openrouter/`: `anthropic/claude-sonnet-4.5`, say. */
  name: string;
  /** Default: `OPENROUTER_API_KEY`. Not needed with `headers`, nor for a server on this machine. */
  apiKey?: string;
  /** Default: `OPENROUTER_BASE_URL`, then OpenRouter's own. */
  baseUrl?: string;
  /** Headers of every request, asked each time. */
  headers?: HeadersProvider;
  /** Another transport. */
  fetch?: Fetch;
}

/** OpenRouter: chat completions with reasoning, which goes back as it came, and the cost of the call. */
export function openrouterModel(options: OpenRouterOptions): ModelInterface {
  return chatModel({
    provider: 'openrouter',
    name: options.name,
    baseUrl: () => options.baseUrl ?? fromEnvironment('OPENROUTER_BASE_URL') ?? 'https://openrouter.ai/api/v1',
    key: () => options.apiKey ?? (options.headers ? undefined : fromEnvironment('OPENROUTER_API_KEY')),
    keyVariable: 'OPENROUTER_API_KEY',
    dialect: () => ({ maxTokens: 'max_tokens', reasoningDetails: true, extras }),
    headers: options.headers,
    fetch: options.fetch,
    reportsCost: 'always',
  });
}

function extras({ thinking, topK }: GenerationConfig): Record<string, unknown> {
  const fields: Record<string, unknown> = { usage: { include: true } };
  if (topK !== undefined) fields.top_k = topK;
  if (!thinking) return fields;
  const reasoning: Record<string, unknown> = {};
  if (thinking.budget === 0) reasoning.enabled = false;
  else if (thinking.budget !== undefined) reasoning.max_tokens = thinking.budget;
  if (thinking.includeThoughts === false) reasoning.exclude = true;
  else if (thinking.budget === undefined) reasoning.enabled = true;
  fields.reasoning = reasoning;
  return fields;
}
