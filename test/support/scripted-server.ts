import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** One answer. `chunks` are written one by one, each by itself; then the answer ends as `ending` says. */
export interface ScriptedAnswer {
  /** Default 200. */
  status?: number;
  /** Default: server-sent events. */
  headers?: Record<string, string>;
  chunks?: readonly (string | Uint8Array)[];
  /** Default `end`. `cut`: the socket is destroyed. `hang`: nothing more comes, until the client leaves. */
  ending?: 'end' | 'cut' | 'hang';
}

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body, read as JSON; a form as `{ form }`. */
  body: Record<string, unknown>;
  /** Resolves when the connection of this request's answer is closed or its answer is complete. */
  closed: Promise<'complete' | 'cut'>;
}

export interface ScriptedServer {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  /** In order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  /** The last one to arrive; throws when there was none. */
  lastRequest(): ReceivedRequest;
  /** Adds answers, taken in order. A request beyond them gets a 500 that says so. */
  answer(...answers: (ScriptedAnswer | ((request: ReceivedRequest) => ScriptedAnswer))[]): void;
  close(): Promise<void>;
}

/** A real HTTP server on loopback whose answers are scripted, byte by byte where that matters. */
export async function scriptedServer(): Promise<ScriptedServer> {
  const requests: ReceivedRequest[] = [];
  const answers: (ScriptedAnswer | ((request: ReceivedRequest) => ScriptedAnswer))[] = [];
  const sockets = new Set<Socket>();

  const server = createServer(async (incoming, response) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of incoming) pieces.push(piece as Uint8Array);
    const text = Buffer.concat(pieces).toString('utf8');
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: bodyOf(text),
      closed: new Promise((resolve) => {
        response.once('close', () => resolve(response.writableFinished ? 'complete' : 'cut'));
      }),
    };
    requests.push(request);
    const next = answers.shift();
    const answer = typeof next === 'function' ? next(request) : next;
    await write(response, answer ?? { status: 500, headers: {}, chunks: ['no answer was scripted for this request'] });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    // Each chunk is to leave as a packet of its own.
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    lastRequest() {
      const last = requests.at(-1);
      if (last === undefined) throw new Error('no request has arrived');
      return last;
    },
    answer: (...more) => void answers.push(...more),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function bodyOf(text: string): Record<string, unknown> {
  if (text === '') return {};
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { form: text };
}

async function write(response: ServerResponse, answer: ScriptedAnswer): Promise<void> {
  response.writeHead(answer.status ?? 200, answer.headers ?? { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  for (const chunk of answer.chunks ?? []) {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
  }
  if (answer.ending === 'hang') return;
  if (answer.ending === 'cut') response.destroy();
  else response.end();
}

/** Frames as server-sent events: objects as JSON, texts as they are. */
export function sse(...frames: (object | string)[]): string {
  return frames.map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`).join('');
}
