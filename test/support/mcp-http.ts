import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { buildServer } from './mcp-tools.mjs';

export interface McpHttpServer {
  readonly url: string;
  readonly requests: readonly { method: string; headers: IncomingHttpHeaders; body: string }[];
  readonly events: readonly string[];
  /** Sockets that clients hold. */
  readonly sockets: ReadonlySet<Socket>;
  /** Resolves with the n-th event of that name, from 1. */
  event(name: string, nth?: number): Promise<void>;
  /** Resolves when no client holds a socket any more. */
  noSockets(): Promise<void>;
  /** Tells those who listen that the list of tools has changed (modern). */
  toolsChanged(): void;
  /** Forgets every session: what a server does that is started anew. */
  forget(): void;
  /** Called before each request; what it returns is the answer. */
  intercept: ((request: IncomingMessage, body: string) => Response | undefined) | undefined;
  close(): Promise<void>;
}

type Fetch = (request: Request) => Promise<Response>;

/** A real server of the official package on loopback: `modern` (also answers the old way, without sessions) or `legacy`, with sessions. */
export async function mcpHttpServer(
  kind: 'modern' | 'legacy',
  options: { resources?: boolean } = {},
): Promise<McpHttpServer> {
  const requests: McpHttpServer['requests'][number][] = [];
  const events: string[] = [];
  const sockets = new Set<Socket>();
  let changed: (() => void)[] = [];
  const change = () => {
    const told = changed;
    changed = [];
    for (const tell of told) tell();
  };
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => changed.push(resolve));
  };
  const say = (event: string) => {
    events.push(event);
    change();
  };
  const modern = kind === 'modern' ? createMcpHandler(() => buildServer(say, options), { keepAliveMs: 0 }) : undefined;
  const sessions = new Map<string, { fetch: Fetch; close: () => Promise<void> }>();

  async function legacy(request: Request): Promise<Response> {
    const given = request.headers.get('mcp-session-id');
    const known = given === null ? undefined : sessions.get(given);
    if (known !== undefined) return known.fetch(request);
    if (given !== null) return new Response('Session not found', { status: 404 });
    const server = buildServer(say, options);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: (id) => {
        sessions.delete(id);
        say('session closed');
      },
    });
    const session = { fetch: (one: Request) => transport.handleRequest(one), close: () => server.close() };
    await server.connect(transport);
    return transport.handleRequest(request);
  }

  const http = createServer((incoming, outgoing) => {
    void answer(incoming, outgoing).catch((thrown) => outgoing.destroy(thrown as Error));
  });
  http.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      change();
    });
  });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const pieces: Uint8Array[] = [];
    for await (const piece of incoming) pieces.push(piece as Uint8Array);
    const body = Buffer.concat(pieces).toString('utf8');
    const method = incoming.method ?? 'GET';
    requests.push({ method, headers: incoming.headers, body });
    say(`${method} ${body === '' ? '' : String((JSON.parse(body) as { method?: string }).method)}`.trim());
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method,
      headers: incoming.headers as Record<string, string>,
      signal: gone.signal,
      ...(body !== '' && { body }),
    });
    const response = own.intercept?.(incoming, body) ?? (await (modern?.fetch ?? legacy)(request));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    const reader = response.body?.getReader();
    gone.signal.addEventListener('abort', () => void reader?.cancel().catch(() => {}));
    for (let step = await reader?.read(); step !== undefined && !step.done; step = await reader?.read()) {
      if (outgoing.destroyed) break;
      outgoing.write(step.value);
    }
    outgoing.end();
  }

  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const own: McpHttpServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests,
    events,
    sockets,
    event: (name, nth = 1) => until(() => events.filter((one) => one === name).length >= nth),
    noSockets: () => until(() => sockets.size === 0),
    toolsChanged: () => modern?.notify.toolsChanged(),
    forget: () => sessions.clear(),
    intercept: undefined,
    async close() {
      await modern?.close();
      for (const session of sessions.values()) await session.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return own;
}
