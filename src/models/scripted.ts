import type {
  Clock,
  ContentPart,
  FinishReason,
  ModelInterface,
  ModelRequest,
  ModelResponse,
  ModelToolCall,
  ModelUsage,
} from '../contracts/index.js';
import { systemClock } from '../kernel/clock.js';
import { ModelError, TroupeError } from '../kernel/errors.js';
import { isRetryableCode } from '../kernel/status.js';
import { cancelled } from './wire/status.js';

/** The answer to one model call. `error` is thrown after what stands beside it was streamed. */
export interface ScriptEntry {
  thought?: string;
  /** An array is streamed as one increment each. */
  text?: string | readonly string[];
  refusal?: string;
  /** Raw parts, after thought and text, before the calls. */
  content?: readonly ContentPart[];
  toolCalls?: readonly ModelToolCall[];
  usage?: ModelUsage;
  /** Default: `tool_calls` with calls, `refusal` with a refusal, else `stop`. */
  finishReason?: FinishReason;
  /** `retryable` defaults by the code: RESOURCE_EXHAUSTED, UNAVAILABLE, DEADLINE_EXCEEDED and INTERNAL are. */
  error?: { code: string; message: string; retryAfterMs?: number; retryable?: boolean; status?: number };
  /** Before the first increment. */
  delayMs?: number;
}

/** `callIndex` counts from 0; in `byAgent` per agent. */
export type ScriptFunction = (request: ModelRequest, callIndex: number) => ScriptEntry | Promise<ScriptEntry>;

/** One entry per model call, in order; or a function that answers every call. */
export type ScriptLine = readonly ScriptEntry[] | ScriptFunction;

export type Script = ScriptLine | { readonly byAgent: Readonly<Record<string, ScriptLine>> };

export interface ScriptedModel extends ModelInterface {
  /** Every request that it was given, in order, as it was given. */
  readonly requests: readonly ModelRequest[];
  /** Throws `SCRIPT_NOT_CONSUMED`, naming the entries that no call took. A function has none. */
  assertConsumed(): void;
}

interface Cursor {
  readonly line: ScriptLine;
  readonly agent: string | undefined;
  next: number;
}

/**
 * The offline model: answers from a script, in order. A call beyond the script fails with `UNSCRIPTED_CALL`, which is
 * not retryable. A call whose signal has already fired is not recorded and takes no entry.
 */
export function scriptedModel(script: Script, options: { clock?: Clock } = {}): ScriptedModel {
  const clock = options.clock ?? systemClock;
  const requests: ModelRequest[] = [];
  const cursors = cursorsOf(script);
  const single = cursors.get(undefined);

  const take = (request: ModelRequest): ScriptEntry | Promise<ScriptEntry> => {
    if (isAborted(request)) throw cancelled();
    requests.push(request);
    const agent = request._meta?.agent;
    const cursor = single ?? cursors.get(agent);
    if (cursor === undefined)
      throw unscripted(agent, 1, `scripted agents: ${[...cursors.keys()].join(', ') || 'none'}`);
    const index = cursor.next++;
    if (typeof cursor.line === 'function') return cursor.line(request, index);
    const entry = cursor.line[index];
    if (entry === undefined) throw unscripted(agent, index + 1, `the script has ${cursor.line.length}`);
    return entry;
  };

  const reportsCost = saysCost(cursors.values()) ? ('where_it_costs' as const) : undefined;
  return {
    requests,
    reportsCost,
    async generate(request) {
      const taken = take(request);
      const entry = taken instanceof Promise ? await taken : taken;
      if (entry.delayMs) await delay(clock, entry.delayMs, request.signal);
      if (entry.error) throw errorOf(entry.error);
      const content = [...leading(entry)];
      const { text } = entry;
      if (typeof text === 'string') content.push({ type: 'text', text });
      else if (text) content.push({ type: 'text', text: text.join('') });
      return closing(entry, content);
    },
    async *generateStream(request) {
      const taken = take(request);
      const entry = taken instanceof Promise ? await taken : taken;
      if (entry.delayMs) await delay(clock, entry.delayMs, request.signal);
      const { text, error } = entry;
      let content = leading(entry);
      if (typeof text === 'string') {
        if (content.length > 0) yield { content };
        content = [{ type: 'text', text }];
      } else if (text) {
        for (const piece of text) {
          if (content.length > 0) yield { content };
          content = [{ type: 'text', text: piece }];
        }
      }
      if (error) {
        if (content.length > 0) yield { content };
        throw errorOf(error);
      }
      yield closing(entry, content);
    },
    assertConsumed() {
      const left = [...cursors.values()].flatMap(leftOver);
      if (left.length === 0) return;
      throw new TroupeError({
        code: 'SCRIPT_NOT_CONSUMED',
        message: `the script was not consumed: ${left.join('; ')}`,
      });
    },
  };
}

