import type { AgentCard } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import type { TraceContext } from '../../contracts/index.js';
import { describeError, ModelError, TroupeError } from '../../kernel/errors.js';
import type { RemoteBackend } from './backend.js';

const PACKAGE = '@a2a-js/sdk';
/** What one answer of a remote may weigh; a stream in all. */
const MOST_BYTES = 32 * 1024 * 1024;

export interface Connection {
  readonly client: Client;
  readonly card: AgentCard;
  readonly sdk: typeof import('@a2a-js/sdk');
}

/** Reads the card and prepares a client; nothing else is sent. Rejects with `MISSING_PACKAGE`, `CANNOT_ENFORCE`, or how the card failed. */
export async function connect(backend: RemoteBackend, trace: TraceContext | undefined): Promise<Connection> {
  const { sdk, clients } = await load();
  const fetchImpl = guardedFetch(backend, trace);
  const legacyCompat = { enabled: true };
  const address = new URL(backend.cardUrl);
  const resolver = new clients.DefaultAgentCardResolver({ fetchImpl, legacyCompat });
  const isCard = address.pathname.endsWith('.json');
  const reading = isCard
    ? resolver.resolve(address.origin, `${address.pathname}${address.search}`)
    : resolver.resolve(backend.cardUrl.endsWith('/') ? backend.cardUrl : `${backend.cardUrl}/`);
  const card = await reading.catch((thrown: unknown) => {
    throw thrown instanceof TroupeError ? thrown : noCard(backend.cardUrl, thrown);
  });
  if (!Array.isArray(card?.supportedInterfaces)) throw noCard(backend.cardUrl, new Error('it names no interfaces'));
  const permitted = permittedOrigins(backend);
  const reachable = card.supportedInterfaces.filter(({ url }) => permitted.has(originOf(url)));
  if (reachable.length === 0) {
    const named = card.supportedInterfaces.map(({ url }) => originOf(url)).join(', ') || 'nowhere';
    throw new TroupeError({
      code: 'CANNOT_ENFORCE',
      message: `the card of ${backend.cardUrl} sends requests to ${named}; permit that with backend.allowOrigins`,
    });
  }
  const own: AgentCard = { ...card, supportedInterfaces: reachable };
  const options = { fetchImpl, legacyCompat };
  const factory = new clients.ClientFactory({
    transports: [new clients.JsonRpcTransportFactory(options), new clients.RestTransportFactory(options)],
    cardResolver: resolver,
  });
  return { client: await factory.createFromAgentCard(own), card: own, sdk };
}

function noCard(cardUrl: string, cause: unknown): ModelError {
  const { code, message } = describeError(cause, 'UNAVAILABLE');
  return new ModelError({ code, message: `the agent card at ${cardUrl} cannot be read: ${message}`, cause });
}

async function load() {
  try {
    const [sdk, clients] = await Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/client')]);
    return { sdk, clients };
  } catch (thrown) {
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message: `remote agents need the package ${PACKAGE}, which is not installed: npm i ${PACKAGE}`,
      cause: thrown,
    });
  }
}

const permittedOrigins = ({ cardUrl, allowOrigins = [] }: RemoteBackend): ReadonlySet<string> =>
  new Set([cardUrl, ...allowOrigins].map(originOf));

function originOf(address: string): string {
  try {
    return new URL(address).origin;
  } catch {
    return 'an address that is none';
  }
}

/**
 * Every request: with fresh credentials, to a permitted origin only, redirects refused (they would carry credentials to
 * wherever the peer says), and an answer that ends once it is too large.
 */
function guardedFetch(backend: RemoteBackend, trace: TraceContext | undefined): typeof fetch {
  const permitted = permittedOrigins(backend);
  const send = backend.fetch ?? fetch;
  return async (input, init = {}) => {
    const address = input instanceof Request ? input.url : String(input);
    if (!permitted.has(originOf(address))) {
      throw new TroupeError({ code: 'CANNOT_ENFORCE', message: `requests to ${originOf(address)} are not permitted` });
    }
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(await credentials(backend))) headers.set(name, value);
    if (trace?.parentSpanId !== undefined) headers.set('traceparent', traceparent(trace, trace.parentSpanId));
    const response = await send(input, { ...init, headers, redirect: 'error' });
    return bounded(response);
  };
}

const traceparent = ({ traceId, traceFlags = 1 }: TraceContext, spanId: string): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

async function credentials({ auth }: RemoteBackend): Promise<Record<string, string>> {
  if (auth === undefined) return {};
  if (typeof auth === 'object') return typeof auth.headers === 'function' ? auth.headers() : auth.headers;
  const token = typeof auth === 'function' ? await auth() : auth;
  return { authorization: `Bearer ${token}` };
}

function bounded(response: Response): Response {
  const { body } = response;
  if (body === null) return response;
  let bytes = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MOST_BYTES) return controller.enqueue(chunk);
      controller.error(
        new ModelError({ code: 'RESOURCE_EXHAUSTED', message: `the remote said more than ${MOST_BYTES} bytes` }),
      );
    },
  });
  const { status, statusText, headers } = response;
  return new Response(body.pipeThrough(counting), { status, statusText, headers });
}
