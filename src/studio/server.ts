import { randomBytes } from 'node:crypto';
import type { HostInspection } from '../host/inspection.js';
import type { InspectServer, InspectServerOptions } from '../host/types.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { openDoor, type Visit } from '../surfaces/http/door.js';
import { obey } from './commands.js';
import { streamInspection } from './inspection-stream.js';
import { overviewOf } from './overview.js';
import { pageFile } from './page.js';
import { Page } from './page-stream.js';
import { planOf } from './plans.js';
import { ASKED_BY_STUDIO, RemoteStudio } from './remote-studio.js';
import { seqOf, streamSession } from './session-stream.js';
import { shownEvent } from './shown-event.js';
import { watchingStore } from './store-watch.js';
import { toldSteps } from './told-steps.js';
import type { Command, LogPage } from './wire.js';

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const MOST_EVENTS = 5_000;
const MOST_CHARACTERS = 8_000_000;
/** A page asks for files, logs and streams in bursts. */
const REQUESTS_PER_MINUTE = 6_000;
const OVERVIEW_MS = 200;
const IS_JSON = /^application\/json\s*(;|$)/i;

/** Serves Studio for some hosts of this process, until it is closed. Rejects with `INVALID_OPTION` when it cannot listen. */
export async function serveStudio(
  inspections: readonly HostInspection[],
  options: InspectServerOptions = {},
): Promise<InspectServer> {
  const { token = randomBytes(24).toString('base64url') } = options;
  const byId = new Map(inspections.map((inspection, at) => [String(at + 1), watchingStore(inspection)]));
  const remotes = (options.connect ?? []).map((address, at) => new RemoteStudio(address, `r${at + 1}-`));
  const studio = new Studio(byId, remotes, token);
  const door = await openDoor(
    {
      port: options.port ?? 0,
      hostname: options.hostname ?? '127.0.0.1',
      token,
      maxRequestsPerMinute: REQUESTS_PER_MINUTE,
      maxConnections: 64,
    },
    (visit) => studio.answer(visit),
  );
  return { url: `${door.url}/?token=${encodeURIComponent(token)}`, close: () => door.close() };
}

class Studio {
  constructor(
    private readonly inspections: ReadonlyMap<string, HostInspection>,
    private readonly remotes: readonly RemoteStudio[],
    private readonly token: string,
  ) {}

  async answer(visit: Visit): Promise<void> {
    try {
      await this.#route(visit);
    } catch (thrown) {
      const { code, message } = describeError(thrown);
      if (visit.response.headersSent) return void visit.response.destroy();
      json(visit, thrown instanceof TroupeError ? statusOf(code) : 500, { code, message });
    }
  }

  async #route(visit: Visit): Promise<void> {
    const { request, url } = visit;
    const [, api, kind, hostId, session, what, ...more] = url.pathname.split('/').map(decode);
    if (request.method === 'POST' && url.pathname === '/api/command') return this.#command(visit);
    if (request.method !== 'GET')
      return json(visit, 405, { code: 'INVALID_OPTION', message: 'GET, or POST /api/command' });
    if (api !== 'api') return this.#page(visit);
    if (url.pathname === '/api/overview') return json(visit, 200, await this.#overview(visit));
    if (url.pathname === '/api/overview/stream') return this.#overviews(visit);
    const there = this.#remoteOf(hostId ?? '');
    if (there !== undefined && (kind === 'sessions' || kind === 'inspection'))
      return there.remote.forward(visit, pathThere(url, there.id));
    const inspection = this.inspections.get(hostId ?? '');
    if (kind === 'inspection' && inspection !== undefined && session === undefined)
      return streamInspection(inspection, url.searchParams.get('session') ?? undefined, visit.response);
    if (kind !== 'sessions' || inspection === undefined || session === undefined || more.length > 0)
      return nothingHere(visit);
    switch (what) {
      case 'plan': {
        const { agentName, gaps } = await inspection.lookUp(session);
        return json(visit, 200, await planOf(inspection.definitionOf(session, agentName), gaps));
      }
      case 'steps': {
        const { agentName } = await inspection.lookUp(session);
        const team = inspection.definitionOf(session, agentName);
        const thread = url.searchParams.get('thread') ?? '';
        return json(visit, 200, await toldSteps(inspection.logged(session, 0), thread, team));
      }
      case 'log':
        return json(visit, 200, await this.#log(inspection, session, url));
      case 'stream': {
        await inspection.lookUp(session);
        const seen = request.headers['last-event-id'];
        const after =
          typeof seen === 'string' && seen !== '' ? seqOf(seen, session) : numberIn(url.searchParams.get('after'));
        const hearsSteps = url.searchParams.get('steps') === '1';
        return streamSession(inspection, session, { after, hearsSteps }, visit.response);
      }
      default:
        return nothingHere(visit);
    }
  }

  async #command(visit: Visit): Promise<void> {
    // Anything else another page can send without asking first.
    if (!IS_JSON.test(visit.request.headers['content-type'] ?? ''))
      return json(visit, 415, { code: 'INVALID_OPTION', message: 'a command is application/json' });
    let command: Command;
    try {
      command = JSON.parse(await visit.body()) as Command;
    } catch (thrown) {
      if (thrown instanceof TroupeError) throw thrown;
      throw new TroupeError({ code: 'INVALID_OPTION', message: 'a command is a JSON object' });
    }
    const there = this.#remoteOf(String(command?.host));
    if (there !== undefined)
      return there.remote.forward(visit, '/api/command', JSON.stringify({ ...command, host: there.id }));
    const inspection = this.inspections.get(String(command?.host));
    if (inspection === undefined) throw new TroupeError({ code: 'INVALID_OPTION', message: 'no such host' });
    const result = await obey(command, inspection);
    json(visit, 200, result);
  }

