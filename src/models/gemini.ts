import type { GoogleGenAI } from '@google/genai';
import type { ModelInterface } from '../contracts/index.js';
import { ModelError } from '../kernel/errors.js';
import { createCleanFetch, type Fetch, type HeadersProvider } from './wire/clean-fetch.js';
import { errorOfClient } from './wire/errors.js';
import { exchange, streamingModel } from './wire/exchange.js';
import { GEMINI_FRAME, type GeminiFrame, geminiFolder } from './wire/gemini-answer.js';
import { toGeminiRequest } from './wire/gemini-request.js';
import { fromEnvironment, loadSdk, missingKey } from './wire/sdk.js';
import { cancelled } from './wire/status.js';

export interface GeminiOptions {
  /** What stands after `gemini/`: `gemini-flash-latest`, say. */
  name: string;
  /** Default: `GEMINI_API_KEY`, then `GOOGLE_API_KEY`. Not needed with `headers`. */
  apiKey?: string;
  /** Default: `GOOGLE_GEMINI_BASE_URL`, then Google's own. */
  baseUrl?: string;
  /** Headers of every request, asked each time: bearer tokens that are refreshed. */
  headers?: HeadersProvider;
  /** Another transport. */
  fetch?: Fetch;
}

/**
 * Gemini through the `@google/genai` client, an optional peer that is imported at the first call. Streams always;
 * never retries. Throws `ModelError`; `TroupeError` `MISSING_KEY` and `MISSING_PACKAGE` at the first call.
 */
export function geminiModel(options: GeminiOptions): ModelInterface {
  let client: { of: string; made: GoogleGenAI } | undefined;

  async function connect(key: string): Promise<GoogleGenAI> {
    const baseUrl = options.baseUrl ?? fromEnvironment('GOOGLE_GEMINI_BASE_URL');
    const of = JSON.stringify([key, baseUrl]);
    if (client?.of !== of) {
      const sdk = await loadSdk('@google/genai', '2.32.0', () => import('@google/genai'));
      const httpOptions = baseUrl === undefined ? {} : { httpOptions: { baseUrl } };
      client = { of, made: new sdk.GoogleGenAI({ apiKey: key, vertexai: false, ...httpOptions }) };
    }
    return client.made;
  }

  const credentials = () => {
    const key = options.apiKey ?? (options.headers ? undefined : fromEnvironment('GEMINI_API_KEY', 'GOOGLE_API_KEY'));
    if (key === undefined && !options.headers) throw missingKey(`gemini/${options.name}`, 'GEMINI_API_KEY');
    // The client insists on a key of its own; without one it must not reach the wire.
    const drop = key === undefined ? ['x-goog-api-key'] : [];
    return { key: key ?? 'from-headers', transport: { fetch: options.fetch, headers: options.headers, drop } };
  };

  const streaming = streamingModel(async function* generateStream(request) {
    const { key, transport } = credentials();
    const { contents, config, names } = toGeminiRequest(request);
    yield* exchange<GeminiFrame>(
      request,
      { ...transport, shape: GEMINI_FRAME },
      async ({ fetch, signal }) => {
        const { models } = await connect(key);
        return models.generateContentStream({
          model: options.name,
          contents,
          config: {
            ...config,
            abortSignal: signal,
            httpOptions: { fetch },
            automaticFunctionCalling: { disable: true },
            automaticContinuation: false,
          },
        }) as Promise<AsyncIterable<GeminiFrame>>;
      },
      geminiFolder(names),
    );
  });

  return {
    ...streaming,
    async countTokens({ messages, signal }) {
      const { key, transport } = credentials();
      const { contents } = toGeminiRequest({ messages });
      const clean = createCleanFetch({ ...transport, plain: true });
      try {
        const { models } = await connect(key);
        const { totalTokens } = await models.countTokens({
          model: options.name,
          contents,
          config: { httpOptions: { fetch: clean.fetch }, ...(signal !== undefined && { abortSignal: signal }) },
        });
        if (typeof totalTokens === 'number') return totalTokens;
      } catch (thrown) {
        throw signal?.aborted ? cancelled(thrown) : (clean.failure ?? errorOfClient(thrown));
      }
      throw new ModelError({ code: 'INTERNAL', message: 'the provider counted no tokens' });
    },
  };
}
