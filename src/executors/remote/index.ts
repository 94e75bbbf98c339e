import type { Message, Part, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type {
  Clock,
  Executor,
  ExecutorCreator,
  SessionStreamData,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { describeError, TroupeError } from '../../kernel/errors.js';
import { cutText } from '../../kernel/text.js';
import { type RemoteBackend, readBackend } from './backend.js';
import { type Connection, connect } from './connect.js';
import { isUnsupported } from './guarded-fetch.js';
import { messageParts } from './message-parts.js';
import { isPushRefused, News } from './news.js';
import { type AnswerData, answerParts, questionsOf, refusalIn, taskIdIn } from './questions.js';
import { TaskReader } from './task-reader.js';

export type { PushInbox, RemoteAuth, RemoteBackend } from './backend.js';

const CAPABILITIES = ['streaming', 'elicitation', 'pause_resume', 'cancellation', 'multi_turn', 'stream_end_events'];
const DEFAULT_POLL_MS = 1_000;
/** Where the peer tells of news: for news that gets lost. */
const PUSHED_POLL_MS = 30_000;
/** How long a cancellation is waited for. */
const CANCEL_MS = 3_000;
/** How long a peer has, after an abort, to say which task it has begun: without its id nothing can be cancelled. */
const TASK_ID_MS = 1_000;
/** How long more is waited for after a question: some peers leave the stream open until it is answered. */
const QUESTION_MS = 500;

/**
 * Drives an agent that speaks A2A (version 1, and 0.3) over HTTP. It runs its own model and tools: it is refused unless a
 * policy rule grants it. `@a2a-js/sdk` is an optional peer, loaded with the first turn.
 */
export const remoteExecutor: ExecutorCreator = Object.assign<ExecutorCreator, { capabilities: readonly string[] }>(
  (descriptor, { definition }) => new RemoteAgent(readBackend(definition.backend, descriptor.name)),
  { capabilities: CAPABILITIES },
);

class RemoteAgent implements Executor {
  readonly opaque = true;
  readonly capabilities = CAPABILITIES;
  /** The host fires these around the run; of what happens inside nothing is seen here. */
  readonly hookPoints = ['before_run', 'after_run', 'before_agent', 'after_agent', 'on_user_message', 'on_event'];
  #connecting: Promise<Connection> | undefined;
  /** Ends the reading of the card. */
  #stop: AbortController | undefined;
  /** One conversation of the peer per session. */
  #contextId = '';
  /** The task that waits for an answer, with all that was told of it. */
  #waiting: TaskReader | undefined;

  constructor(private readonly backend: RemoteBackend) {}

  async turn(inbox: readonly SessionStreamData[], context: TurnContext): Promise<TurnEnd | undefined> {
    let connection: Connection | undefined;
    try {
      this.#connecting ??= this.#connect(context);
      connection = await unlessAborted(this.#connecting, context.signal);
    } catch (thrown) {
      // The next run tries again.
      this.#connecting = undefined;
      return fail(context, thrown, 'UNAVAILABLE');
    }
    if (connection === undefined || context.aborted) return undefined;
    const answers = inbox.filter((data) => data.kind === 'elicitation_response');
    const waiting =
      answers.length === 0 ? undefined : (this.#waiting ?? (await this.#recall(connection, answers, context)));
    this.#waiting = undefined;
    if (waiting instanceof Error) return fail(context, waiting, 'UNAVAILABLE');
    if (waiting?.end !== undefined) return waiting.end;
    const refusal = waiting && refusalIn(waiting, answers);
    if (waiting !== undefined && refusal !== undefined) {
      await this.#cancel(connection, waiting);
      const message = `the question of the remote agent was answered with ${refusal}`;
      return { reason: 'failed', data: { code: 'DECLINED', message } };
    }
    const reader = waiting ?? new TaskReader(connection.sdk.TaskState, context);
    const answered = waiting && answerParts(waiting, answers);
    if (waiting !== undefined) waiting.goOn(context);
    else reader.contextId = this.#contextId === '' ? undefined : this.#contextId;
    const request = this.#requestFor(connection, inbox, answered, reader.taskId, context);
    const news = new News();
    try {
      await this.#follow(connection, request, reader, context, news);
    } catch (thrown) {
      if (context.aborted) return undefined;
      return fail(context, thrown, 'UNAVAILABLE');
    } finally {
      news.close();
      this.#contextId = reader.contextId ?? this.#contextId;
      if (context.aborted && reader.end === undefined) await this.#cancel(connection, reader);
    }
    if (context.aborted) return undefined;
    if (reader.need === undefined || reader.end !== undefined) return reader.end;
    this.#waiting = reader;
    const { name } = connection.card;
    for (const question of questionsOf(reader.need, name, reader.taskId ?? 'task')) void context.publish(question);
    return undefined;
  }

  #connect({ clock, traceContext: trace }: TurnContext): Promise<Connection> {
    this.#stop = new AbortController();
    return connect(this.backend, { clock, trace, signal: this.#stop.signal });
  }

  close(): void {
    this.#stop?.abort();
  }

  /**
   * A question that was asked before this process began: its id names the task. What the task has said was told then, and
   * is not told again.
   */
  async #recall(
    connection: Connection,
    [first]: readonly AnswerData[],
    context: TurnContext,
  ): Promise<TaskReader | Error> {
    const reader = new TaskReader(connection.sdk.TaskState, { publish: () => {}, newMessageId: () => '' });
    reader.taskId = taskIdIn(first?.requestId ?? '');
    try {
      await this.#look(connection, reader, context);
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    return reader;
  }

  async #follow(
    connection: Connection,
    request: SendMessageRequest,
    reader: TaskReader,
    context: TurnContext,
    news: News,
  ): Promise<void> {
    const { configuration } = request;
    const attempt = async () => {
      if (configuration !== undefined) configuration.returnImmediately = !connection.streams;
      if (connection.streams) return this.#stream(connection, request, reader, context);
      const given = configuration && news.ask(connection, this.backend);
      if (configuration !== undefined && given !== undefined) configuration.taskPushNotificationConfig = given;
      const broken = await this.#send(connection, request, reader, context);
      if (configuration === undefined || given === undefined || !isPushRefused(broken)) return broken;
      configuration.taskPushNotificationConfig = undefined;
      news.close();
      return this.#send(connection, request, reader, context);
    };
    let broken = await attempt();
    // A card may say what the server does not do: the other way is tried, once, where nothing was begun.
    if (isUnsupported(broken) && reader.taskId === undefined && this.backend.streaming !== false) {
      connection.streams = !connection.streams;
      broken = await attempt();
    }
    return this.#finish(connection, reader, context, broken, news);
  }

  /** Sends, and reads one answer; returns what went wrong. */
  async #send(
    { client }: Connection,
    request: SendMessageRequest,
    reader: TaskReader,
    { signal }: TurnContext,
  ): Promise<unknown> {
    const patience = waitForTask(reader, signal);
    try {
      const first = await client.sendMessage(request, { signal: patience.signal });
      await reader.take({
        payload: isTask(first) ? { $case: 'task', value: first } : { $case: 'message', value: first },
      });
      return undefined;
    } catch (thrown) {
      return thrown;
    } finally {
      patience.end();
    }
  }

  /** The same as a stream. */
  async #stream(
    { client }: Connection,
    request: SendMessageRequest,
    reader: TaskReader,
    context: TurnContext,
  ): Promise<unknown> {
    const patience = waitForTask(reader, context.signal);
    try {
      await takeAll(reader, client.sendMessageStream(request, { signal: patience.signal }), context, patience.leave);
      return undefined;
    } catch (thrown) {
      return thrown;
    } finally {
      patience.end();
    }
  }

  /** Sees a task that was begun through to its end or its next question. */
  async #finish(
    connection: Connection,
    reader: TaskReader,
    context: TurnContext,
    broken: unknown,
    news: News,
  ): Promise<void> {
    const { client } = connection;
    if (isSettled(reader) || context.aborted) return;
    if (!connection.streams) {
      // What was answered too late may have ended by itself.
      if (broken !== undefined && reader.taskId !== undefined)
        await this.#look(connection, reader, context).catch(() => undefined);
      if (broken !== undefined && !isSettled(reader)) throw broken;
      return this.#poll(connection, reader, context, news);
    }
    if (isTooMuch(broken)) {
      await this.#cancel(connection, reader);
      throw broken;
    }
    if (reader.taskId === undefined) throw broken ?? brokenOff();
    // Once: what still runs goes on streaming, what has ended meanwhile is looked at.
    const patience = waitForTask(reader, context.signal);
    try {
      const events = client.resubscribeTask({ tenant: '', id: reader.taskId }, { signal: patience.signal });
      await takeAll(reader, events, context, patience.leave);
    } catch {
      // Ended, or gone: the task itself says which.
    } finally {
      patience.end();
    }
    if (isSettled(reader) || context.aborted) return;
    await this.#look(connection, reader, context).catch((thrown) => {
      throw broken ?? thrown;
    });
    if (!isSettled(reader)) throw broken ?? brokenOff();
  }

  async #poll(connection: Connection, reader: TaskReader, context: TurnContext, news: News): Promise<void> {
    const { pollMs = DEFAULT_POLL_MS } = this.backend;
    let resting: Promise<boolean> | undefined;
    while (!isSettled(reader) && !context.aborted) {
      if (reader.taskId === undefined) throw brokenOff();
      resting ??= context.rest(news.isExpected ? Math.max(pollMs, PUSHED_POLL_MS) : pollMs).then((isOn) => {
        resting = undefined;
        return isOn;
      });
      if (!(await Promise.race([resting, news.next()]))) return;
      await this.#look(connection, reader, context);
    }
  }

  async #look({ client }: Connection, reader: TaskReader, { signal }: TurnContext): Promise<void> {
    const task = await client.getTask({ tenant: '', id: reader.taskId ?? '' }, { signal });
    await reader.takeTask(task);
  }

  /** Asked for and not waited for long: what the peer makes of it is its own affair. */
  async #cancel({ client }: Connection, { taskId }: TaskReader): Promise<void> {
    if (taskId === undefined) return;
    const signal = AbortSignal.timeout(CANCEL_MS);
    await client.cancelTask({ tenant: '', id: taskId, metadata: undefined }, { signal }).catch(() => undefined);
  }

  #requestFor(
    { sdk, streams }: Connection,
    inbox: readonly SessionStreamData[],
    answered: Part[] | undefined,
    taskId: string | undefined,
    context: TurnContext,
  ): SendMessageRequest {
    const isNew = this.#contextId === '';
    const parts = answered ?? messageParts(inbox, context, isNew);
    const message: Message = {
      messageId: context.newMessageId(),
      contextId: this.#contextId,
      taskId: taskId ?? '',
      role: sdk.Role.ROLE_USER,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    return {
      tenant: '',
      message,
      configuration: {
        acceptedOutputModes: [],
        taskPushNotificationConfig: undefined,
        returnImmediately: !streams,
      },
      metadata: undefined,
    };
  }
}