function cursorsOf(script: Script): Map<string | undefined, Cursor> {
  if (isLine(script)) return new Map([[undefined, { line: script, agent: undefined, next: 0 }]]);
  const byAgent = (script as { byAgent?: unknown } | null | undefined)?.byAgent;
  if (typeof byAgent !== 'object' || byAgent === null) throw badScript('a script');
  const cursors = new Map<string | undefined, Cursor>();
  for (const [agent, line] of Object.entries(byAgent as Record<string, unknown>)) {
    if (!isLine(line)) throw badScript(`byAgent.${agent}`);
    cursors.set(agent, { line, agent, next: 0 });
  }
  return cursors;
}

const isLine = (value: unknown): value is ScriptLine => Array.isArray(value) || typeof value === 'function';

const badScript = (what: string): TroupeError =>
  new TroupeError({
    code: 'INVALID_OPTION',
    message: `${what} must be a list of entries or a function (request, callIndex) => entry${what === 'a script' ? ', or { byAgent }' : ''}`,
  });

const unscripted = (agent: string | undefined, call: number, known: string): ModelError =>
  new ModelError({
    code: 'UNSCRIPTED_CALL',
    message: `no scripted answer for call ${call} of ${agent === undefined ? 'an unnamed agent' : `agent "${agent}"`}; ${known}`,
  });

/** A host's request makes its signal when it is first read, so an accessor is left alone here. */
function isAborted(request: ModelRequest): boolean {
  if (!Object.hasOwn(request, 'signal')) return false;
  const own = Object.getOwnPropertyDescriptor(request, 'signal');
  return (own?.value as AbortSignal | undefined)?.aborted === true;
}

function leading(entry: ScriptEntry): ContentPart[] {
  return entry.thought === undefined ? [] : [{ type: 'thought', thought: entry.thought }];
}

/** The last increment: what is left of the content, the calls, usage and the finish reason. */
function closing(entry: ScriptEntry, content: ContentPart[]): ModelResponse {
  if (entry.refusal !== undefined) content.push({ type: 'refusal', text: entry.refusal });
  if (entry.content) content.push(...entry.content);
  const calls = entry.toolCalls !== undefined && entry.toolCalls.length > 0 ? entry.toolCalls : undefined;
  const finishReason = entry.finishReason ?? (calls ? 'tool_calls' : entry.refusal !== undefined ? 'refusal' : 'stop');
  const response: ModelResponse = { content, finishReason };
  if (calls) response.toolCalls = [...calls];
  if (entry.usage) response.usage = entry.usage;
  return response;
}

/** A function may say it in any answer. */
function saysCost(cursors: Iterable<Cursor>): boolean {
  for (const { line } of cursors) {
    if (typeof line === 'function' || line.some((entry) => entry.usage?.cost !== undefined)) return true;
  }
  return false;
}

const errorOf = (error: NonNullable<ScriptEntry['error']>): ModelError =>
  new ModelError({ ...error, retryable: error.retryable ?? isRetryableCode(error.code) });

function delay(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled(signal.reason));
    const onAbort = () => {
      stop();
      reject(cancelled(signal?.reason));
    };
    const stop = clock.schedule(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function leftOver({ line, agent, next }: Cursor): string[] {
  if (typeof line === 'function' || next >= line.length) return [];
  const left = line.slice(next).map((entry, offset) => `#${next + offset + 1} ${nameEntry(entry)}`);
  return [`${agent === undefined ? '' : `agent "${agent}": `}${left.join(', ')}`];
}

function nameEntry(entry: ScriptEntry): string {
  const text = typeof entry.text === 'string' ? entry.text : entry.text?.join('');
  const said = [
    entry.toolCalls?.length ? `calls ${entry.toolCalls.map((call) => call.name).join('+')}` : '',
    text === undefined ? '' : `text ${JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)}`,
    entry.error ? `error ${entry.error.code}` : '',
  ].filter((piece) => piece !== '');
  return said.join(' and ') || 'an entry';
}
