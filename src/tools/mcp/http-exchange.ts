import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { boundedBody } from './bounded-body.js';
import type { McpHeaders } from './options.js';

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` with sockets of its own, kept for the next request and closed with `close()`. The global one keeps its
 * sockets for whoever comes later, and gives up on a server that is silent for five minutes.
 */
export interface HttpExchange {
  readonly fetch: Fetch;
  close(): void;
}

/** These belong to the protocol. */
const OWN_HEADERS = /^(mcp-.*|accept|content-type|content-length|transfer-encoding|connection)$/i;

/** `headers` never replace what the protocol itself sends. A body beyond `longestBytes` fails where it is read. */
export function createHttpExchange(headers: McpHeaders | undefined, longestBytes: number): HttpExchange {
  const agents = { 'http:': new HttpAgent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };

  async function once(url: URL, init: RequestInit, status: number | undefined): Promise<Response> {
    const given = typeof headers === 'function' ? await headers(status === undefined ? {} : { status }) : headers;
    const all = new Headers(init.headers);
    for (const [name, value] of new Headers(given)) if (!OWN_HEADERS.test(name)) all.set(name, value);
    const message = await send(url, init, all, agents);
    return toResponse(message, longestBytes);
  }

  return {
    async fetch(target, init = {}) {
      const url = new URL(target);
      const response = await once(url, init, undefined);
      if (response.status !== 401 || typeof headers !== 'function') return response;
      await response.body?.cancel();
      return once(url, init, 401);
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

function send(
  url: URL,
  { method = 'GET', body, signal }: RequestInit,
  headers: Headers,
  agents: { 'http:': HttpAgent; 'https:': HttpsAgent },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    const request = (isSecure ? httpsRequest : httpRequest)(url, {
      method,
      headers: Object.fromEntries(headers),
      agent: agents[isSecure ? 'https:' : 'http:'],
      ...(signal != null && { signal }),
    });
    request.once('response', resolve);
    // Also after the response has begun: a socket that breaks then is told of where the body is read.
    request.on('error', reject);
    request.end(typeof body === 'string' ? body : undefined);
  });
}

const WITHOUT_BODY = new Set([204, 205, 304]);

function toResponse(message: IncomingMessage, longestBytes: number): Response {
  const status = message.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one);
  }
  if (status < 200 || WITHOUT_BODY.has(status)) {
    message.resume();
    return new Response(null, { status: status < 200 ? 502 : status, headers });
  }
  const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
  // The types of Node's own streams and of the web's are not the same to the compiler.
  const body = Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>;
  return new Response(boundedBody(body, { longestBytes, isStream }), { status, headers });
}
