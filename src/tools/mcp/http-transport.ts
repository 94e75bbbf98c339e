import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/client';
import { OWN_ERROR } from './failure.js';
import { createHttpExchange } from './http-exchange.js';
import type { McpHttpServer } from './options.js';
import type { Sdk } from './sdk.js';

const LONGEST_MESSAGE_BYTES = 16 * 1_048_576;
/** By the real clock: whoever closes waits no longer for a server to take its leave. */
const LEAVE_MS = 1_000;
/** Marks a request on its way to our own `fetch`, where it is taken off again. */
const MARK = 'x-troupe-mark';
const RECONNECTING = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 5,
};

export interface HttpTransport extends Transport {
  readonly ending: string | undefined;
}

/**
 * The client's own transport, with what it lacks: an answer that ends without the response is a failure of the request
 * rather than silence, bodies are bounded, and nothing is left of it once it is closed: no socket, no timer.
 */
export function createHttpTransport(sdk: Sdk, server: Pick<McpHttpServer, 'url' | 'headers'>): HttpTransport {
  const exchange = createHttpExchange(server.headers, LONGEST_MESSAGE_BYTES);
  const timers = new Set<NodeJS.Timeout>();
  const unanswered = new Set<RequestId>();
  /** Marks of requests whose answer came as a whole, not as a stream. */
  const whole = new Set<string>();
  let marks = 0;
  let closing: Promise<void> | undefined;

  const inner = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
    async fetch(url, init) {
      const headers = new Headers(init?.headers);
      const mark = headers.get(MARK);
      headers.delete(MARK);
      const response = await exchange.fetch(url, { ...init, headers });
      const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
      // A redirect is followed, and what it leads to is marked in its place.
      if (mark !== null && !isStream && (response.status < 300 || response.status > 399)) whole.add(mark);
      return response;
    },
    reconnectionOptions: RECONNECTING,
    reconnectionScheduler(reconnect, delayMs) {
      const timer = setTimeout(() => {
        timers.delete(timer);
        reconnect();
      }, delayMs);
      timers.add(timer);
      return () => {
        clearTimeout(timer);
        timers.delete(timer);
      };
    },
  });

  const transport: HttpTransport = {
    hasPerRequestStream: true,
    get ending() {
      return closing === undefined ? undefined : 'it was closed';
    },
    get sessionId() {
      return inner.sessionId;
    },
    setProtocolVersion: (version) => inner.setProtocolVersion(version),
    start: () => inner.start(),
    send,
    close() {
      closing ??= close();
      return closing;
    },
  };
  inner.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
    if ('id' in message && message.id !== undefined && !('method' in message)) unanswered.delete(message.id);
    transport.onmessage?.(message, extra);
  };
  inner.onerror = (error) => transport.onerror?.(error);
  inner.onclose = () => transport.onclose?.();

  async function send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    if (closing !== undefined) throw new Error('not connected: it was closed');
    if (!('method' in message) || !('id' in message)) return inner.send(message, options);
    const { id } = message;
    const mark = String(marks++);
    const { requestSignal, onRequestStreamEnd } = options;
    unanswered.add(id);
    requestSignal?.addEventListener('abort', () => unanswered.delete(id), { once: true });
    try {
      await inner.send(message, {
        ...options,
        headers: { ...options.headers, [MARK]: mark },
        onRequestStreamEnd() {
          onRequestStreamEnd?.();
          miss(id);
        },
      });
      if (whole.has(mark)) miss(id);
    } catch (thrown) {
      unanswered.delete(id);
      throw thrown;
    } finally {
      whole.delete(mark);
    }
  }

  /** Nothing more comes for a request. */
  function miss(id: RequestId): void {
    if (!unanswered.delete(id) || closing !== undefined) return;
    const error = { code: OWN_ERROR, message: 'its answer ended before the result' };
    transport.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  async function close(): Promise<void> {
    if (inner.sessionId !== undefined) await within(LEAVE_MS, inner.terminateSession());
    await inner.close();
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    exchange.close();
  }

  return transport;
}

function within(limitMs: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}
