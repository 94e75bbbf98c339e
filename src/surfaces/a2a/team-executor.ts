import { createHash } from 'node:crypto';
import type { Message, Part, StreamResponse, Task, TaskState, TaskStatus } from '@a2a-js/sdk';
import type {
  AgentExecutor,
  ExecutionEventBus,
  ExecutionEventBusManager,
  RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import type { AgentDefinition, AgentEvent, ContentPart, ElicitationAnswer } from '../../contracts/index.js';
import { dataPart, fromWire, toWire } from '../../executors/remote/parts.js';
import type { Host, Run } from '../../host/types.js';
import { appendPart, textOf } from '../../kernel/content.js';
import { describeError } from '../../kernel/errors.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { cutText } from '../../kernel/text.js';
import type { PushDesk } from './push.js';
import { nameOf, type OwnTasks } from './task-store.js';
import { hasKeptMedia, withWholeMedia } from './whole-media.js';

export interface ServerSdk {
  readonly sdk: typeof import('@a2a-js/sdk');
  readonly server: typeof import('@a2a-js/sdk/server');
}

type Question = AgentEvent<'elicitation_request'>;

const LONGEST_ID = 200;
const MOST_HEARD = 200;
const MOST_READERS = 32;
const underWay = (which: string): string => `${which} of this context is under way: answer, await or cancel it first`;

export interface TeamExecutorPorts extends ServerSdk {
  readonly host: Host;
  readonly team: AgentDefinition;
  readonly tasks: OwnTasks;
  readonly buses: ExecutionEventBusManager;
  readonly push: PushDesk | undefined;
  readonly maxTasks: number;
}

/** Runs a team for A2A callers: a task is a run, a context a session, a question an input that is required. */
export class TeamExecutor implements AgentExecutor {
  readonly #tasks = new Map<string, TeamTask>();

  constructor(private readonly ports: TeamExecutorPorts) {}

  execute = async (request: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { host, team, buses, maxTasks } = this.ports;
    const { taskId, contextId, userMessage, context } = request;
    const user = nameOf(context);
    const known = this.#tasks.get(taskId);
    if (known !== undefined) return known.answer(userMessage, request.task, bus);
    const task = new TeamTask(taskId, contextId, user, this.ports);
    task.begin(userMessage, bus, request.task);
    // It ended between the look at it and now.
    if (request.task !== undefined) return task.refuse('this task waits for no answer');
    const open = [...this.#tasks.values()].filter((one) => one.user === user).length;
    if (open >= maxTasks) return task.refuse(`${maxTasks} tasks are under way: wait for one of them`, true);
    const other = [...this.#tasks].find(([, one]) => one.user === user && one.contextId === contextId);
    if (other !== undefined) return task.refuse(underWay(`task ${other[0]}`), true);
    this.#tasks.set(taskId, task);
    try {
      const sessionId = sessionOf(user, contextId);
      const run = host.run(team, this.#inputOf(userMessage) as never, { sessionId });
      // A server that was killed left a run half done: it is gone on with, and hears what is said now.
      const goOn = async () => {
        const resumed = await host.resume(sessionId, { agent: team });
        resumed.steer({ message: textOf(fromWire(userMessage.parts)) });
        return resumed;
      };
      void task.follow(run as Run, goOn).finally(() => {
        this.#tasks.delete(taskId);
        // Where nobody was listening nobody else lets go of it.
        task.leave();
        buses.cleanupByTaskId(taskId, context);
      });
    } catch (thrown) {
      this.#tasks.delete(taskId);
      task.refuse(describeError(thrown).message);
    }
    await task.settled();
  };

  /** Each message to a task that works is read for until it asks or ends: so many, and no more. */
  crowdAt(context: ServerCallContext, taskId: string): string | undefined {
    const task = this.#tasks.get(taskId);
    if (task === undefined || task.user !== nameOf(context) || task.readers < MOST_READERS) return undefined;
    return `${MOST_READERS} messages wait for this task: say more once it has asked, or ended`;
  }

  cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    await task.cancel(bus);
  };

  /** Data alone is the input of an agent that takes data; anything else is what was said. */
  #inputOf({ parts }: Message): unknown {
    const [only] = parts;
    const isData = parts.length === 1 && only?.content?.$case === 'data';
    if (isData && !isDefaultInputSchema(this.ports.team.descriptor.inputSchema)) return only.content?.value;
    return fromWire(parts);
  }
}

/** A caller's context is a session of its own, whatever names other callers give to theirs. */
const sessionOf = (user: string, contextId: string): string =>
  `a2a-${createHash('sha256').update(`${user}\n${contextId}`).digest('hex').slice(0, 40)}`;

/** One run that is told to a caller as a task. */
class TeamTask {
  isOver = false;
  /** Somebody reads its events for a caller, up to the next question; otherwise they are written from here. */
  #isRead = false;
  /** Calls that read until it asks or ends. */
  readers = 0;
  #bus: ExecutionEventBus | undefined;
  #run: Run | undefined;
  readonly #questions = new Map<string, Question>();
  /** Those who wait until it waits for its caller, or has ended. */
  #waiting: (() => void)[] = [];
  #ended: () => void = () => {};
  readonly ended = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });

  constructor(
    private readonly taskId: string,
    readonly contextId: string,
    readonly user: string,
    private readonly ports: Pick<TeamExecutorPorts, 'host' | 'sdk' | 'server' | 'push' | 'tasks'>,
  ) {}

  /** Ids of its caller's messages, the latest. */
  readonly #heard = new Set<string>();

  begin(message: Message, bus: ExecutionEventBus, before: Task | undefined): void {
    this.#heard.add(message.messageId);
    this.#read(bus);
    this.#show(before ?? { artifacts: [], history: [message] });
  }

  #read(bus: ExecutionEventBus): void {
    this.#bus = bus;
    this.#isRead = true;
    this.readers++;
  }

  /** Resolves when the task waits for its caller, or has ended. */
  settled(): Promise<void> {
    if (this.isOver || this.#asked !== undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** `goOn` gives the run that the session was cut off in, where there is one: it is followed instead. */
  async follow(run: Run, goOn: () => Promise<Run>): Promise<void> {
    try {
      const followed = await this.#tellAll(run).catch(async (thrown: unknown) => {
        if (describeError(thrown).code !== 'SESSION_STALE') throw thrown;
        return this.#tellAll(await goOn());
      });
      const { reason, result, data } = await followed.result;
      if (typeof result === 'object' && result !== null) this.#artifact('result', [dataPart(result)], false);
      this.#end(reason, String(data.message ?? data.reason ?? ''), typeof result === 'string' ? result : '');
    } catch (thrown) {
      const { code, message } = describeError(thrown);
      // Its session is an affair of this server.
      if (code === 'SESSION_BUSY') this.refuse(underWay('another task'), true);
      else this.refuse(message);
    } finally {
      this.#ended();
    }
  }

  /** Resolves to it once all was told. */
  async #tellAll(run: Run): Promise<Run> {
    this.#run = run;
    for await (const event of run) {
      const isKept = event.type === 'message' && hasKeptMedia(event);
      this.#tell(isKept ? await withWholeMedia(event, this.#artifactsOf(), run.sessionId) : event);
    }
    return run;
  }

  #artifactsOf() {
    return this.ports.host.context().sessionService.artifacts;
  }

  /** Nothing more will be told. */
  leave(): void {
    this.#bus?.finished();
  }

  refuse(message: string, isRejected = false): void {
    const { TASK_STATE_REJECTED, TASK_STATE_FAILED } = this.#states;
    this.#finish(isRejected ? TASK_STATE_REJECTED : TASK_STATE_FAILED, message);
  }

  /** An answer where it waits for one; otherwise something to be heard on the way. */
  async answer(message: Message, before: Task | undefined, bus: ExecutionEventBus): Promise<void> {
    this.#read(bus);
    this.#show(before ?? { artifacts: [], history: [message] });
    const question = this.#asked;
    // Sent once more, because its answer got lost: it is not heard twice.
    if (this.#heard.has(message.messageId)) return question === undefined ? this.settled() : this.#ask(question);
    this.#heard.add(message.messageId);
    const [oldest = ''] = this.#heard;
    if (this.#heard.size > MOST_HEARD) this.#heard.delete(oldest);
    if (question === undefined) {
      this.#run?.steer({ message: textOf(fromWire(message.parts)) });
      return this.settled();
    }
    const { requestId, answer } = readAnswer(message, question);
    // A question that was answered before, or is somebody else's: whatever is asked now was not meant.
    if (!this.#questions.has(requestId))
      return this.#ask(question, `there is no open question ${cutText(requestId, LONGEST_ID)}`);
    this.#asked = undefined;
    try {
      this.#run?.respond(requestId, answer);
      this.#questions.delete(requestId);
    } catch (thrown) {
      // The question stays open: it is asked again, with what was wrong.
      return this.#ask(question, describeError(thrown).message);
    }
    this.#askNext();
    await this.settled();
  }

  async cancel(bus: ExecutionEventBus): Promise<void> {
    this.#read(bus);
    if (this.#run === undefined) return;
    try {
      this.#run.abort('canceled by the caller');
    } catch {
      // It has ended by itself.
    }
    await this.ended;
  }

  get #states() {
    return this.ports.sdk.TaskState;
  }

  #statusOf(state: TaskState, message?: Message): TaskStatus {
    return { state, message, timestamp: new Date().toISOString() };
  }

  #settle(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** A stream begins with the task as it is. */
  #show({ artifacts, history }: Pick<Task, 'artifacts' | 'history'>): void {
    const { taskId: id, contextId } = this;
    const status = this.#statusOf(this.#states.TASK_STATE_WORKING);
    const task = { id, contextId, status, artifacts, history, metadata: undefined };
    this.#bus?.publish(this.ports.server.AgentEvent.task(task));
  }

  #tell(event: AgentEvent): void {
    switch (event.type) {
      case 'message':
        // What those below say is theirs; the caller gets what the team comes to.
        if (event.role === 'agent' && event.threadId === undefined) this.#say(event);
        return;
      case 'elicitation_request':
        this.#close();
        this.#questions.set(event.requestId, event);
        // What the host answers by itself is no question to the caller.
        setImmediate(() => this.#askNext());
        return;
      case 'elicitation_response':
        this.#questions.delete(event.requestId);
        this.#answered(event.requestId);
        return;
      default:
    }
  }

  /** What the caller is asked at present. */
  #asked: Question | undefined;

  /** Answered elsewhere, or too late: the caller is asked the next, or nothing more. */
  #answered(requestId: string): void {
    if (this.#asked?.requestId !== requestId) return;
    this.#asked = undefined;
    this.#askNext();
    if (this.#asked === undefined) this.#status(this.#states.TASK_STATE_WORKING, undefined);
  }

  #askNext(): void {
    const [next] = this.#questions.values();
    if (next !== undefined && this.#asked === undefined) this.#ask(next);
  }

  /** What is being said, as far as it has come. */
  #open: { readonly id: string; readonly content: ContentPart[] } | undefined;

  #say({ messageId, content }: AgentEvent<'message'>): void {
    const spoken = content.filter(isSpoken);
    if (spoken.length === 0) return;
    if (this.#open?.id !== messageId) this.#close();
    this.#open ??= { id: messageId, content: [] };
    for (const part of spoken) appendPart(this.#open.content, part);
    this.#artifact(messageId, toWire(spoken), true);
  }

  /** A message is complete: it is told whole once more, for who takes pieces for nothing but pieces. */
  #close(): void {
    const { id, content } = this.#open ?? {};
    this.#open = undefined;
    if (id !== undefined && content !== undefined) this.#artifact(id, toWire(content), false);
  }

  readonly #artifacts = new Set<string>();

  #artifact(artifactId: string, parts: Part[], append: boolean): void {
    if (parts.length === 0 || this.isOver) return;
    const isKnown = this.#artifacts.has(artifactId);
    this.#artifacts.add(artifactId);
    const artifact = { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] };
    const { taskId, contextId, user } = this;
    const update = {
      taskId,
      contextId,
      artifact,
      append: append && isKnown,
      lastChunk: !append,
      metadata: undefined,
    };
    if (!this.#isRead) this.ports.tasks.produced(user, taskId, artifact, append && isKnown);
    this.#bus?.publish(this.ports.server.AgentEvent.artifactUpdate(update));
    if (!append) this.#push({ payload: { $case: 'artifactUpdate', value: update } });
  }

  #ask(question: Question, fault?: string): void {
    if (this.isOver) return;
    this.#asked = question;
    const { kind, requestId, message, requestedSchema, context } = question;
    const isAuth = kind === 'auth_required';
    const state = isAuth ? this.#states.TASK_STATE_AUTH_REQUIRED : this.#states.TASK_STATE_INPUT_REQUIRED;
    const text = fault === undefined ? message : `${fault}. ${message}`;
    const details = {
      requestId,
      kind,
      ...(requestedSchema !== undefined && { requestedSchema }),
      ...(context !== undefined && { context }),
    };
    this.#status(state, [...toWire([{ type: 'text', text }]), dataPart(details)]);
    // Readers leave at a question; at `auth-required` they stay.
    if (!isAuth) {
      this.#isRead = false;
      this.readers = 0;
    }
    this.#settle();
  }

  #end(reason: string, why: string, result: string): void {
    const { TASK_STATE_COMPLETED, TASK_STATE_CANCELED, TASK_STATE_REJECTED, TASK_STATE_FAILED } = this.#states;
    if (reason === 'completed') {
      // A team says nothing itself: what it comes to is told here, unless it was streamed.
      if (this.#artifacts.size === 0 && result !== '')
        this.#artifact('result', toWire([{ type: 'text', text: result }]), false);
      return this.#finish(TASK_STATE_COMPLETED);
    }
    if (reason === 'aborted') return this.#finish(TASK_STATE_CANCELED, why);
    if (reason === 'refusal') return this.#finish(TASK_STATE_REJECTED, why);
    this.#finish(TASK_STATE_FAILED, why === '' ? `the run ended with ${reason}` : why);
  }

  #finish(state: TaskState, text = ''): void {
    if (this.isOver) return;
    this.#close();
    this.#status(state, text === '' ? undefined : toWire([{ type: 'text', text }]), true);
    this.isOver = true;
    this.#settle();
  }

  #status(state: TaskState, parts: Part[] | undefined, isLast = false): void {
    if (this.isOver) return;
    const { taskId, contextId, user } = this;
    const message: Message | undefined = parts && {
      messageId: `${taskId}-${++this.#said}`,
      contextId,
      taskId,
      role: this.ports.sdk.Role.ROLE_AGENT,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    const status = this.#statusOf(state, message);
    if (!this.#isRead) this.ports.tasks.moved(user, taskId, status);
    const update = { taskId, contextId, status, metadata: undefined };
    this.#bus?.publish(this.ports.server.AgentEvent.statusUpdate(update));
    this.#push({ payload: { $case: 'statusUpdate', value: update } }, isLast);
  }

  #push(event: StreamResponse, isLast = false): void {
    const { taskId, user, ports } = this;
    ports.push?.tell(user, taskId, event, isLast);
  }

  #said = 0;
}

