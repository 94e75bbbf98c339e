import type { ModelInterface } from '../../contracts/index.js';
import type { Fetch, HeadersProvider } from './clean-fetch.js';
import { exchange, streamingModel } from './exchange.js';
import { CHAT_FRAME, type ChatFrame, chatFolder } from './openai-answer.js';
import { type ChatDialect, toChatRequest } from './openai-request.js';
import { isLoopback, loadSdk, missingKey } from './sdk.js';

/** A place that speaks chat completions. The functions are asked at every call. */
export interface ChatEndpoint {
  /** `openai`, `openrouter`: for messages. */
  readonly provider: string;
  readonly name: string;
  readonly baseUrl: () => string;
  readonly key: () => string | undefined;
  readonly keyVariable: string;
  readonly dialect: (baseUrl: string) => ChatDialect;
  readonly headers?: HeadersProvider | undefined;
  readonly fetch?: Fetch | undefined;
  readonly reportsCost?: 'always' | undefined;
}

/**
 * A model behind `endpoint`, through the `openai` client, an optional peer that is imported at the first call. Streams
 * always; never retries. Throws `ModelError`; `TroupeError` `MISSING_KEY` and `MISSING_PACKAGE` at the first call.
 */
export function chatModel(endpoint: ChatEndpoint): ModelInterface {
  const model = streamingModel(async function* generateStream(request) {
    const baseUrl = endpoint.baseUrl();
    const key = endpoint.key();
    if (key === undefined && !endpoint.headers && !isLoopback(baseUrl)) {
      throw missingKey(`${endpoint.provider}/${endpoint.name}`, endpoint.keyVariable);
    }
    const dialect = endpoint.dialect(baseUrl);
    const { body, names } = toChatRequest(request, dialect);
    yield* exchange<ChatFrame>(
      request,
      // The client insists on a key of its own; without one it must not reach the wire.
      {
        fetch: endpoint.fetch,
        headers: endpoint.headers,
        drop: key === undefined ? ['authorization'] : [],
        shape: CHAT_FRAME,
      },
      async ({ fetch, signal }) => {
        const { OpenAI } = await loadSdk('openai', '6.49.0', () => import('openai'));
        // Organisation and project of the environment belong to OpenAI alone.
        const elsewhere = endpoint.provider === 'openai' ? {} : { organization: null, project: null };
        const client = new OpenAI({ apiKey: key ?? 'none', baseURL: baseUrl, maxRetries: 0, fetch, ...elsewhere });
        const params = { ...body, model: endpoint.name, stream: true, stream_options: { include_usage: true } };
        const stream = await client.chat.completions.create(params as unknown as ChatParams, { signal });
        return stream as AsyncIterable<ChatFrame>;
      },
      chatFolder(names, { keepReasoning: dialect.reasoningDetails === true }),
    );
  });
  return { ...model, countsThoughtsAsOutput: true, reportsCost: endpoint.reportsCost };
}

type ChatParams = import('openai').OpenAI.ChatCompletionCreateParamsStreaming;
