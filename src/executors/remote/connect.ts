import type { AgentCard } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import type { Clock, TraceContext } from '../../contracts/index.js';
import { describeError, ModelError, TroupeError } from '../../kernel/errors.js';
import { cutText } from '../../kernel/text.js';
import type { RemoteBackend } from './backend.js';
import { guardedFetch, originOf, permittedOrigins } from './guarded-fetch.js';

const PACKAGE = '@a2a-js/sdk';
/** What one answer of a remote may weigh; a stream in all. */
const MOST_BYTES = 32 * 1024 * 1024;
const MOST_CARD_BYTES = 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 300_000;
/** Of the card. */
const CARD_TIMEOUT_MS = 30_000;
const MOST_NAMED = 5;
const LONGEST_NAME = 200;

export interface Connection {
  readonly client: Client;
  readonly card: AgentCard;
  /** Both sides want streams. A peer that then refuses one is asked without. */
  streams: boolean;
  /** The card says that the peer tells of news. */
  readonly pushes: boolean;
  readonly sdk: typeof import('@a2a-js/sdk');
}

/** Reads the card and prepares a client; nothing else is sent. Rejects with `MISSING_PACKAGE`, `CANNOT_ENFORCE`, or how the card failed. */
export async function connect(
  backend: RemoteBackend,
  { clock, trace, signal }: { clock: Clock; trace: TraceContext | undefined; signal: AbortSignal },
): Promise<Connection> {
  const { sdk, clients } = await load();
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = backend;
  const fetchImpl = guardedFetch(backend, { clock, trace, timeoutMs, mostBytes: MOST_BYTES });
  const cardFetch = guardedFetch(backend, {
    clock,
    trace,
    timeoutMs: Math.min(timeoutMs, CARD_TIMEOUT_MS),
    mostBytes: MOST_CARD_BYTES,
    signal,
  });
  const legacyCompat = { enabled: true };
  const address = new URL(backend.cardUrl);
  const resolver = new clients.DefaultAgentCardResolver({ fetchImpl: cardFetch, legacyCompat });
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
    const origins = new Set(card.supportedInterfaces.map(({ url }) => originOf(url)));
    const named = [...origins].slice(0, MOST_NAMED).join(', ') || 'nowhere';
    throw new TroupeError({
      code: 'CANNOT_ENFORCE',
      message: `the card of ${backend.cardUrl} sends requests to ${named}; permit that with backend.allowOrigins`,
    });
  }
  const { streaming = false, pushNotifications: pushes = false } = card.capabilities ?? {};
  // Whether to stream is decided by who asks, not by the client.
  const capabilities = { extensions: [], ...card.capabilities, streaming: true };
  const own: AgentCard = {
    ...card,
    name: cutText(String(card.name), LONGEST_NAME),
    capabilities,
    supportedInterfaces: reachable,
  };
  const options = { fetchImpl, legacyCompat };
  const factory = new clients.ClientFactory({
    transports: [new clients.JsonRpcTransportFactory(options), new clients.RestTransportFactory(options)],
    cardResolver: resolver,
  });
  const client = await factory.createFromAgentCard(own).catch((thrown: unknown) => {
    throw noCard(backend.cardUrl, thrown);
  });
  return { client, card: own, streams: streaming && backend.streaming !== false, pushes, sdk };
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
