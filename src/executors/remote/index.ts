import type { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type {
  ContentPart,
  ElicitationAnswer,
  Executor,
  ExecutorCreator,
  ModelMessage,
  SessionStreamData,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { textOf, toParts } from '../../kernel/content.js';
import { describeError, TroupeError } from '../../kernel/errors.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { type RemoteBackend, readBackend } from './backend.js';
import { type Connection, connect } from './connect.js';
import { dataPart, toWire } from './parts.js';
import { TaskReader } from './task-reader.js';

export type { RemoteAuth, RemoteBackend } from './backend.js';

const DEFAULT_POLL_MS = 1_000;
/** How long a cancellation is waited for. */
const CANCEL_MS = 3_000;
/** How long a peer has, after an abort, to say which task it has begun: without its id nothing can be cancelled. */
const TASK_ID_MS = 1_000;

/**
 * Drives an agent that speaks A2A (version 1, and 0.3) over HTTP. It runs its own model and tools: it is refused unless a
 * policy rule grants it. `@a2a-js/sdk` is an optional peer, loaded with the first turn.
 */
export const remoteExecutor: ExecutorCreator = (descriptor, { definition }) =>
  new RemoteAgent(readBackend(definition.backend, descriptor.name));

class RemoteAgent implements Executor {
  readonly opaque = true;
  readonly capabilities = [
    'streaming',
    'elicitation',
    'pause_resume',
    'cancellation',
    'multi_turn',
    'stream_end_events',
  ];
  /** The host fires these around the run; of what happens inside nothing is seen here. */
  readonly hookPoints = ['before_run', 'after_run', 'before_agent', 'after_agent', 'on_user_message', 'on_event'];
  #connecting: Promise<Connection> | undefined;
  /** One conversation of the peer per session. */
  #contextId = '';
  /** The task that waits for an answer, with all that was told of it. */
  #waiting: TaskReader | undefined;

  constructor(private readonly backend: RemoteBackend) {}

  async turn(inbox: readonly SessionStreamData[], context: TurnContext): Promise<TurnEnd | undefined> {
    let connection: Connection;
    try {
      this.#connecting ??= connect(this.backend, context.traceContext);
      connection = await this.#connecting;
    } catch (thrown) {
      // The next run tries again.
      this.#connecting = undefined;
      return fail(context, thrown, 'UNAVAILABLE');
    }
    if (context.aborted) return undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    const answer = inbox.find((data) => data.kind === 'elicitation_response')?.response;
    if (waiting !== undefined && answer !== undefined && answer.action !== 'accept') {
      await this.#cancel(connection, waiting);
      const message = `the question of the remote agent was answered with ${answer.action}`;
      return { reason: 'failed', data: { code: 'DECLINED', message } };
    }
    const isAnswer = waiting !== undefined && answer !== undefined;
    const reader = isAnswer ? waiting : new TaskReader(connection.sdk.TaskState, context);
    if (isAnswer) reader.goOn(context);
    else reader.contextId = this.#contextId === '' ? undefined : this.#contextId;
    const request = this.#requestFor(connection, inbox, isAnswer ? answer : undefined, reader.taskId, context);
    try {
      await this.#follow(connection, request, reader, context);
    } catch (thrown) {
      if (context.aborted) return undefined;
      return fail(context, thrown, 'UNAVAILABLE');
    } finally {
      this.#contextId = reader.contextId ?? this.#contextId;
      if (context.aborted && reader.end === undefined) await this.#cancel(connection, reader);
    }
    if (context.aborted) return undefined;
    if (reader.need === undefined || reader.end !== undefined) return reader.end;
    this.#waiting = reader;
    const { kind, message, details } = reader.need;
    void context.publish({
      type: 'elicitation_request',
      requestId: reader.taskId ?? 'task',
      kind,
      message,
      requestedSchema: kind === 'auth_required' ? CREDENTIAL : ANSWER,
      context: { remote: connection.card.name, taskId: reader.taskId, ...(details !== undefined && { details }) },
    });
    return undefined;
  }

  async #follow(
    connection: Connection,
    request: SendMessageRequest,
    reader: TaskReader,
    context: TurnContext,
  ): Promise<void> {
    const { client, card } = connection;
    const { signal } = context;
    const patience = waitForTask(reader, signal);
    // Both sides must want it: a card that promises what the server does not do is found out by its first answer.
    if (card.capabilities?.streaming !== true || this.backend.streaming === false) {
      const first = await client.sendMessage(request, { signal: patience.signal }).finally(patience.end);
      await takeAll(reader, [
        isTask(first) ? { payload: { $case: 'task', value: first } } : { payload: { $case: 'message', value: first } },
      ]);
      return this.#poll(connection, reader, context);
    }
    let broken: unknown;
    try {
      await takeAll(reader, client.sendMessageStream(request, { signal: patience.signal }), () => context.aborted);
    } catch (thrown) {
      broken = thrown;
    } finally {
      patience.end();
    }
    if (isSettled(reader) || context.aborted) return;
    if (isTooMuch(broken)) {
      await this.#cancel(connection, reader);
      throw broken;
    }
    if (reader.taskId === undefined) throw broken ?? brokenOff();
    // Once: what still runs goes on streaming, what has ended meanwhile is looked at.
    try {
      await takeAll(
        reader,
        client.resubscribeTask({ tenant: '', id: reader.taskId }, { signal }),
        () => context.aborted,
      );
    } catch {
      // Ended, or gone: the task itself says which.
    }
    if (isSettled(reader) || context.aborted) return;
    await this.#look(connection, reader, context).catch((thrown) => {
      throw broken ?? thrown;
    });
    if (!isSettled(reader)) throw broken ?? brokenOff();
  }

  async #poll(connection: Connection, reader: TaskReader, context: TurnContext): Promise<void> {
    while (!isSettled(reader) && !context.aborted) {
      if (reader.taskId === undefined) throw brokenOff();
      if (!(await context.rest(this.backend.pollMs ?? DEFAULT_POLL_MS))) return;
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
    { sdk }: Connection,
    inbox: readonly SessionStreamData[],
    answer: ElicitationAnswer | undefined,
    taskId: string | undefined,
    context: TurnContext,
  ): SendMessageRequest {
    const isNew = this.#contextId === '';
    const parts = answer === undefined ? messageParts(inbox, context, isNew) : answerParts(answer);
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
        returnImmediately: this.backend.streaming === false,
      },
      metadata: undefined,
    };
  }
}

