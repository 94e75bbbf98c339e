import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../contracts/index.js';
import { systemClock } from '../../kernel/clock.js';
import { TroupeError } from '../../kernel/errors.js';

export interface DoorOptions {
  /** Default 0: any that is free. */
  port?: number;
  /** Default `127.0.0.1`. Any address that is not of this machine alone needs a token. */
  hostname?: string;
  /** What a caller must show (`Authorization: Bearer …`, or `?token=`); several have a name each. Default: none. */
  token?: string | Readonly<Record<string, string>>;
  /** Names by which callers may address this server, beside its own. */
  hosts?: readonly string[];
  /** Origins of pages that may call. Default: those of this server. */
  origins?: readonly string[];
  /** Default 1 MB. */
  maxBodyBytes?: number;
  /** Default 256. */
  maxConnections?: number;
  /** Per caller. Default 600. */
  maxRequestsPerMinute?: number;
  clock?: Clock;
}

/** A request that was let in. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  /** Whose token was shown; empty where none is needed. */
  readonly user: string;
  /** The body as text; throws `TOO_LARGE`. */
  body(): Promise<string>;
}

export interface Door {
  /** `http://host:port` */
  readonly url: string;
  /** Lets nobody in any more, and ends what is open. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 256;
const MAX_REQUESTS_PER_MINUTE = 600;
const MINUTE_MS = 60_000;
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * An HTTP server that lets in only who may come in: addressed by its own name, from a page of its own or from no page,
 * with a right token, not too often. Everybody else gets a bare 403 (429 when too often). `isOpen`: paths that need no
 * token. Throws `INVALID_OPTION` when others could reach it without one; `hasNothing`: there is nothing to be had.
 */
export async function openDoor(
  options: DoorOptions,
  handle: (visit: Visit) => Promise<void>,
  isOpen: (path: string) => boolean = () => false,
  hasNothing = false,
): Promise<Door> {
  const { hostname = '127.0.0.1', port = 0, maxConnections = MAX_CONNECTIONS } = options;
  const tokens = digests(options.token);
  if (!LOOPBACK.has(hostname) && tokens.size === 0 && !hasNothing) {
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `${hostname} can be reached from other machines: give a token, or listen on 127.0.0.1`,
    });
  }
  const rate = createRate(options);
  let names: ReadonlySet<string> = new Set();
  const server = createServer((request, response) => {
    const turnAway = (status: number) => {
      response.writeHead(status, { 'content-length': '0', connection: 'close' });
      response.end();
    };
    const url = addressOf(request);
    const { origin } = request.headers;
    const isKnown = names.has((request.headers.host ?? '').toLowerCase());
    const isOwnPage = origin === undefined || (options.origins ?? []).includes(origin) || names.has(hostOf(origin));
    if (url === undefined || !isKnown || !isOwnPage) return turnAway(403);
    const user = tokens.size === 0 || isOpen(url.pathname) ? '' : userOf(request, url, tokens);
    // Who shows a wrong token may not try for ever either.
    if (!rate(`${user ?? '?'}|${request.socket.remoteAddress ?? ''}`)) return turnAway(429);
    if (user === undefined) return turnAway(403);
    handle({
      request,
      response,
      url,
      user,
      body: () => readBody(request, options.maxBodyBytes ?? MAX_BODY_BYTES),
    }).catch((thrown: unknown) => {
      if (response.headersSent) return response.destroy();
      const isLarge = thrown instanceof TroupeError && thrown.code === 'TOO_LARGE';
      turnAway(isLarge ? 413 : 500);
    });
  });
  server.maxConnections = maxConnections;
  await listen(server, port, hostname);
  const { port: taken } = server.address() as AddressInfo;
  const own = LOOPBACK.has(hostname) ? [...LOOPBACK] : [hostname];
  names = new Set([
    ...own.map((name) => withPort(name, taken)),
    ...(options.hosts ?? []).map((name) => name.toLowerCase()),
  ]);
  return {
    url: `http://${withPort(hostname, taken)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const withPort = (name: string, port: number): string => `${name.includes(':') ? `[${name}]` : name}:${port}`;

const listen = (server: Server, port: number, hostname: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (thrown: NodeJS.ErrnoException) => {
      const taken = `port ${port} of ${hostname} is taken: choose another one, or 0 for any that is free`;
      const message = thrown.code === 'EADDRINUSE' ? taken : `cannot listen: ${thrown.message}`;
      reject(new TroupeError({ code: 'INVALID_OPTION', message, cause: thrown }));
    });
    server.listen(port, hostname, resolve);
  });

function addressOf(request: IncomingMessage): URL | undefined {
  try {
    return new URL(request.url ?? '/', 'http://door');
  } catch {
    return undefined;
  }
}

function hostOf(origin: string): string {
  try {
    return new URL(origin).host;
  } catch {
    return '';
  }
}

// Of equal length whatever was shown, so that comparing tells nothing.
const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

function digests(token: DoorOptions['token']): ReadonlyMap<string, Buffer> {
  const named = token === undefined ? {} : typeof token === 'string' ? { user: token } : token;
  for (const [name, value] of Object.entries(named)) {
    if (name !== '' && value !== '') continue;
    throw new TroupeError({ code: 'INVALID_OPTION', message: 'a token and its name must not be empty' });
  }
  return new Map(Object.entries(named).map(([name, value]) => [name, digest(value)]));
}

function userOf(request: IncomingMessage, url: URL, tokens: ReadonlyMap<string, Buffer>): string | undefined {
  const { authorization } = request.headers;
  const shown = /^bearer /i.test(authorization ?? '')
    ? authorization?.slice('Bearer '.length)
    : url.searchParams.get('token');
  const given = digest(shown ?? '');
  let found: string | undefined;
  // All of them, every time.
  for (const [name, token] of tokens) if (timingSafeEqual(given, token)) found = name;
  return found;
}

function createRate({ maxRequestsPerMinute = MAX_REQUESTS_PER_MINUTE, clock = systemClock }: DoorOptions) {
  let counts = new Map<string, number>();
  let since = clock.now();
  return (caller: string): boolean => {
    const now = clock.now();
    if (now - since >= MINUTE_MS) {
      counts = new Map();
      since = now;
    }
    const count = (counts.get(caller) ?? 0) + 1;
    counts.set(caller, count);
    return count <= maxRequestsPerMinute;
  };
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What is left unread is let run out: who still sends would hear of a broken connection instead of an answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) break;
    chunks.push(chunk);
  }
  if (bytes > maxBytes) {
    request.resume();
    throw new TroupeError({ code: 'TOO_LARGE', message: `the body is larger than ${maxBytes} bytes` });
  }
  return Buffer.concat(chunks).toString('utf8');
}
