import type { ToolContext, ToolDefinition, ToolResultData, ToolsetContext } from '../../contracts/index.js';
import { startLimits } from './call-limits.js';
import { type ActiveCall, callTool, readResource } from './calls.js';
import { type Connection, connect, type Era } from './connection.js';
import { answerQuestion } from './elicitation.js';
import { failedResult, McpFailure, sayFailure } from './failure.js';
import type { McpToolsOptions, ServerPlan } from './options.js';
import type { Sdk } from './sdk.js';
import { createToolShelf } from './tool-shelf.js';

/** One configured server as one host holds it: connected when it is needed, and again when it was lost. */
export interface ServerLink {
  readonly plan: ServerPlan;
  /** Before a run that may use it; nothing: what can be known of it is known. Never rejects. */
  ready(): undefined | Promise<void>;
  readonly tools: readonly ToolDefinition[];
  /** Whether a tool that is not listed may be one of its own: it is away, or had it once. */
  mayHave(name: string): boolean;
  close(): Promise<void>;
}

export interface LinkOptions {
  readonly sdk: Sdk;
  readonly plan: ServerPlan;
  readonly context: ToolsetContext;
  readonly settings: Pick<McpToolsOptions, 'connectTimeoutMs' | 'callTimeoutMs' | 'sandbox'>;
  onChange(): void;
}

const CONNECT_TIMEOUT_MS = 30_000;
/** A process that does not answer what it does not know is soon asked in the old way, on the same pipe. */
const STDIO_PROBE_MS = 2_000;
const HTTP_PROBE_MS = 15_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
const MOST_LISTS = 60;
const LISTS_WITHIN_MS = 60_000;
/** Beyond our own limit, which tells whose fault it was, stands the host's. */
const HOST_LIMIT_MARGIN_MS = 5_000;

