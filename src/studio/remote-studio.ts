import type { IncomingMessage } from 'node:http';
import { describeError, TroupeError } from '../kernel/errors.js';
import type { Visit } from '../surfaces/http/door.js';
import type { HostOverview, Overview } from './wire.js';

/** Says that a Studio asks: it is shown our own hosts alone, or two that show each other would ask for ever. */
export const ASKED_BY_STUDIO = 'troupe-studio';

/** A Studio that does not answer for so long is shown as one that does not. */
const PATIENCE_MS = 3_000;
const AGAIN_MS = 2_000;
/** Of an answer that is read here; what is passed on has no bound. */
const MOST_CHARACTERS = 32_000_000;

/**
 * Studio of another process, whose hosts are shown beside ours. Its answers go to the page as they come: what asks it is
 * this server, with the token that its address holds, which the page never sees.
 */
export class RemoteStudio {
  readonly #origin: string;
  readonly #token: string;
  readonly #listeners = new Set<() => void>();
  #listening: AbortController | undefined;

  /** `address`: as that Studio printed it. `key`: what the ids of its hosts begin with here. Throws `INVALID_OPTION`. */
  constructor(
    address: string,
    private readonly key: string,
  ) {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    const token = url?.searchParams.get('token');
    if (url === undefined || !/^https?:$/.test(url.protocol) || !token)
      throw new TroupeError({
        code: 'INVALID_OPTION',
        message: `connect: ${JSON.stringify(address)} is not the address of a Studio; give it as it was printed, as http://127.0.0.1:4000/?token=…`,
      });
    this.#origin = url.origin;
    this.#token = token;
  }

  /** The id that a host has there, of an id that it has here; undefined: it is no host of this one. */
  idThere(id: string): string | undefined {
    return id.startsWith(this.key) ? id.slice(this.key.length) : undefined;
  }

  /** Never rejects: a Studio that does not answer has one host, which says so. */
  async overview(): Promise<readonly HostOverview[]> {
    try {
      const response = await this.#ask('/api/overview', { signal: AbortSignal.timeout(PATIENCE_MS) });
      if (!response.ok)
        throw new Error(response.status === 403 ? 'it does not take this token any more' : `${response.status}`);
      const text = await response.text();
      if (text.length > MOST_CHARACTERS) throw new Error('its answer is too large');
      const { hosts } = JSON.parse(text) as Overview;
      if (!Array.isArray(hosts) || !hosts.every(isOverview)) throw new Error('its answer is none of a Studio');
      const place = new URL(this.#origin).host;
      return hosts.map((host) => ({ ...host, id: this.key + host.id, name: `${host.name} at ${place}` }));
    } catch (thrown) {
      const fault = `This Studio does not answer: ${reasonOf(thrown)}. Is its process still running?`;
      return [{ id: this.key, name: new URL(this.#origin).host, agents: [], sessions: [], can: [], fault }];
    }
  }

  /** Told after each change there, as long as somebody listens; also when it begins or ceases to answer. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#listening === undefined) {
      this.#listening = new AbortController();
      void this.#listen(this.#listening.signal);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#listening?.abort();
      this.#listening = undefined;
    };
  }

  /** Passes a request on, and the answer back as it comes. `path`: as it is there, with its query. */
  async forward({ request, response }: Visit, path: string, body?: string): Promise<void> {
    const leaving = new AbortController();
    response.on('close', () => leaving.abort());
    const answer = await this.#ask(path, {
      method: request.method ?? 'GET',
      signal: leaving.signal,
      headers: { ...lastEventIdOf(request), ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
    }).catch((thrown: unknown) => {
      throw new TroupeError({
        code: 'UNAVAILABLE',
        message: `that Studio does not answer: ${reasonOf(thrown)}`,
      });
    });
    response.writeHead(answer.status === 403 ? 502 : answer.status, {
      // Nothing from there is a page here.
      'content-type': `${isStream(answer) ? 'text/event-stream' : 'application/json'}; charset=utf-8`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.flushHeaders();
    try {
      for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
        if (!response.write(chunk))
          await new Promise<void>((resolve) => {
            response.once('drain', resolve);
            response.once('close', resolve);
          });
      }
      response.end();
    } catch {
      // Cut off there: here too, so that the page takes it up again.
      response.destroy();
    }
  }

  #ask(path: string, init: RequestInit & { headers?: Record<string, string> }): Promise<Response> {
    return fetch(`${this.#origin}${path}`, {
      ...init,
      redirect: 'error',
      headers: { ...init.headers, [ASKED_BY_STUDIO]: '1', authorization: `Bearer ${this.#token}` },
    });
  }

  async #listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { body, ok } = await this.#ask('/api/overview/stream', { signal });
        if (ok) for await (const _ of (body ?? []) as AsyncIterable<Uint8Array>) this.#tell();
      } catch {
        // It is tried again.
      }
      if (signal.aborted) return;
      this.#tell();
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS).unref());
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Why a request came to nothing: what stands behind it says more. */
const reasonOf = (thrown: unknown): string =>
  describeError(thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown).message;

const isStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;

const isOverview = ({ id, name, agents, sessions, can }: Partial<HostOverview>): boolean =>
  typeof id === 'string' && typeof name === 'string' && [agents, sessions, can].every(Array.isArray);

function lastEventIdOf({ headers }: IncomingMessage): Record<string, string> {
  const id = headers['last-event-id'];
  return typeof id === 'string' ? { 'last-event-id': id } : {};
}