/** A text, or whatever else the peer's `details` ask for. */
const ANSWER = { type: 'object', properties: { answer: { type: 'string', title: 'Answer' } } } as const;

const CREDENTIAL = {
  type: 'object',
  properties: { credential: { type: 'string', title: 'Credential' } },
  required: ['credential'],
} as const;

const isTask = (answer: Message | Task): answer is Task => 'artifacts' in answer;
const isSettled = ({ end, need }: TaskReader): boolean => end !== undefined || need !== undefined;

/** Structured input goes as data, anything else as what was said; with what went before, where the peer cannot know it. */
function messageParts(inbox: readonly SessionStreamData[], context: TurnContext, isNew: boolean) {
  const said: ContentPart[] = [];
  for (const data of inbox) if (data.kind === 'message') said.push(...toParts(data.content));
  const isPlain = isDefaultInputSchema(context.definition.descriptor.inputSchema);
  const own = isPlain ? toWire(said) : [dataPart(context.input)];
  const before = isNew ? conversation(context.messages().slice(0, -1)) : '';
  return before === '' ? own : [...toWire([{ type: 'text', text: before }]), ...own];
}

function conversation(messages: readonly ModelMessage[]): string {
  if (!messages.some(({ role }) => role === 'model')) return '';
  const lines = messages.map(({ role, content }) => `${role === 'model' ? 'agent' : 'user'}: ${textOf(content)}`);
  return `The conversation so far:\n${lines.join('\n')}`;
}

function answerParts({ content = {} }: ElicitationAnswer) {
  const { answer, credential, ...others } = content;
  const given = answer ?? credential;
  if (typeof given === 'string' && Object.keys(others).length === 0) return toWire([{ type: 'text', text: given }]);
  return [dataPart({ action: 'accept', content })];
}

/**
 * The signal of a first request: fires with that of the run where the task is known, otherwise a little later, so that
 * what the peer has begun can be cancelled. `end` lets go of it.
 */
function waitForTask(reader: TaskReader, signal: AbortSignal): { signal: AbortSignal; end(): void } {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onAbort = () => {
    if (reader.taskId !== undefined) stop.abort();
    else timer = setTimeout(() => stop.abort(), TASK_ID_MS);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: stop.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    },
  };
}

async function takeAll(
  reader: TaskReader,
  events: Iterable<StreamResponse> | AsyncIterable<StreamResponse>,
  isOver: () => boolean = () => false,
): Promise<void> {
  for await (const event of events) {
    const full = reader.take(event);
    if (full !== undefined) await full;
    // A peer that goes on after its end is not listened to.
    if (reader.end !== undefined || isOver()) return;
  }
}

const isTooMuch = (thrown: unknown): boolean => describeError(thrown).code === 'RESOURCE_EXHAUSTED';

const brokenOff = () =>
  new TroupeError({ code: 'REMOTE_BROKE_OFF', message: 'the remote agent stopped before its task had ended' });

function fail(context: TurnContext, thrown: unknown, fallback: string): TurnEnd {
  const { code, message } = describeError(thrown, fallback);
  void context.publish({ type: 'error', code, message, fatal: false });
  return { reason: 'failed', data: { code, message } };
}
