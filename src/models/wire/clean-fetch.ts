import { ModelError } from '../../kernel/errors.js';
import { brokenStream, errorInFrame, errorOfResponse, errorOfTransport } from './errors.js';
import { frameFault, type Shape } from './frame-shape.js';
import { createSseParser, type SseEvent } from './sse.js';

export type Fetch = typeof globalThis.fetch;

/**
 * Asked before every request; what it gives replaces the headers of the same names. `refused`: the provider has just
 * answered 401 to what it gave, so that it must come up with something new; that is sent once.
 */
export type HeadersProvider = (state?: {
  readonly refused?: boolean;
}) => Record<string, string> | Promise<Record<string, string>>;

export interface CleanFetch {
  readonly fetch: Fetch;
  /** Why the exchange failed, whatever the client that used `fetch` made of it. */
  readonly failure: ModelError | undefined;
  /** A frame of the answer has reached the client. */
  readonly hasBegun: boolean;
}

/**
 * A `fetch` for the client of a provider: one request, whose streamed answer reaches the client as whole JSON frames.
 * What the clients' own readers get wrong or hide ends here, as `failure`: a status outside 200–299, an error inside a
 * 200 stream, a frame that is not JSON, a cut socket. `drop` names headers that are taken off the client's request.
 */
export function createCleanFetch(options: {
  fetch?: Fetch | undefined;
  headers?: HeadersProvider | undefined;
  drop?: readonly string[];
  /** Of the frames: one that is something else breaks the stream. */
  shape?: Shape;
  /** The answer is one JSON text, and reaches the client as it is. */
  plain?: boolean;
}): CleanFetch {
  let failure: ModelError | undefined;
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
  };
  /** Credentials of the requests: a provider that repeats them in an error is not quoted with them. */
  const secrets = new Set<string>();
  const fail = (error: ModelError): ModelError => {
    for (const secret of secrets) error.message = error.message.replaceAll(secret, '[secret]');
    failure ??= error;
    return error;
  };

  const sendOnce = async (input: Parameters<Fetch>[0], init: RequestInit | undefined, refused: boolean) => {
    const headers = new Headers(init?.headers);
    for (const name of options.drop ?? []) headers.delete(name);
    const provided = await providedHeaders(options.headers, refused, fail);
    for (const [name, value] of Object.entries(provided)) headers.set(name, value);
    for (const secret of secretsIn(headers)) secrets.add(secret);
    const request = { ...init, headers };
    const answer = options.fetch ? options.fetch(input, request) : fetch(input, withoutTimeouts(request));
    return answer.catch((thrown: unknown) => {
      throw fail(errorOfTransport(thrown));
    });
  };

  const send: Fetch = async (input, init) => {
    let response = await sendOnce(input, init, false);
    if (response.status === 401 && options.headers !== undefined && !(init?.body instanceof ReadableStream)) {
      void response.body?.cancel().catch(() => undefined);
      response = await sendOnce(input, init, true);
    }
    if (!response.ok) {
      const body = await response.text().catch(() => '');
      throw fail(errorOfResponse(response.status, response.headers, body));
    }
    if (options.plain) return response;
    return new Response(cleanBody(response, { fail, begin, shape: options.shape }), {
      headers: { 'content-type': 'text/event-stream' },
    });
  };

  return {
    fetch: send,
    get failure() {
      return failure;
    },
    get hasBegun() {
      return hasBegun;
    },
  };
}

const SECRET_HEADER = /auth|key|token|secret|cookie/i;
const SHORTEST_SECRET = 8;

function* secretsIn(headers: Headers): Generator<string> {
  for (const [name, value] of headers) {
    if (!SECRET_HEADER.test(name)) continue;
    // A scheme stands before a credential.
    const [, secret = ''] = /^(?:\w+ )?(.+)$/.exec(value) ?? [];
    if (secret.length >= SHORTEST_SECRET) yield secret;
  }
}

async function providedHeaders(
  provider: HeadersProvider | undefined,
  refused: boolean,
  fail: (error: ModelError) => ModelError,
): Promise<Record<string, string>> {
  if (provider === undefined) return {};
  try {
    return await provider({ refused });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw fail(new ModelError({ code: 'UNAUTHENTICATED', message: `headers() of the model failed: ${reason}`, cause }));
  }
}

/** Frames as `data: …` chunks, one each; then the end, or the failure behind the frames that came before it. */
function cleanBody(
  response: Response,
  { fail, begin, shape }: { fail: (error: ModelError) => ModelError; begin: () => void; shape: Shape | undefined },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const reader = response.body?.getReader();
  const frames: Uint8Array[] = [];
  let ended = reader === undefined;
  let isPage = response.headers.get('content-type')?.startsWith('text/html') === true;
  let broken: ModelError | undefined;

  const parser = createSseParser();

  function accept({ data, event }: SseEvent): void {
    if (ended || broken !== undefined || data.trim() === '') return;
    isPage = false;
    if (data.trim() === '[DONE]') {
      ended = true;
      return;
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(data);
    } catch (cause) {
      broken = brokenStream('the provider sent a frame that is not JSON', cause);
      return;
    }
    // A provider that was not asked for events may send all its frames as one list.
    for (const frame of Array.isArray(parsed) ? parsed : [parsed]) {
      broken ??= errorInFrame(frame, event) ?? misshapen(frame);
      if (broken === undefined) frames.push(encoder.encode(`data: ${JSON.stringify(frame)}\n\n`));
    }
  }

  function misshapen(frame: unknown): ModelError | undefined {
    const fault = shape === undefined ? undefined : frameFault(frame, shape);
    return fault === undefined ? undefined : brokenStream(`the provider sent a frame that is no answer: ${fault}`);
  }

  function read(bytes: Uint8Array | undefined): void {
    for (const event of bytes === undefined ? [parser.end()] : parser.push(bytes)) if (event) accept(event);
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (frames.length === 0 && !ended && broken === undefined) {
          try {
            const next = await reader?.read();
            read(next?.value);
            if (next === undefined || next.done) ended = true;
            if (ended && isPage) broken = pageInstead(response.url);
          } catch (thrown) {
            broken = errorOfTransport(thrown);
          }
        }
        const frame = frames.shift();
        if (frame !== undefined) {
          begin();
          return controller.enqueue(frame);
        }
        // The socket goes back to the pool when all was read, and is closed when it was not.
        void reader?.cancel().catch(() => undefined);
        if (broken === undefined) controller.close();
        else controller.error(fail(broken));
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const pageInstead = (url: string): ModelError =>
  new ModelError({
    code: 'NOT_FOUND',
    message: `a web page answered in place of the provider${URL.canParse(url) ? ` at ${new URL(url).origin}` : ''}: look at the base URL (often it ends in /v1)`,
  });

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** undici gives up after 300 s without a byte; a model may think for longer. Elsewhere `init` stays as it is. */
function withoutTimeouts(init: RequestInit): RequestInit {
  const shared = Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')) as Dispatcher | undefined;
  if (typeof shared?.dispatch !== 'function') return init;
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) => shared.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return { ...init, dispatcher } as RequestInit;
}
