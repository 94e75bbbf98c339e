import type { ToolContext, ToolDefinition, ToolResultData, ToolsetContext } from '../../contracts/index.js';
import { sameJson } from '../../kernel/json-value.js';
import { startLimits } from './call-limits.js';
import { type ActiveCall, callTool, readResource } from './calls.js';
import { type Connection, connect, type Era } from './connection.js';
import { answerQuestion } from './elicitation.js';
import { failedResult, McpFailure, sayFailure } from './failure.js';
import { type ListedTool, toDefinition } from './listed-tool.js';
import type { McpToolsOptions, ServerPlan } from './options.js';
import { plainWords } from './plain-words.js';
import { resourceTool } from './resource-tool.js';
import type { Sdk } from './sdk.js';
import { listTools } from './tool-list.js';

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
/** Beyond our own limit, which tells whose fault it was, stands the host's. */
const HOST_LIMIT_MARGIN_MS = 5_000;

export function createServerLink({ sdk, plan, context, settings, onChange }: LinkOptions): ServerLink {
  const { clock } = context;
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, callTimeoutMs } = settings;
  const { name } = plan;
  const calls = new Set<ActiveCall>();
  const leaving = new Set<Promise<void>>();
  const everListed = new Set<string>();
  const closing = new AbortController();
  let connection: Connection | undefined;
  let connecting: Promise<Connection> | undefined;
  let listing: Promise<void> | undefined;
  let isStale = false;
  let era: Era | undefined;
  let tools: readonly ToolDefinition[] = [];
  let kept = new Map<string, { listed: ListedTool; definition: ToolDefinition }>();
  /** Attempts in a row that failed, and connections that were lost before a call came back on them. */
  let failures = 0;
  let retryAt = 0;

  const notify = (code: string, text: string) =>
    context.notify({ code, severity: 'warning', text: `the MCP server "${name}" ${text}` });

  function failed(): void {
    failures++;
    const waitMs = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), LONGEST_BACKOFF_MS);
    retryAt = clock.now() + waitMs;
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
      await list(made, attempt.signal);
      if (!made.isOpen) throw new McpFailure(`went away at once: ${made.ending ?? 'no reason given'}`);
      return made;
    } catch (thrown) {
      connection = undefined;
      await made?.close();
      const why = sayFailure(attempt.signal.aborted ? attempt.signal.reason : thrown);
      if (!closing.signal.aborted) {
        failed();
        if (failures === 1 || tools.length === 0) notify('MCP_SERVER_FAILED', `cannot be used: ${why}`);
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
    // The first time it is taken up again at once.
    if (failures > 0) failed();
    else failures = 1;
    const ending = gone.ending ?? 'its connection was closed';
    if (failures === 1) notify('MCP_SERVER_LOST', `is gone (${ending}); the next call connects to it again`);
  }

  function leave(gone: Connection): void {
    const left = gone.close().finally(() => leaving.delete(left));
    leaving.add(left);
  }

  /** Asks for the list again, once at a time and once more for what changed meanwhile. Never rejects. */
  function relist(): Promise<void> {
    isStale = true;
    listing ??= (async () => {
      while (isStale && connection?.isOpen && !closing.signal.aborted) {
        isStale = false;
        const attempt = startAttempt();
        try {
          await list(connection, attempt.signal);
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

  async function list(from: Connection, signal: AbortSignal): Promise<void> {
    const { listed, leftOut } = await listTools(from.client, signal);
    const next = new Map<string, { listed: ListedTool; definition: ToolDefinition }>();
    const unchecked: string[] = [];
    for (const one of listed) {
      const known = kept.get(one.name);
      if (known !== undefined && sameJson(known.listed, one)) {
        next.set(one.name, known);
        continue;
      }
      const { definition, fault } = await toDefinition(server, one, run);
      if (fault !== undefined) unchecked.push(`${definition.name} (${plainWords(fault, 200)})`);
      next.set(one.name, { listed: one, definition });
    }
    signal.throwIfAborted();
    if (leftOut !== undefined) notify('MCP_TOOLS_LEFT_OUT', leftOut);
    if (unchecked.length > 0) {
      const text = `has schemas that cannot be used; arguments are passed unchecked: ${unchecked.join(', ')}`;
      notify('MCP_SCHEMA_UNCHECKED', plainWords(text, 2_000));
    }
    kept = next;
    take(
      [...next.values()].map(({ definition }) => definition),
      from,
    );
  }

  function take(listed: ToolDefinition[], from: Connection): void {
    const byName = new Map<string, ToolDefinition>();
    for (const tool of listed) if (!byName.has(tool.name)) byName.set(tool.name, tool);
    if (from.client.getServerCapabilities()?.resources !== undefined) {
      const reader = resources();
      if (!byName.has(reader.name)) byName.set(reader.name, reader);
    }
    const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const isSame = sorted.length === tools.length && sorted.every((tool, index) => tool === tools[index]);
    for (const tool of sorted) everListed.add(tool.name);
    if (isSame) return;
    tools = sorted;
    onChange();
  }

  const server = {
    name,
    trust: plan.trust,
    timeoutMs: callTimeoutMs === undefined ? undefined : callTimeoutMs + HOST_LIMIT_MARGIN_MS,
  };
  let reader: ToolDefinition | undefined;
  const resources = () => {
    reader ??= resourceTool(server, (uri, call) => withConnection(call, (active) => readResource(active, uri)));
    return reader;
  };

  const run = (tool: Parameters<typeof callTool>[1], args: unknown, call: ToolContext) =>
    withConnection(call, (active) => callTool(active, tool, args));

  /** What goes wrong is the result of this call, and of no other. Never rejects. */
  async function withConnection(
    call: ToolContext,
    work: (active: ActiveCall) => Promise<ToolResultData>,
  ): Promise<ToolResultData> {
    const limits = startLimits(call, clock, callTimeoutMs);
    let active: ActiveCall | undefined;
    try {
      for (let isAgain = false; ; isAgain = true) {
        active = { server: name, call, clock, limits, connection: await limits.orOver(connected()) };
        calls.add(active);
        try {
          const result = await work(active);
          failures = 0;
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
      return tools;
    },
    ready() {
      if (connection?.isOpen) return connection.hearsChanges ? listing : relist();
      if (connecting === undefined && (everListed.size > 0 || clock.now() < retryAt)) return undefined;
      return connected().then(
        () => {},
        () => {},
      );
    },
    mayHave: (tool) => tool.startsWith(plan.prefix) && (everListed.size === 0 || everListed.has(tool)),
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
