import type {
  AgentEventDraft,
  AgentResponse,
  AgentSession,
  ExecutionOptions,
  Executor,
  SessionStreamData,
  TurnContext,
} from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { HOOK_POINTS } from '../kernel/hook-points.js';
import { nextRound } from '../kernel/next-round.js';
import { isCompatible } from '../kernel/version.js';
import { idsOf, isResponse, toDeliveries } from './foreign-deliveries.js';
import { type ForeignEvent, readForeignEvent } from './foreign-events.js';

type ToolRequest = AgentEventDraft<'tool_request'>;
type ToolResponse = AgentEventDraft<'tool_response'>;

export interface ForeignOptions {
  /** It runs its own tools: what it answers itself is shown, the rest passes the gate. */
  isOpaque: boolean;
  /** Declared in its descriptor. */
  capabilities: readonly string[] | undefined;
  /** Shows a call that it ran itself. */
  showOwnCall(request: ToolRequest, response: ToolResponse): void;
  tell(code: string, text: string): void;
}

/** Its model is its own: what is asked of it and what it answers is not seen here. */
const OUT_OF_SIGHT: ReadonlySet<string> = new Set([
  ...['before_model', 'before_tool_selection', 'after_model', 'on_model_error', 'pre_compress'],
]);
/** Fired for what it leaves to the host, not for what it runs itself. */
const ITS_TOOLS: ReadonlySet<string> = new Set(['before_tool', 'after_tool', 'on_tool_error']);
/** Something that says nothing but nonsense is cut off. */
const MOST_INVALID = 100;
/** So many events are read before the event loop has its turn: a session that never waits holds nobody up. */
const EVENTS_PER_ROUND = 256;

/**
 * Anybody's `AgentSession` as an executor: each turn reads its streams. Its calls pass the host's gate and its
 * questions the host's inbox; the answers go back under the ids it gave. Ids, order and threads are the host's.
 * Events of types that nobody knows are passed on; what is no event is counted and told; a run fails when its session
 * throws or says nothing else.
 */
export function foreignExecutor(session: AgentSession, options: ForeignOptions): Executor {
  const link = new ForeignLink(session, options);
  return {
    turn: (inbox, context) => link.turn(inbox, context),
    opaque: options.isOpaque,
    keepsContext: true,
    hookPoints: HOOK_POINTS.filter((point) => !OUT_OF_SIGHT.has(point) && !(options.isOpaque && ITS_TOOLS.has(point))),
    close: () => link.close(),
  };
}

class ForeignLink {
  readonly #session: AgentSession;
  readonly #options: ForeignOptions;
  #isFirst = true;
  #isOver = false;
  /** From a message to its `stream_end`. */
  #isRunning = false;
  #runId: string | undefined;
  #mode: string | undefined;
  /** Its own ids of calls and questions that have no answer yet. */
  readonly #open = new Set<string>();
  /** Ids whose answers it was just given: it may say them again. */
  #given: ReadonlySet<string> = new Set();
  readonly #questions = new Set<string>();
  /** Opaque: calls that it may be running itself. */
  readonly #own = new Map<string, ToolRequest>();
  /** The message that it is saying: the id that it gave, which it may use again, and the one that it has here. */
  #message: { theirs: string; ours: string } | undefined;

  constructor(session: AgentSession, options: ForeignOptions) {
    this.#session = session;
    this.#options = options;
  }

  async *turn(inbox: readonly SessionStreamData[], context: TurnContext): AsyncGenerator<AgentEventDraft> {
    // How often it asks a model is not seen: whatever it is told, it is once at least.
    if (!context.admitModelCall()) return;
    const faults: Faults = { count: 0, first: '' };
    try {
      this.#begin(context);
      for (const data of toDeliveries(inbox)) {
        if (data.kind === 'message' && this.#isRunning) this.#session.steer({ message: data.content });
        else yield* this.#read(data, context, faults);
        if (context.aborted) return;
      }
    } finally {
      if (faults.count > 0) this.#tell(`sent ${faults.count} × what is no event; the first: ${faults.first}`);
    }
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#session.abort('the host has ended this session');
  }

  #tell(text: string): void {
    this.#options.tell('FOREIGN_SESSION', text);
  }

