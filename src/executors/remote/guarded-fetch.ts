import type { Clock, TraceContext } from '../../contracts/index.js';
import { ModelError, TroupeError } from '../../kernel/errors.js';
import { codeOfStatus } from '../../kernel/status.js';
import { cutText } from '../../kernel/text.js';
import type { RemoteBackend } from './backend.js';

export interface GuardOptions {
  readonly clock: Clock;
  readonly trace: TraceContext | undefined;
  /** What one answer may weigh; a stream in all. */
  readonly mostBytes: number;
  /** How long the peer may be silent: before an answer, in one that is whole, between two lines of a stream. */
  readonly timeoutMs: number;
  /** Ends requests that have no signal of their own. */
  readonly signal?: AbortSignal;
}

/** Statuses that say that nothing was begun. */
const NOT_THERE: readonly number[] = [404, 405, 406, 501];
const LONGEST_EXCERPT = 200;

/**
 * Every request: with fresh credentials, to a permitted origin only, redirects refused (they would carry credentials to
 * wherever the peer says). An answer ends once it is too large, or the peer too long silent. Where a stream was asked for
 * and the answer came whole, it is a stream of one.
 */
export function guardedFetch(backend: RemoteBackend, options: GuardOptions): typeof fetch {
  const permitted = permittedOrigins(backend);
  const send = backend.fetch ?? fetch;
  const { trace } = options;
  return async (input, init = {}) => {
    const address = input instanceof Request ? input.url : String(input);
    if (!permitted.has(originOf(address))) {
      throw new TroupeError({ code: 'CANNOT_ENFORCE', message: `requests to ${originOf(address)} are not permitted` });
    }
    const headers = new Headers(init.headers);
    const wantsStream = headers.get('accept')?.includes(EVENT_STREAM) === true;
    for (const [name, value] of Object.entries(await credentials(backend))) headers.set(name, value);
    if (trace?.parentSpanId !== undefined) headers.set('traceparent', traceparent(trace, trace.parentSpanId));
    const patience = new Patience(options, init.signal ?? options.signal);
    let response: Response;
    try {
      response = await send(input, { ...init, headers, redirect: 'error', signal: patience.signal });
    } catch (thrown) {
      patience.end();
      throw patience.signal.aborted ? patience.signal.reason : withCause(thrown);
    }
    const answer = bounded(response, patience, options.mostBytes);
    if (!answer.ok) return failed(answer);
    const isWhole = answer.headers.get('content-type')?.includes('json') === true;
    return wantsStream && isWhole ? streamOfOne(answer) : answer;
  };
}

export const permittedOrigins = ({ cardUrl, allowOrigins = [] }: RemoteBackend): ReadonlySet<string> =>
  new Set([cardUrl, ...allowOrigins].map(originOf));

export function originOf(address: string): string {
  try {
    return new URL(address).origin;
  } catch {
    return 'an address that is none';
  }
}

/** True: the peer does not do what it was asked, and has begun nothing. */
export function isUnsupported(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown instanceof ModelError) return NOT_THERE.includes(thrown.status ?? 0);
  const { envelopeCode, cause } = thrown as { envelopeCode?: unknown; cause?: unknown };
  if (envelopeCode === METHOD_NOT_FOUND || envelopeCode === UNSUPPORTED_OPERATION) return true;
  return thrown.name.endsWith('UnsupportedOperationError') || isUnsupported(cause);
}

const METHOD_NOT_FOUND = -32601;
const UNSUPPORTED_OPERATION = -32004;
const EVENT_STREAM = 'text/event-stream';

const traceparent = ({ traceId, traceFlags = 1 }: TraceContext, spanId: string): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

async function credentials({ auth }: RemoteBackend): Promise<Record<string, string>> {
  if (auth === undefined) return {};
  if (typeof auth === 'object') return typeof auth.headers === 'function' ? auth.headers() : auth.headers;
  const token = typeof auth === 'function' ? await auth() : auth;
  return { authorization: `Bearer ${token}` };
}

/** What a failed `fetch` hides. */
function withCause(thrown: unknown): unknown {
  if (!(thrown instanceof TypeError) || !(thrown.cause instanceof Error)) return thrown;
  return new ModelError({ code: 'UNAVAILABLE', message: `${thrown.message}: ${thrown.cause.message}`, cause: thrown });
}

/** An error in the words of the protocol goes on; anything else is told by its status. */
async function failed(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  if (isProtocolError(text)) return new Response(text, { status, statusText, headers });
  const excerpt = cutText(text.trim(), LONGEST_EXCERPT);
  const what = [`${status}`, statusText, excerpt].filter((part) => part !== '').join(' ');
  throw new ModelError({ code: codeOfStatus(status), status, message: `the remote answered ${what}` });
}

function isProtocolError(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'object' && error !== null;
  } catch {
    return false;
  }
}

/** JSON has no line breaks of its own once it is read: one event. */
async function streamOfOne(response: Response): Promise<Response> {
  const line = (await response.text()).replaceAll(/[\r\n]+/g, ' ');
  const headers = { 'content-type': EVENT_STREAM };
  return new Response(line.trim() === '' ? '' : `data: ${line}\n\n`, { headers });
}

/** The signal of one request: the caller's, or that the peer was silent for too long. */
class Patience {
  readonly #stop = new AbortController();
  readonly #caller: AbortSignal | undefined;
  #cancel: () => void = () => {};
  #onSilence: (fault: Error) => void = (fault) => this.#stop.abort(fault);

  constructor(
    private readonly options: Pick<GuardOptions, 'clock' | 'timeoutMs'>,
    caller: AbortSignal | undefined,
  ) {
    this.#caller = caller;
    if (caller?.aborted) this.#stop.abort(caller.reason);
    caller?.addEventListener('abort', this.#onAbort, { once: true });
    this.renew();
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** It has said something. */
  renew(): void {
    this.#cancel();
    const { clock, timeoutMs } = this.options;
    const message = `the remote was silent for ${timeoutMs} ms`;
    this.#cancel = clock.schedule(
      () => this.#onSilence(new ModelError({ code: 'DEADLINE_EXCEEDED', message })),
      timeoutMs,
    );
  }

  onSilence(tell: (fault: Error) => void): void {
    this.#onSilence = tell;
  }

  end(): void {
    this.#cancel();
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => {
    this.#cancel();
    this.#stop.abort(this.#caller?.reason);
  };
}

const LINE_FEED = 0x0a;

function bounded(response: Response, patience: Patience, mostBytes: number): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    patience.end();
    return response;
  }
  const isStream = headers.get('content-type')?.includes(EVENT_STREAM) === true;
  const reader = body.getReader();
  let bytes = 0;
  const fail = (controller: ReadableStreamDefaultController<Uint8Array>, fault: unknown) => {
    patience.end();
    controller.error(fault);
    reader.cancel(fault).catch(() => {});
  };
  const counted = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        patience.renew();
        patience.onSilence((fault) => fail(controller, fault));
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            patience.end();
            return controller.close();
          }
          bytes += value.byteLength;
          if (bytes > mostBytes) {
            const message = `the remote said more than ${mostBytes} bytes`;
            return fail(controller, new ModelError({ code: 'RESOURCE_EXHAUSTED', message }));
          }
          // A stream that drips is no stream: only whole lines count.
          if (isStream && value.includes(LINE_FEED)) patience.renew();
          controller.enqueue(value);
        } catch (thrown) {
          patience.end();
          controller.error(withCause(thrown));
        }
      },
      cancel(reason) {
        patience.end();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(counted, { status, statusText, headers });
}
