import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of the server: pieces of a stream, or a status with its error. */
export type GeminiAnswer = readonly object[] | { status: number; error: object } | 'hang';

export interface GeminiServer {
  readonly url: string;
  /** Path and body of every request, in order. */
  readonly requests: {
    path: string;
    body: { contents: { role: string; parts: Record<string, unknown>[] }[] } & Record<string, unknown>;
  }[];
  close(): Promise<void>;
}

/** Speaks as much of Gemini's protocol as its script says, on the loopback. */
export async function geminiServer(answers: readonly GeminiAnswer[]): Promise<GeminiServer> {
  const requests: GeminiServer['requests'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const answer = answers[requests.length] ?? {
        status: 500,
        error: { code: 500, message: 'nothing scripted', status: 'INTERNAL' },
      };
      requests.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString('utf8')) });
      if (answer === 'hang') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        return;
      }
      if ('status' in answer) {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: answer.error }));
        return;
      }
      const isStream = request.url?.includes('alt=sse') === true;
      response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      if (isStream) for (const piece of answer) response.write(`data: ${JSON.stringify(piece)}\r\n\r\n`);
      response.end(isStream ? undefined : JSON.stringify(answer.at(-1)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