  #overview(visit: Visit) {
    return overviewOf(this.inspections, this.#remotesFor(visit));
  }

  #remotesFor({ request }: Visit): readonly RemoteStudio[] {
    return request.headers[ASKED_BY_STUDIO] === undefined ? this.remotes : [];
  }

  #remoteOf(hostId: string): { readonly remote: RemoteStudio; readonly id: string } | undefined {
    for (const remote of this.remotes) {
      const id = remote.idThere(hostId);
      if (id !== undefined) return { remote, id };
    }
    return undefined;
  }

  async #log(inspection: HostInspection, session: string, url: URL): Promise<LogPage> {
    const after = numberIn(url.searchParams.get('after'));
    const limit = Math.min(numberIn(url.searchParams.get('limit')) || MOST_EVENTS, MOST_EVENTS);
    const { lastSeq } = await inspection.lookUp(session);
    const events: LogPage['events'][number][] = [];
    let characters = 0;
    let isFull = false;
    for await (const event of inspection.logged(session, after)) {
      // What comes beyond is for the stream.
      if (event.seq > lastSeq) break;
      events.push(shownEvent(event));
      characters += JSON.stringify(event).length;
      isFull = events.length >= limit || characters > MOST_CHARACTERS;
      if (isFull || event.seq >= lastSeq) break;
    }
    const last = events.at(-1)?.seq;
    return isFull && last !== undefined && last < lastSeq ? { events, lastSeq, next: last } : { events, lastSeq };
  }

  async #overviews(visit: Visit): Promise<void> {
    const { response } = visit;
    const page = new Page(response);
    let timer: NodeJS.Timeout | undefined;
    const tell = async () => {
      // For a page that is behind the newest is enough.
      if (page.isBehind) await page.drained();
      timer = undefined;
      const overview = await this.#overview(visit);
      page.writeText('overview', JSON.stringify(overview));
    };
    const soon = () => {
      if (timer !== undefined || page.isGone) return;
      timer = setTimeout(() => void tell().catch(() => response.destroy()), OVERVIEW_MS);
      timer.unref();
    };
    const off = [...this.inspections.values(), ...this.#remotesFor(visit)].map((one) => one.onChange(soon));
    response.on('close', () => {
      clearTimeout(timer);
      for (const end of off) end();
    });
    await tell();
  }

  async #page(visit: Visit): Promise<void> {
    const file = await pageFile(visit.url.pathname, this.token);
    if (file === undefined) return nothingHere(visit);
    visit.response.writeHead(200, {
      'content-type': file.type,
      'content-security-policy': CSP,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    });
    visit.response.end(file.body);
  }
}

/** The same request to another Studio, without our token. */
function pathThere({ pathname, searchParams }: URL, hostId: string): string {
  const [, api, kind, , ...more] = pathname.split('/');
  const query = new URLSearchParams(searchParams);
  query.delete('token');
  return `${['', api, kind, encodeURIComponent(hostId), ...more].join('/')}?${query}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function statusOf(code: string): number {
  if (code === 'TOO_LARGE') return 413;
  return code.endsWith('_NOT_FOUND') ? 404 : code === 'UNAVAILABLE' ? 502 : 400;
}

function numberIn(text: string | null): number {
  const value = Number(text ?? 0);
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

const nothingHere = (visit: Visit): void => json(visit, 404, { code: 'NOT_FOUND', message: 'nothing is here' });

function json({ response }: Visit, status: number, body: unknown): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  });
  response.end(JSON.stringify(body));
}
