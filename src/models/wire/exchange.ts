import type { ContentPart, ModelInterface, ModelRequest, ModelResponse } from '../../contracts/index.js';
import { appendPart } from '../../kernel/content.js';
import { createCleanFetch, type Fetch, type HeadersProvider } from './clean-fetch.js';
import { errorOfClient } from './errors.js';
import type { Shape } from './frame-shape.js';
import { cancelled } from './status.js';

/** Turns the frames of one answer into increments. Both may throw a `ModelError`. */
export interface Folder<Frame> {
  push(frame: Frame): ModelResponse | undefined;
  /** What was held back, and last the finish reason. */
  end(): ModelResponse[];
}

/**
 * One request to a provider, from its first byte to the closed socket. `open` sends it through the client, which must
 * use the `fetch` and the signal that it is given. Throws `ModelError`, `CANCELLED` when the request's signal fired.
 */
export async function* exchange<Frame>(
  request: ModelRequest,
  options: { fetch?: Fetch | undefined; headers?: HeadersProvider | undefined; drop?: readonly string[]; shape: Shape },
  open: (port: { fetch: Fetch; signal: AbortSignal }) => Promise<AsyncIterable<Frame>>,
  folder: Folder<Frame>,
): AsyncGenerator<ModelResponse> {
  const caller = request.signal;
  if (caller?.aborted) throw cancelled(caller.reason);
  // Of our own: it also closes the socket when the consumer leaves early.
  const cut = new AbortController();
  const onAbort = () => cut.abort(caller?.reason);
  caller?.addEventListener('abort', onAbort, { once: true });
  const clean = createCleanFetch(options);
  try {
    for await (const frame of await open({ fetch: clean.fetch, signal: cut.signal })) {
      const increment = folder.push(frame);
      if (increment !== undefined) yield increment;
    }
    // A client may end its stream quietly on abort or on an error.
    if (clean.failure !== undefined) throw clean.failure;
    if (caller?.aborted) throw cancelled(caller.reason);
    yield* folder.end();
  } catch (thrown) {
    throw caller?.aborted ? cancelled(thrown) : (clean.failure ?? errorOfClient(thrown, clean));
  } finally {
    caller?.removeEventListener('abort', onAbort);
    cut.abort();
  }
}

/** A model whose whole answer is its stream, folded. */
export function streamingModel(generateStream: ModelInterface['generateStream']): ModelInterface {
  return {
    generateStream,
    async generate(request) {
      const content: ContentPart[] = [];
      const whole: ModelResponse = { content };
      for await (const increment of generateStream(request)) {
        for (const part of increment.content) appendPart(content, part);
        if (increment.toolCalls) whole.toolCalls = [...(whole.toolCalls ?? []), ...increment.toolCalls];
        if (increment.usage) whole.usage = increment.usage;
        if (increment.finishReason) whole.finishReason = increment.finishReason;
      }
      return whole;
    },
  };
}