const isTask = (answer: Message | Task): answer is Task => 'artifacts' in answer;
const isSettled = ({ end, need }: TaskReader): boolean => end !== undefined || need !== undefined;

/**
 * The signal of a first request: fires with that of the run where the task is known, otherwise a little later, so that
 * what the peer has begun can be cancelled. `end` lets go of it, `leave` ends the request.
 */
function waitForTask(reader: TaskReader, signal: AbortSignal) {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onAbort = () => {
    if (reader.taskId !== undefined) stop.abort();
    else timer = setTimeout(() => stop.abort(), TASK_ID_MS);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: stop.signal,
    leave: () => stop.abort(),
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

/** Reads until the task has ended or the stream has; a question is waited with for a little only. */
async function takeAll(
  reader: TaskReader,
  events: AsyncIterable<StreamResponse>,
  context: Pick<TurnContext, 'clock' | 'aborted'>,
  leave: () => void,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  let isLeft = false;
  try {
    for (;;) {
      const step = await (reader.need === undefined
        ? iterator.next()
        : within(QUESTION_MS, iterator.next(), context.clock));
      isLeft = step === undefined;
      if (step === undefined || step.done) return;
      const full = reader.take(step.value);
      if (full !== undefined) await full;
      // A peer that goes on after its end is not listened to.
      if (reader.end !== undefined || context.aborted) return;
    }
  } finally {
    if (isLeft) leave();
    else await iterator.return?.();
  }
}

/** Undefined: it took longer. What comes of it then is nobody's affair. */
function within<T>(ms: number, work: Promise<T>, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const cancel = clock.schedule(() => resolve(undefined), ms);
    work.then(resolve, reject).finally(cancel);
  });
}

const isTooMuch = (thrown: unknown): boolean => describeError(thrown).code === 'RESOURCE_EXHAUSTED';

const brokenOff = () =>
  new TroupeError({ code: 'REMOTE_BROKE_OFF', message: 'the remote agent stopped before its task had ended' });

/** Undefined: aborted first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

const LONGEST_MESSAGE = 2_000;

/** The SDK puts whole answers into its messages. */
function fail(context: TurnContext, thrown: unknown, fallback: string): TurnEnd {
  const { code, message: whole } = describeError(thrown, fallback);
  const message = cutText(whole, LONGEST_MESSAGE);
  void context.publish({ type: 'error', code, message, fatal: false });
  return { reason: 'failed', data: { code, message } };
}