const isSpoken = (part: ContentPart): boolean => part.type !== 'thought';

const YES = /^(y|yes|ok|accept|approve|approved|allow|proceed)[.!]?$/i;

/** Kinds that are answered with a yes or a no. */
const APPROVALS: ReadonlySet<string> = new Set([
  'tool_confirmation',
  'user_approval',
  'model_fallback',
  'tool_recovery',
  'interrupt',
]);

/**
 * What a caller's message answers: data with an `action` is the answer as it stands (and may name its question); text is
 * a yes or a no to an approval, else what the question's one field asks for.
 */
function readAnswer({ parts }: Message, asked: Question): { requestId: string; answer: ElicitationAnswer } {
  const data = parts.find((part) => part.content?.$case === 'data')?.content?.value as
    | Record<string, unknown>
    | undefined;
  if (typeof data === 'object' && data !== null) {
    const { requestId = asked.requestId, action, content } = data;
    const about = typeof requestId === 'string' ? requestId : '';
    if (typeof action === 'string') {
      const isBag = typeof content === 'object' && content !== null;
      return { requestId: about, answer: { action, ...(isBag && { content: content as Record<string, unknown> }) } };
    }
    return { requestId: asked.requestId, answer: { action: 'accept', content: data } };
  }
  const { requestId, kind, requestedSchema } = asked;
  const text = textOf(fromWire(parts)).trim();
  const [field] = Object.keys((requestedSchema?.properties ?? {}) as object);
  const isApproval = kind === 'tool_confirmation' || kind === 'user_approval';
  if (isApproval || (field === undefined && APPROVALS.has(kind))) {
    // Whatever is no clear yes is none.
    if (YES.test(text)) return { requestId, answer: { action: 'accept' } };
    return { requestId, answer: { action: 'decline', content: { reason: text } } };
  }
  return { requestId, answer: { action: 'accept', content: { [field ?? 'answer']: text } } };
}