export function createServerLink({ sdk, plan, context, settings, onChange }: LinkOptions): ServerLink {
  const { clock } = context;
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, callTimeoutMs } = settings;
  const { name } = plan;
  const calls = new Set<ActiveCall>();
  const leaving = new Set<Promise<void>>();
  const closing = new AbortController();
  let connection: Connection | undefined;
  let connecting: Promise<Connection> | undefined;
  let listing: Promise<void> | undefined;
  let isStale = false;
  let era: Era | undefined;
  let lists = 0;
  let listedSince = clock.now();
  /** Attempts to connect that failed, in a row. */
  let failures = 0;
  /** Connections that were lost since a call last came back. */
  let losses = 0;
  let retryAt = 0;

  const notify = (code: string, text: string) =>
    context.notify({ code, severity: 'warning', text: `the MCP server "${name}" ${text}` });

  const shelf = createToolShelf({
    server: {
      name,
      trust: plan.trust,
      timeoutMs: callTimeoutMs === undefined ? undefined : callTimeoutMs + HOST_LIMIT_MARGIN_MS,
    },
    run: (tool, args, call) => withConnection(call, (active) => callTool(active, tool, args)),
    read: (uri, call) => withConnection(call, (active) => readResource(active, uri)),
    notify,
    onChange,
  });

  function backOff(times: number): void {
    retryAt = clock.now() + Math.min(FIRST_BACKOFF_MS * 2 ** (times - 1), LONGEST_BACKOFF_MS);
  }

  /** The connection that there is, or a new one. Rejects with an `McpFailure`. */
  function connected(): Promise<Connection> {
    if (connection?.isOpen) return Promise.resolve(connection);
    if (connecting !== undefined) return connecting;
    if (closing.signal.aborted) return Promise.reject(new McpFailure('is closed with its host'));
    const waitMs = retryAt - clock.now();
    if (waitMs > 0) {
      return Promise.reject(new McpFailure(`is away; it is tried again in ${Math.ceil(waitMs / 1_000)} s`));
    }
    connecting = connectAnew().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  async function connectAnew(): Promise<Connection> {
    const attempt = startAttempt();
    let made: Connection | undefined;
    try {
      made = await connect({
        sdk,
        plan,
        sandbox: settings.sandbox,
        era,
        probeTimeoutMs: Math.min(connectTimeoutMs / 2, plan.kind === 'stdio' ? STDIO_PROBE_MS : HTTP_PROBE_MS),
        signal: attempt.signal,
        onClosed: lost,
        onToolsChanged: () => void relist(),
        onQuestion: (request) => answerQuestion(request, callsOn(made), (why) => notify('MCP_QUESTION_REFUSED', why)),
      });
      ({ era } = made);
      connection = made;
      await shelf.list(made.client, attempt.signal);
      if (!made.isOpen) throw new McpFailure(`went away at once: ${made.ending ?? 'no reason given'}`);
      failures = 0;
      return made;
    } catch (thrown) {
      connection = undefined;
      await made?.close();
      const why = sayFailure(attempt.signal.aborted ? attempt.signal.reason : thrown);
      if (!closing.signal.aborted) {
        backOff(++failures);
        if (failures === 1 || !shelf.isKnown) notify('MCP_SERVER_FAILED', `cannot be used: ${why}`);
      }
      throw new McpFailure(`cannot be used: ${why}`, { cause: thrown });
    } finally {
      attempt.end();
    }
  }

  /** A signal that fires when the host is closing, or the time for an attempt is used up. */
  function startAttempt(): { readonly signal: AbortSignal; end(): void } {
    const attempt = new AbortController();
    const giveUp = () => attempt.abort(new McpFailure('it was closed with its host'));
    if (closing.signal.aborted) giveUp();
    closing.signal.addEventListener('abort', giveUp, { once: true });
    const late = new McpFailure(`it did not answer within ${connectTimeoutMs} ms`);
    const cancel = clock.schedule(() => attempt.abort(late), connectTimeoutMs);
    return {
      signal: attempt.signal,
      end() {
        cancel();
        closing.signal.removeEventListener('abort', giveUp);
      },
    };
  }

  const callsOn = (over: Connection | undefined) => [...calls].filter((active) => active.connection === over);

  function lost(gone: Connection): void {
    leave(gone);
    if (connection !== gone) return;
    connection = undefined;
    if (closing.signal.aborted || connecting !== undefined) return;
    const ending = gone.ending ?? 'its connection was closed';
    // The first time it is taken up again at once.
    if (++losses > 1) backOff(losses);
    else notify('MCP_SERVER_LOST', `is gone (${ending}); the next call connects to it again`);
  }

  function leave(gone: Connection): void {
    const left = gone.close().finally(() => leaving.delete(left));
    leaving.add(left);
  }

  /** Asks for the list again, once at a time and once more for what changed meanwhile. Never rejects. */
  function relist(): Promise<void> {
    isStale = true;
    listing ??= (async () => {
      while (isStale && connection?.isOpen && !closing.signal.aborted && mayList()) {
        isStale = false;
        const attempt = startAttempt();
        try {
          await shelf.list(connection.client, attempt.signal);
        } catch (thrown) {
          if (connection?.isOpen && !closing.signal.aborted) {
            notify('MCP_LIST_FAILED', `does not say which tools it has now: ${sayFailure(thrown)}`);
          }
        } finally {
          attempt.end();
        }
      }
    })().finally(() => {
      listing = undefined;
    });
    return listing;
  }

  /** A server that changes its list without end is not asked without end. */
  function mayList(): boolean {
    const now = clock.now();
    if (now - listedSince > LISTS_WITHIN_MS) {
      listedSince = now;
      lists = 0;
    }
    return ++lists <= MOST_LISTS;
  }

  /** What goes wrong is the result of this call, and of no other. Never rejects. */
  async function withConnection(
    call: ToolContext,
    work: (active: ActiveCall) => Promise<ToolResultData>,
  ): Promise<ToolResultData> {
    const limits = startLimits(call, clock, callTimeoutMs);
    const questions = { asked: 0 };
    let active: ActiveCall | undefined;
    try {
      for (let isAgain = false; ; isAgain = true) {
        active = { server: name, call, clock, limits, questions, connection: await limits.orOver(connected()) };
        calls.add(active);
        try {
          const result = await work(active);
          losses = 0;
          return result;
        } catch (thrown) {
          if (isAgain || !isForgotten(thrown, active.connection)) throw thrown;
          if (connection === active.connection) connection = undefined;
          leave(active.connection);
        } finally {
          calls.delete(active);
        }
      }
    } catch (thrown) {
      const why: unknown = limits.signal.aborted ? limits.signal.reason : thrown;
      if (why instanceof McpFailure) return failedResult(name, why.message);
      const ending = active?.connection.ending;
      return failedResult(name, ending === undefined ? sayAnswer(why) : `went away: ${ending}`);
    } finally {
      limits.end();
    }
  }

  return {
    plan,
    get tools() {
      return shelf.tools;
    },
    ready() {
      if (connection?.isOpen) return connection.hearsChanges && !isStale ? listing : relist();
      if (connecting === undefined && (shelf.isKnown || clock.now() < retryAt)) return undefined;
      return connected().then(
        () => {},
        () => {},
      );
    },
    mayHave: (tool) => tool.startsWith(plan.prefix) && (!shelf.isKnown || shelf.had(tool)),
    async close() {
      closing.abort();
      await connecting?.catch(() => {});
      if (connection !== undefined) leave(connection);
      connection = undefined;
      await Promise.all([...leaving, listing]);
    },
  };
}

const NO_RESULT = new Set(['INVALID_RESULT', 'UNSUPPORTED_RESULT_TYPE']);

/** The client says at length what is wrong with a result; a model has no use for it. */
function sayAnswer(thrown: unknown): string {
  const { code } = (thrown ?? {}) as { code?: unknown };
  return NO_RESULT.has(String(code)) ? 'answered with what is no result' : `failed: ${sayFailure(thrown)}`;
}

/** A server that was started anew does not know our session any more. Nothing was run, so the call may be made again. */
function isForgotten(thrown: unknown, { client, era }: Connection): boolean {
  if (era !== 'legacy' || client.transport?.sessionId === undefined || !(thrown instanceof Error)) return false;
  const { status, text } = (thrown as { data?: { status?: unknown; text?: unknown } }).data ?? {};
  return status === 404 || (status === 400 && /session/i.test(String(text)));
}
