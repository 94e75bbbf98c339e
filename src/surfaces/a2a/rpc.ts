import type { JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';
import type { Visit } from '../http/door.js';
import type { ServerSdk } from './team-executor.js';

export interface Handlers extends ServerSdk {
  readonly current: JsonRpcTransportHandler;
  /** Why a task takes no more messages at present, where it does not. */
  crowdAt(context: ServerCallContext, taskId: string): string | undefined;
  /** Whether callers may have news sent to them. */
  readonly pushes: boolean;
  readonly legacy: Pick<import('@a2a-js/sdk/compat/v0_3/server').LegacyJsonRpcTransportHandler, 'handle'>;
}

const DEEPEST = 64;
/** Methods that watch a task which another call reads. */
const WATCHES: ReadonlySet<string> = new Set(['SubscribeToTask', 'tasks/resubscribe']);

/** One JSON-RPC call: an answer, or a stream of them. Faults are answered as JSON-RPC errors, without their insides. */
export async function answerRpc(visit: Visit, handlers: Handlers): Promise<void> {
  const { request, response } = visit;
  const text = await visit.body();
  const body = parse(text);
  if (body === undefined) return answer(visit, fault(null, -32700, 'the body is no JSON object, or too deep'));
  const id = typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
  const version = versionOf(request.headers['a2a-version']);
  if (version === undefined) return answer(visit, fault(id, -32009, 'spoken here are the versions 1.0 and 0.3'));
  if (SAYS.has(String(body.method)) && !saysSomething(body.params))
    return answer(visit, fault(id, -32602, 'a message has at least one part, and parts are objects'));
  if (!handlers.pushes && wantsPush(body.params))
    return answer(visit, fault(id, -32003, 'this server tells nobody of news: look at the task, or stream it'));
  const context = contextOf(visit, handlers, version);
  const crowd = SAYS.has(String(body.method)) ? handlers.crowdAt(context, taskIdIn(body.params)) : undefined;
  if (crowd !== undefined) return answer(visit, fault(id, -32004, crowd));
  const handler = version === '0.3' ? handlers.legacy : handlers.current;
  try {
    const given = await handler.handle(body, context);
    if (!isStream(given)) return answer(visit, given);
    response.writeHead(200, { ...handlers.sdk.SSE_HEADERS, 'x-content-type-options': 'nosniff' });
    response.flushHeaders();
    for await (const event of given) {
      if (response.destroyed) {
        // Who has left hears no more; what is read for its task goes on being read.
        if (WATCHES.has(String(body.method))) break;
        continue;
      }
      if (!response.write(handlers.sdk.formatSSEEvent(event as never))) await drained(response);
    }
    response.end();
  } catch (thrown) {
    const error = { jsonrpc: '2.0', id, error: handlers.server.JsonRpcTransportHandler.mapToJSONRPCError(thrown) };
    if (!response.headersSent) return answer(visit, error);
    if (!response.writableEnded) response.end(handlers.sdk.formatSSEEvent(error as never));
  }
}

/** Who names no version speaks 0.3. */
function versionOf(named: string | string[] | undefined): '1.0' | '0.3' | undefined {
  if (named === undefined || named === '' || named === '0.3') return '0.3';
  return typeof named === 'string' && /^1(\.\d{1,3})*$/.test(named) ? '1.0' : undefined;
}

const SAYS: ReadonlySet<string> = new Set(['SendMessage', 'SendStreamingMessage', 'message/send', 'message/stream']);

function saysSomething(params: unknown): boolean {
  const { parts } = ((params ?? {}) as { message?: { parts?: unknown } }).message ?? {};
  return Array.isArray(parts) && parts.length > 0 && parts.every((part) => typeof part === 'object' && part !== null);
}

function taskIdIn(params: unknown): string {
  const { taskId } = ((params ?? {}) as { message?: { taskId?: unknown } }).message ?? {};
  return typeof taskId === 'string' ? taskId : '';
}

/** In the words of both versions. */
function wantsPush(params: unknown): boolean {
  const { configuration } = (params ?? {}) as { configuration?: unknown };
  if (typeof configuration !== 'object' || configuration === null) return false;
  const { taskPushNotificationConfig: current, pushNotificationConfig: legacy } = configuration as Record<
    string,
    unknown
  >;
  return (current ?? legacy ?? undefined) !== undefined;
}

const isStream = (given: unknown): given is AsyncGenerator<unknown> =>
  typeof given === 'object' && given !== null && Symbol.asyncIterator in given;

const drained = (response: Visit['response']): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });

function contextOf({ user, request }: Visit, { server }: Handlers, requestedVersion: string): ServerCallContext {
  return server.defaultServerCallContextBuilder({
    extensions: undefined,
    user: user === '' ? new server.UnauthenticatedUser() : { isAuthenticated: true, userName: user },
    headers: request.headers,
    requestedVersion,
  });
}

function parse(text: string): Record<string, unknown> | undefined {
  if (depthOf(text) > DEEPEST) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** How deep brackets nest; those in texts do not count. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    if (letter === 0x5c && isText) at++;
    else if (letter === 0x22) isText = !isText;
    else if (!isText && (letter === 0x7b || letter === 0x5b)) deepest = Math.max(deepest, ++depth);
    else if (!isText && (letter === 0x7d || letter === 0x5d)) depth--;
  }
  return deepest;
}

const fault = (id: string | number | null, code: number, message: string) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

async function answer({ response }: Visit, body: unknown): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
  response.end(JSON.stringify(body));
}
