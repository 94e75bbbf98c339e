import type { ModelInterface } from '../contracts/index.js';
import { chatModel } from './wire/chat-model.js';
import type { Fetch, HeadersProvider } from './wire/clean-fetch.js';
import { fromEnvironment } from './wire/sdk.js';

export interface OpenAiOptions {
  /** What stands after `openai/`. */
  name: string;
  /** Default: `OPENAI_API_KEY`. Not needed with `headers`, nor for a server on this machine. */
  apiKey?: string;
  /** Of any endpoint that speaks chat completions. Default: `OPENAI_BASE_URL`, then OpenAI's own. */
  baseUrl?: string;
  /** Headers of every request, asked each time: bearer tokens that are refreshed. */
  headers?: HeadersProvider;
  /** Another transport. */
  fetch?: Fetch;
}

const OWN_BASE_URL = 'https://api.openai.com/v1';

/** OpenAI, or any endpoint that speaks its chat completions. Failures: see `ModelInterface`. */
export function openaiModel(options: OpenAiOptions): ModelInterface {
  return chatModel({
    provider: 'openai',
    name: options.name,
    baseUrl: () => options.baseUrl ?? fromEnvironment('OPENAI_BASE_URL') ?? OWN_BASE_URL,
    key: () => options.apiKey ?? (options.headers ? undefined : fromEnvironment('OPENAI_API_KEY')),
    keyVariable: 'OPENAI_API_KEY',
    // OpenAI refuses the old name for its reasoning models; others know only that one.
    dialect: (baseUrl) => ({ maxTokens: baseUrl.startsWith(OWN_BASE_URL) ? 'max_completion_tokens' : 'max_tokens' }),
    headers: options.headers,
    fetch: options.fetch,
  });
}
