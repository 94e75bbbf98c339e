import type { AgentDefinition } from '../contracts/index.js';
import type { Host } from '../host/types.js';
import { systemClock } from '../kernel/clock.js';
import { TroupeError } from '../kernel/errors.js';
import { cardJson, cardOf } from './a2a/card.js';
import { PushDesk } from './a2a/push.js';
import { originsOf, type PushOptions } from './a2a/push-options.js';
import { answerRpc, type Handlers } from './a2a/rpc.js';
import { OwnTasks } from './a2a/task-store.js';
import { type ServerSdk, TeamExecutor } from './a2a/team-executor.js';
import { type DoorOptions, openDoor, type Visit } from './http/door.js';

export interface A2aServerOptions extends DoorOptions {
  /** The address that the card tells, where it is another than the one listened on (behind a proxy). */
  publicUrl?: string;
  /** Of the agent, for its card. Default `1.0.0`. */
  version?: string;
  /** Where callers may have the news of their tasks sent. Default: nowhere, and the card says so. */
  push?: PushOptions;
  /** Tasks of one caller that are under way at once. Default 100. */
  maxTasks?: number;
}

export interface A2aServer {
  /** Where callers send requests. */
  readonly url: string;
  readonly cardUrl: string;
  /** Lets nobody in any more; runs that callers began are aborted with the host. */
  close(): Promise<void>;
}

const MOST_TASKS = 100;
const CARD_PATHS: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json'];

/**
 * Serves a team over A2A (JSON-RPC and SSE; protocol 1.0, and 0.3 for older peers). Its card is public, all else needs
 * the token where one is set. A task is a run, a context a session; questions become `input-required` and `auth-required`.
 * A caller sees its own tasks and contexts only. `@a2a-js/sdk` is an optional peer. Rejects with `MISSING_PACKAGE`, or
 * `INVALID_OPTION` when it cannot listen.
 */
export async function serveA2a(host: Host, team: AgentDefinition, options: A2aServerOptions = {}): Promise<A2aServer> {
  const sdks = await load();
  const origins = options.push && originsOf(options.push);
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
  const { version = '1.0.0', token, clock = systemClock, maxTasks = MOST_TASKS } = options;
  const own = cardOf(descriptor, { url, version, needsToken: token !== undefined, pushes: origins !== undefined });
  card = cardJson(sdks.sdk, own);
  const { LegacyJsonRpcTransportHandler, V03PushNotificationSerializer } = await import(
    '@a2a-js/sdk/compat/v0_3/server'
  );
  const { RequestMalformedError, UnsupportedOperationError } = await import('@a2a-js/sdk/errors');
  const current = new sdks.server.V1PushNotificationSerializer();
  const legacy = new V03PushNotificationSerializer();
  const push =
    origins &&
    new PushDesk(origins, {
      clock,
      send: options.push?.fetch ?? fetch,
      serialize: (wire, event) => (wire.startsWith('0.') ? legacy : current).serialize(event),
      refuse: (message) => new RequestMalformedError(message),
    });
  const { TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED } = sdks.sdk.TaskState;
  const tasks = new OwnTasks(
    new Set([TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_REJECTED]),
    (message) => new UnsupportedOperationError(message),
  );
  const buses = new sdks.server.DefaultExecutionEventBusManager();
  const executor = new TeamExecutor({ ...sdks, host, team, tasks, buses, push, maxTasks });
  // What is pushed is told by whoever runs the task: callers need not be listening.
  const silent = { send: () => Promise.resolve() };
  const requests = new sdks.server.DefaultRequestHandler(own, tasks, executor, buses, push, silent);
  handlers = {
    ...sdks,
    pushes: origins !== undefined,
    crowdAt: (context, taskId) => executor.crowdAt(context, taskId),
    current: new sdks.server.JsonRpcTransportHandler(requests),
    legacy: new LegacyJsonRpcTransportHandler(requests),
  };
  return {
    url,
    cardUrl: new URL(CARD_PATHS[0] as string, url).href,
    close() {
      push?.close();
      return door.close();
    },
  };
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
