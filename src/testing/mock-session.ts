import type {
  AgentEvent,
  AgentEventDraft,
  AgentResponse,
  AgentSession,
  ElicitationAnswer,
  ExecutionOptions,
  SessionStreamData,
  SessionUpdateData,
  SteerData,
  ToolResultData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

/** An event as it was recorded, or without what a host stamps: that is filled in. */
export type MockEvent = AgentEvent | AgentEventDraft;

/**
 * Events to replay in order, over as many runs as they have `stream_end`s; or a function that is asked at every
 * `stream()` for what that stream yields (`call` counts from 0; `signal` fires when the run is aborted). Its stream
 * pauses where the events end.
 */
export type MockScript =
  | readonly MockEvent[]
  | ((data: SessionStreamData, call: number, signal: AbortSignal) => Iterable<MockEvent> | AsyncIterable<MockEvent>);

/** An `AgentSession` that replays, and keeps what it was given. */
export interface MockSession extends AgentSession {
  /** What `stream()` was given, in order; refused calls too. */
  readonly received: readonly SessionStreamData[];
  /** The options of each `stream()`. */
  readonly options: readonly (ExecutionOptions | undefined)[];
  readonly updates: readonly SessionUpdateData[];
  readonly steers: readonly SteerData[];
  /** Reasons of `abort()`, and of runs that were aborted by their controller, their signal or by leaving the stream. */
  readonly aborts: readonly string[];
  /** Throws `SCRIPT_NOT_CONSUMED`, naming the first event that nobody has read. A function has none. */
  assertConsumed(): void;
}

/**
 * A session without an agent. A replay pauses (its stream returns without a `stream_end`) in front of the first event
 * after its requests that is no further request, `usage` or `tool_update`, until every request has its answer; an
 * answer is yielded as its response event, in the place of a recorded one. Aborted, it answers what is open with
 * `cancelled` or `cancel`, ends with `stream_end: aborted`, and goes on behind the recorded end. Wrong use rejects the
 * first `next()` as `AgentSession` says.
 */
export function mockSession(script: MockScript): MockSession {
  const received: SessionStreamData[] = [];
  const given: (ExecutionOptions | undefined)[] = [];
  const updates: SessionUpdateData[] = [];
  const steers: SteerData[] = [];
  const aborts: string[] = [];
  /** Open requests: id → name of the tool; undefined for a question. */
  const open = new Map<string, string | undefined>();
  const answered = new Set<string>();
  let at = 0;
  let isRunning = false;
  let isEnded = false;
  let isReading = false;
  let abortReason: string | undefined;
  let controller = new AbortController();
  let stamped = 0;

  const stamp = (event: MockEvent): AgentEvent => {
    stamped++;
    return { id: `mock-${stamped}`, timestamp: new Date(stamped).toISOString(), seq: stamped, ...event } as AgentEvent;
  };

  /** Keeps account of an event on its way out; undefined where it is left out. */
  const pass = (event: MockEvent): AgentEvent | undefined => {
    if (event.type === 'tool_request') open.set(event.requestId, event.name);
    if (event.type === 'elicitation_request') open.set(event.requestId, undefined);
    // The answer that was really given stands in for a recorded one.
    if ((event.type === 'tool_response' || event.type === 'elicitation_response') && answered.has(event.requestId)) {
      return undefined;
    }
    if (endsRun(event)) isRunning = false;
    return stamp(event);
  };

  const abort = (reason: string) => {
    if (!isRunning || abortReason !== undefined) return;
    abortReason = reason;
    aborts.push(reason);
    controller.abort(reason);
    if (!isReading) skipRun();
  };

  /** The run is over without a reader. */
  const skipRun = () => {
    isRunning = false;
    abortReason = undefined;
    open.clear();
    if (typeof script === 'function') return;
    while (at < script.length && !endsRun(script[at++] as MockEvent));
  };

  function* abortedEnd(): Generator<AgentEvent> {
    const reason = abortReason as string;
    for (const [requestId, name] of open) {
      if (name === undefined) yield stamp({ type: 'elicitation_response', requestId, action: 'cancel' });
      else yield stamp({ type: 'tool_response', requestId, name, ...cancelled });
    }
    skipRun();
    yield stamp({ type: 'stream_end', reason: 'aborted', data: { reason, by: 'user' } });
  }

  async function* replay(list: readonly MockEvent[]): AsyncGenerator<AgentEvent, void, undefined> {
    while (at < list.length) {
      if (abortReason !== undefined) return yield* abortedEnd();
      const event = list[at] as MockEvent;
      if (open.size > 0 && !GOES_WITH_REQUESTS.has(event.type)) return;
      at++;
      const passed = pass(event);
      if (passed !== undefined) yield passed;
      if (endsRun(event)) return;
    }
    if (abortReason !== undefined) yield* abortedEnd();
  }

  async function* produce(data: SessionStreamData, call: number): AsyncGenerator<AgentEvent, void, undefined> {
    isReading = true;
    try {
      for (const response of responsesOf(data)) yield stamp(response);
      if (typeof script !== 'function') return yield* replay(script);
      for await (const event of script(data, call, controller.signal)) {
        if (abortReason !== undefined) break;
        const passed = pass(event);
        if (passed !== undefined) yield passed;
      }
      if (abortReason !== undefined) yield* abortedEnd();
    } finally {
      isReading = false;
      if (abortReason !== undefined) skipRun();
    }
  }

  const responsesOf = (data: SessionStreamData): AgentEventDraft[] =>
    answersOf(data).map(({ requestId, result, response }): AgentEventDraft => {
      const name = open.get(requestId);
      open.delete(requestId);
      answered.add(requestId);
      return result === undefined
        ? { type: 'elicitation_response', requestId, ...(response as ElicitationAnswer) }
        : { type: 'tool_response', requestId, name: name as string, ...result };
    });

  const check = (data: SessionStreamData): TroupeError | undefined => {
    if (isEnded) return wrongUse('SESSION_ENDED', 'the session was aborted');
    if (data.kind === 'message') {
      if (isRunning) return wrongUse('SESSION_BUSY', `a run is under way; open: ${[...open.keys()].join(', ')}`);
      if (typeof script !== 'function' && at >= script.length) {
        return wrongUse('SCRIPT_EXHAUSTED', `the script has ${script.length} events, and all were replayed`);
      }
      return undefined;
    }
    for (const { requestId, result } of answersOf(data)) {
      const isCall = open.get(requestId) !== undefined;
      if (!open.has(requestId) || isCall !== (result !== undefined)) {
        return wrongUse('UNKNOWN_REQUEST', `no open request "${requestId}"`);
      }
    }
    return undefined;
  };

  return {
    received,
    options: given,
    updates,
    steers,
    aborts,
    stream(data, options) {
      received.push(data);
      given.push(options);
      const fault = check(data);
      if (fault !== undefined) return { stream: handMade(refuse(fault), () => {}), controller: { abort() {} } };
      if (data.kind === 'message') {
        isRunning = true;
        controller = new AbortController();
      }
      const { signal } = options ?? {};
      if (signal?.aborted) abort('the signal has fired');
      else signal?.addEventListener('abort', () => abort('the signal has fired'), { once: true });
      return {
        stream: handMade(produce(data, received.length - 1), () => abort('the consumer left')),
        controller: { abort: (reason) => abort(reason ?? 'aborted') },
      };
    },
    update(config) {
      updates.push(config);
    },
    steer(data) {
      steers.push(data);
    },
    abort(reason = 'aborted') {
      if (isEnded) return;
      isEnded = true;
      if (isRunning) abort(reason);
      else aborts.push(reason);
    },
    assertConsumed() {
      if (typeof script === 'function' || at >= script.length) return;
      const left = `#${at + 1} ${script[at]?.type}`;
      throw wrongUse('SCRIPT_NOT_CONSUMED', `${script.length - at} events were not replayed; the next is ${left}`);
    },
  };
}

/** The end of a thread below it is not its own. */
const endsRun = (event: MockEvent) => event.type === 'stream_end' && !('threadId' in event && event.threadId);

const GOES_WITH_REQUESTS: ReadonlySet<string> = new Set([
  'tool_request',
  'elicitation_request',
  'tool_update',
  'usage',
]);

const cancelled: ToolResultData = {
  llmContent: [{ type: 'text', text: 'cancelled' }],
  isError: true,
  errorType: 'cancelled',
};

interface Answer {
  requestId: string;
  result?: ToolResultData;
  response?: ElicitationAnswer;
}

function answersOf(data: SessionStreamData): Answer[] {
  switch (data.kind) {
    case 'message':
      return [];
    case 'tool_results':
      return data.results;
    default:
      return [data];
  }
}

const wrongUse = (code: string, message: string) => new TroupeError({ code, message });

// biome-ignore lint/correctness/useYield: it never gets as far as an event.
async function* refuse(fault: TroupeError): AsyncGenerator<AgentEvent, void, undefined> {
  throw fault;
}

/** A generator that was never started runs no `finally`: leaving it is seen to by hand. */
function handMade(source: AgentResponse['stream'], leave: () => void): AgentResponse['stream'] {
  let isOver = false;
  const stream: AgentResponse['stream'] = {
    async next() {
      if (isOver) return { done: true, value: undefined };
      const step = await source.next().catch((thrown: unknown) => {
        isOver = true;
        throw thrown;
      });
      isOver = step.done === true;
      return step;
    },
    async return() {
      if (!isOver) {
        isOver = true;
        leave();
        await source.return(undefined);
      }
      return { done: true, value: undefined };
    },
    async throw(thrown) {
      await stream.return(undefined);
      throw thrown;
    },
    [Symbol.asyncIterator]: () => stream,
    async [Symbol.asyncDispose]() {
      await stream.return(undefined);
    },
  };
  return stream;
}
