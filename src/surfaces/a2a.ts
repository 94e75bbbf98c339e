import type { AgentDefinition } from '../contracts/index.js';
import type { Host } from '../host/types.js';
import { TroupeError } from '../kernel/errors.js';
import { cardJson, cardOf } from './a2a/card.js';
import { answerRpc, type Handlers } from './a2a/rpc.js';
import { OwnTasks } from './a2a/task-store.js';
import { type ServerSdk, TeamExecutor } from './a2a/team-executor.js';
import { type DoorOptions, openDoor, type Visit } from './http/door.js';

export interface A2aServerOptions extends DoorOptions {
  /** The address that the card tells, where it is another than the one listened on (behind a proxy). */
  publicUrl?: string;
  /** Of the agent, for its card. Default `1.0.0`. */
  version?: string;
}

export interface A2aServer {
  /** Where callers send requests. */
  readonly url: string;
  readonly cardUrl: string;
  /** Lets nobody in any more; runs that callers began are aborted with the host. */
  close(): Promise<void>;
}

const CARD_PATHS: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/**
 * Serves a team over A2A (JSON-RPC and SSE; protocol 1.0, and 0.3 for older peers). Its card is public, all else needs
 * the token where one is set. A task is a run, a context a session; questions become `input-required` and `auth-required`.
 * A caller sees its own tasks and contexts only. `@a2a-js/sdk` is an optional peer. Rejects with `MISSING_PACKAGE`, or
 * `INVALID_OPTION` when it cannot listen.
 */
export async function serveA2a(host: Host, team: AgentDefinition, options: A2aServerOptions = {}): Promise<A2aServer> {
  const sdks = await load();
  const descriptor = host.describe(team);
  let handlers: Handlers | undefined;
  let card = '';
  const door = await openDoor(
    options,
    async (visit) => {
      if (visit.request.method === 'GET' && CARD_PATHS.includes(visit.url.pathname)) return send(visit, 200, card);
      if (visit.request.method !== 'POST' || visit.url.pathname !== '/' || handlers === undefined)
        return send(visit, 404, '{}');
      return answerRpc(visit, handlers);
    },
    (path) => CARD_PATHS.includes(path),
  );
  const url = options.publicUrl ?? `${door.url}/`;
  const { version = '1.0.0', token } = options;
  const own = cardOf(descriptor, { url, version, needsToken: token !== undefined });
  card = cardJson(sdks.sdk, own);
  const requests = new sdks.server.DefaultRequestHandler(own, new OwnTasks(), new TeamExecutor(host, team, sdks));
  const { LegacyJsonRpcTransportHandler } = await import('@a2a-js/sdk/compat/v0_3/server');
  handlers = {
    ...sdks,
    current: new sdks.server.JsonRpcTransportHandler(requests),
    legacy: new LegacyJsonRpcTransportHandler(requests),
  };
  return { url, cardUrl: new URL(CARD_PATHS[0] as string, url).href, close: () => door.close() };
}

async function load(): Promise<ServerSdk> {
  try {
    const [sdk, server] = await Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/server')]);
    return { sdk, server };
  } catch (thrown) {
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message: 'serving A2A needs the package @a2a-js/sdk, which is not installed: npm i @a2a-js/sdk',
      cause: thrown,
    });
  }
}

async function send({ response }: Visit, status: number, body: string): Promise<void> {
  response.writeHead(status, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
  response.end(body);
}
