import { isAbsolute, resolve } from 'node:path';
import type { Client, ClientContext, ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import type { Sandbox } from '../../contracts/index.js';
import { INTERFACE_VERSION } from '../../kernel/version.js';
import { childEnvironment } from './child-environment.js';
import { McpFailure, sayFailure } from './failure.js';
import { createHttpTransport, type HttpTransport } from './http-transport.js';
import type { ServerPlan } from './options.js';
import type { Sdk } from './sdk.js';
import { createStdioTransport, type StdioTransport } from './stdio-transport.js';

/** The client's own timers are not used: ours go by the clock of the host and stand still while a person is asked. */
export const NO_TIMEOUT = 2_147_483_647;

/** Which generation of the protocol a server speaks: with `initialize`, or from revision 2026-07-28 on. */
export type Era = 'legacy' | 'modern';

/** One connection to one server, from its handshake to its end. */
export interface Connection {
  readonly client: Client;
  readonly era: Era;
  readonly isOpen: boolean;
  /** How it ended, in a few words. */
  readonly ending: string | undefined;
  /** When its list of tools changes, we are told. */
  readonly hearsChanges: boolean;
  /** Resolves when nothing of it is left. Never rejects. */
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly sdk: Sdk;
  readonly plan: ServerPlan;
  readonly sandbox: Sandbox | undefined;
  /** What the server spoke before; undefined: to be found out. */
  readonly era: Era | undefined;
  /** How long a server may think about which it speaks, by the real clock. */
  readonly probeTimeoutMs: number;
  /** Gives it up: the promise rejects once nothing is left. */
  readonly signal: AbortSignal;
  onClosed(connection: Connection): void;
  onToolsChanged(): void;
  onQuestion(request: ElicitRequest, context: ClientContext): Promise<ElicitResult>;
}

type ServerTransport = StdioTransport | HttpTransport;

/**
 * Connects to a server that may speak either generation. One that ends at the question which, or has no sensible answer
 * to it, is asked again in the old way. Rejects with an `McpFailure`, and then nothing is left.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  if (options.era === 'legacy') return attempt(options, 'legacy');
  try {
    return await attempt(options, 'auto');
  } catch (thrown) {
    if (!(thrown instanceof McpFailure) || !isWorthAnother(thrown, options)) throw thrown;
    return attempt(options, 'legacy');
  }
}

const HOPELESS = new Set(['ENOENT', 'EACCES', 'ENOTDIR', 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

function isWorthAnother({ cause }: McpFailure, { signal, era }: ConnectOptions): boolean {
  if (signal.aborted || era === 'modern') return false;
  for (let at: unknown = cause; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (code !== undefined && HOPELESS.has(code)) return false;
    const { data } = at as { data?: { status?: unknown } };
    if (data?.status === 401 || data?.status === 403) return false;
  }
  return true;
}

async function attempt(options: ConnectOptions, mode: 'auto' | 'legacy'): Promise<Connection> {
  const { sdk, plan, signal } = options;
  const transport = await makeTransport(options);
  const client = new sdk.Client(
    { name: 'troupe', version: INTERFACE_VERSION },
    {
      capabilities: { elicitation: { form: {} } },
      // Ours to answer: only here is it known which call a question belongs to.
      inputRequired: { autoFulfill: false },
      ...(mode === 'auto' && {
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: options.probeTimeoutMs } },
      }),
    },
  );
  let isOpen = false;
  let hearsChanges = false;
  const connection: Connection = {
    client,
    get era() {
      return client.getProtocolEra() ?? 'legacy';
    },
    get isOpen() {
      return isOpen;
    },
    get ending() {
      return transport.ending;
    },
    get hearsChanges() {
      return hearsChanges;
    },
    async close() {
      isOpen = false;
      await transport.close().catch(() => {});
    },
  };
  client.onclose = () => {
    if (!isOpen) return;
    isOpen = false;
    options.onClosed(connection);
  };
  client.setRequestHandler('elicitation/create', (request, context) => options.onQuestion(request, context));
  client.setNotificationHandler('notifications/tools/list_changed', () => options.onToolsChanged());

  const giveUp = () => void closeNow(transport);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, { timeout: NO_TIMEOUT });
    signal.throwIfAborted();
    isOpen = true;
  } catch (thrown) {
    await closeNow(transport);
    throw new McpFailure(sayConnectFailure(transport, thrown, plan), { cause: thrown });
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
  hearsChanges = connection.era === 'legacy' || client.getServerCapabilities()?.tools?.listChanged !== true;
  if (!hearsChanges) void listen();
  return connection;

  /** A modern server tells of changes only to those who listen. */
  async function listen(): Promise<void> {
    try {
      const subscription = await client.listen({ toolsListChanged: true }, { timeout: NO_TIMEOUT });
      hearsChanges = true;
      // Whatever changed before is not told any more.
      options.onToolsChanged();
      await subscription.closed;
    } catch {
      // It is asked for its list before the next run instead.
    }
    hearsChanges = false;
  }
}

async function makeTransport({ sdk, plan, sandbox, signal }: ConnectOptions): Promise<ServerTransport> {
  if (plan.kind === 'http') return createHttpTransport(sdk, plan);
  const cwd = plan.cwd === undefined || isAbsolute(plan.cwd) ? plan.cwd : resolve(plan.cwd);
  const env = childEnvironment(process.env, plan.env);
  const direct = { command: plan.command, args: plan.args ?? [], env, cwd };
  if (sandbox === undefined) return createStdioTransport(sdk, direct);
  if (!(await sandbox.available())) throw new McpFailure('its sandbox does not work here, and it is not run without');
  signal.throwIfAborted();
  const wrapped = sandbox.wrap(plan.command, plan.args ?? [], { root: cwd ?? process.cwd() });
  return createStdioTransport(sdk, { ...direct, command: wrapped.command, args: wrapped.args });
}

async function closeNow(transport: ServerTransport): Promise<void> {
  await ('errorTail' in transport ? transport.close({ atOnce: true }) : transport.close()).catch(() => {});
}

/** What the process itself said last is often the reason; what it was configured with is kept out of it. */
function sayConnectFailure(transport: ServerTransport, thrown: unknown, plan: ServerPlan): string {
  const own = 'errorTail' in transport && transport.ending !== 'it was closed' ? transport.ending : undefined;
  const why = own ?? sayFailure(thrown);
  const tail = 'errorTail' in transport ? transport.errorTail().trim().split('\n').slice(-3).join(' / ') : '';
  let said = tail === '' ? why : `${why}; it wrote: ${sayFailure(tail)}`;
  const secrets = plan.kind === 'stdio' ? plan.env : typeof plan.headers === 'function' ? {} : plan.headers;
  for (const secret of Object.values(secrets ?? {})) if (secret.length > 5) said = said.replaceAll(secret, '***');
  return said;
}