  /** A run that broke off is over; what the host has changed since the last turn is told. */
  #begin({ runId, permissionMode: mode }: TurnContext): void {
    if (runId !== this.#runId) {
      this.#isRunning = false;
      this.#open.clear();
      this.#questions.clear();
      this.#own.clear();
    }
    this.#runId = runId;
    if (this.#mode !== undefined && this.#mode !== mode) this.#session.update({ permissionMode: mode });
    this.#mode = mode;
  }

  #stream(data: SessionStreamData, context: TurnContext): AgentResponse {
    const { signal } = context;
    const first: ExecutionOptions = { signal, hostToolExecution: true, permissionMode: context.permissionMode };
    const tools = this.#isFirst
      ? context.tools().filter(({ annotations }) => annotations?.providerExecuted !== true)
      : [];
    if (tools.length > 0) first.tools = [...tools];
    const given: unknown = this.#session.stream(data, this.#isFirst ? first : { signal });
    this.#isFirst = false;
    if (!isResponse(given)) {
      throw new TroupeError({ code: 'FOREIGN_SESSION', message: 'stream() gave no { stream, controller }' });
    }
    return given;
  }

  /** One stream of the session, from what it is given to where it pauses or ends. */
  async *#read(data: SessionStreamData, context: TurnContext, faults: Faults): AsyncGenerator<AgentEventDraft> {
    this.#note(data);
    this.#message = undefined;
    const response = this.#stream(data, context);
    const events = response.stream[Symbol.asyncIterator]();
    const stop = () => {
      this.#showOpen('cancelled');
      response.controller.abort();
    };
    context.signal.addEventListener('abort', stop, { once: true });
    if (context.signal.aborted) stop();
    let count = 0;
    let isDone = false;
    try {
      for (;;) {
        const step = await events.next();
        if (step.done) {
          isDone = true;
          break;
        }
        if (++count % EVENTS_PER_ROUND === 0) await nextRound();
        const read = readForeignEvent(step.value);
        if (isItsEnd(read)) this.#showOpen('execution_failed');
        for (const draft of this.#take(read, faults)) yield this.#placed(draft, context);
        if (isItsEnd(read)) {
          this.#isRunning = false;
          isDone = await this.#endsNow(events);
          return;
        }
      }
      // It waits, and for no person: what it asked for and did not answer is for the host to run.
      if (this.#questions.size > 0) return;
      for (const request of this.#own.values()) yield this.#placed(request, context);
      this.#own.clear();
    } catch (thrown) {
      this.#showOpen('execution_failed');
      throw thrown;
    } finally {
      context.signal.removeEventListener('abort', stop);
      // Not waited for: what does not end must not hold its host.
      if (!isDone) void Promise.resolve(events.return?.(undefined)).catch(() => {});
    }
  }

  #note(data: SessionStreamData): void {
    const ids = idsOf(data);
    for (const id of ids) {
      this.#open.delete(id);
      this.#questions.delete(id);
    }
    this.#given = new Set(ids);
    if (data.kind === 'message') this.#isRunning = true;
  }

  /** What one event of the session becomes here. */
  #take(read: ForeignEvent, faults: Faults): AgentEventDraft[] {
    if (read.kind === 'invalid') {
      faults.first ||= read.reason;
      if (++faults.count < MOST_INVALID) return [];
      throw new TroupeError({
        code: 'FOREIGN_SESSION',
        message: `the session says nothing that can be understood: ${faults.first}`,
      });
    }
    const { draft } = read;
    if (read.kind === 'unknown') return [draft];
    switch (draft.type) {
      case 'tool_request':
        if (!this.#ask(draft.requestId)) return [];
        if (!this.#options.isOpaque) return [draft];
        this.#own.set(draft.requestId, draft);
        return [];
      case 'tool_response':
        this.#takeResponse(draft);
        return [];
      case 'elicitation_request':
        if (!this.#ask(draft.requestId)) return [];
        this.#questions.add(draft.requestId);
        return [draft];
      case 'elicitation_response':
      case 'tool_update':
        return [];
      case 'initialize':
        if (read.nested) return [];
        this.#assertVersion(draft.interfaceVersion);
        this.#compare(draft.capabilities);
        return [];
      case 'usage':
      case 'error':
      case 'custom':
        return [draft];
      case 'message':
        // What it was told comes back as its first event: the host has published that already.
        if (draft.role !== 'agent') return [];
        break;
      default:
    }
    return [read.nested ? { type: 'custom', kind: 'foreign_thread_event', data: draft } : draft];
  }

  /** Messages get ids of ours: increments share one, and what it says later under the same id is another message. */
  #placed(draft: AgentEventDraft, context: TurnContext): AgentEventDraft {
    if (draft.type !== 'message' && draft.type !== 'tool_request') return draft;
    if (draft.messageId !== this.#message?.theirs) {
      this.#message = { theirs: draft.messageId, ours: context.newMessageId() };
    }
    return { ...draft, messageId: this.#message.ours };
  }

  /** False: it has asked under this id already, and waits. */
  #ask(requestId: string): boolean {
    if (this.#open.has(requestId)) {
      this.#tell(`asked twice under the id "${requestId}"; the second was dropped`);
      return false;
    }
    this.#open.add(requestId);
    return true;
  }

  #takeResponse(response: ToolResponse): void {
    const { requestId } = response;
    if (this.#given.has(requestId)) return;
    const request = this.#own.get(requestId);
    if (request === undefined) {
      this.#tell(`answered "${requestId}" itself, which is for the host to answer; its answer was dropped`);
      return;
    }
    this.#own.delete(requestId);
    this.#open.delete(requestId);
    this.#options.showOwnCall(request, response);
  }

  /** It is over: what it ran, or was to run, and never answered is shown all the same, with what is known of it. */
  #showOpen(errorType: 'cancelled' | 'execution_failed'): void {
    if (this.#own.size === 0) return;
    const text = 'The agent ended without saying what came of this call.';
    const result = { llmContent: [{ type: 'text' as const, text }], isError: true, errorType };
    for (const [requestId, request] of this.#own) {
      this.#open.delete(requestId);
      this.#options.showOwnCall(request, { type: 'tool_response', requestId, name: request.name, ...result });
    }
    // What comes of them now comes too late.
    this.#given = new Set([...this.#given, ...this.#own.keys()]);
    this.#own.clear();
  }

  /** A session of another major speaks of other events by the same names: nothing that it says is believed. */
  #assertVersion(version: string): void {
    const verdict = isCompatible(version);
    if (!verdict.compatible) throw new TroupeError({ code: 'INCOMPATIBLE_VERSION', message: verdict.reason });
  }

  #compare(able: readonly unknown[]): void {
    const missing = (this.#options.capabilities ?? []).filter((capability) => !able.includes(capability));
    if (missing.length > 0) this.#tell(`cannot do all that it declares: ${missing.join(', ')}`);
  }

  /** Whether the session ends its stream where it said so. What comes after a `stream_end` is told and dropped. */
  async #endsNow(events: AsyncIterator<unknown>): Promise<boolean> {
    const next = events.next().then(
      (step) => (step.done ? 'done' : 'more'),
      (thrown) => describeError(thrown).message,
    );
    const said = await Promise.race([next, nextRound()]);
    if (said === 'more') this.#tell('went on after its stream_end; that was dropped');
    return said === 'done';
  }
}

const isItsEnd = (read: ForeignEvent): boolean =>
  read.kind === 'known' && read.draft.type === 'stream_end' && !read.nested;

interface Faults {
  count: number;
  first: string;
}
