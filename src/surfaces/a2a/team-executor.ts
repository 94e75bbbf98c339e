import { createHash } from 'node:crypto';
import type { Message, Part, Task, TaskState } from '@a2a-js/sdk';
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server';
import type { AgentDefinition, AgentEvent, ContentPart, ElicitationAnswer } from '../../contracts/index.js';
import { dataPart, fromWire, toWire } from '../../executors/remote/parts.js';
import type { Host, Run } from '../../host/types.js';
import { appendPart, textOf } from '../../kernel/content.js';
import { describeError } from '../../kernel/errors.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { nameOf } from './task-store.js';

export interface ServerSdk {
  readonly sdk: typeof import('@a2a-js/sdk');
  readonly server: typeof import('@a2a-js/sdk/server');
}

type Question = AgentEvent<'elicitation_request'>;

/** Runs a team for A2A callers: a task is a run, a context a session, a question an input that is required. */
export class TeamExecutor implements AgentExecutor {
  readonly #tasks = new Map<string, TeamTask>();

  constructor(
    private readonly host: Host,
    private readonly team: AgentDefinition,
    private readonly sdks: ServerSdk,
  ) {}

  execute = async (request: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    const { taskId, contextId, userMessage } = request;
    const known = this.#tasks.get(taskId);
    if (known !== undefined) return known.answer(userMessage, request.task, bus);
    const task = new TeamTask(taskId, contextId, this.sdks);
    this.#tasks.set(taskId, task);
    task.begin(userMessage, bus);
    try {
      const sessionId = sessionOf(nameOf(request.context), contextId);
      const run = this.host.run(this.team, this.#inputOf(userMessage) as never, { sessionId });
      void task.follow(run as Run).finally(() => this.#tasks.delete(taskId));
    } catch (thrown) {
      this.#tasks.delete(taskId);
      task.refuse(describeError(thrown).message);
    }
    await task.settled;
  };

  cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    await task.cancel(bus);
  };

  /** Data alone is the input of an agent that takes data; anything else is what was said. */
  #inputOf({ parts }: Message): unknown {
    const [only] = parts;
    const isData = parts.length === 1 && only?.content?.$case === 'data';
    if (isData && !isDefaultInputSchema(this.team.descriptor.inputSchema)) return only.content?.value;
    return fromWire(parts);
  }
}

/** A caller's context is a session of its own, whatever names other callers give to theirs. */
const sessionOf = (user: string, contextId: string): string =>
  `a2a-${createHash('sha256').update(`${user}\n${contextId}`).digest('hex').slice(0, 40)}`;

/** One run that is told to a caller as a task. */
class TeamTask {
  #bus: ExecutionEventBus | undefined;
  #run: Run | undefined;
  readonly #questions = new Map<string, Question>();
  #isOver = false;
  #settle: () => void = () => {};
  #ended: () => void = () => {};
  /** Resolves when the task waits for its caller, or has ended. */
  settled: Promise<void> = Promise.resolve();
  readonly ended = new Promise<void>((resolve) => {
    this.#ended = resolve;
  });

  constructor(
    private readonly taskId: string,
    private readonly contextId: string,
    private readonly sdks: ServerSdk,
  ) {}

  begin(message: Message, bus: ExecutionEventBus): void {
    this.#attach(bus);
    this.#show({ artifacts: [], history: [message] });
  }

  /** A stream begins with the task as it is. */
  #show({ artifacts, history }: Pick<Task, 'artifacts' | 'history'>): void {
    const status = { state: this.#states.TASK_STATE_WORKING, message: undefined, timestamp: new Date().toISOString() };
    const task = {
      id: this.taskId,
      contextId: this.contextId,
      status,
      artifacts,
      history,
      metadata: undefined,
    };
    this.#bus?.publish(this.sdks.server.AgentEvent.task(task));
  }

  async follow(run: Run): Promise<void> {
    this.#run = run;
    try {
      for await (const event of run) this.#tell(event);
      const { reason, result, data } = await run.result;
      if (typeof result === 'object' && result !== null) this.#artifact('result', [dataPart(result)], false);
      this.#end(reason, String(data.message ?? data.reason ?? ''), typeof result === 'string' ? result : '');
    } catch (thrown) {
      this.refuse(describeError(thrown).message);
    } finally {
      this.#ended();
    }
  }

  refuse(message: string): void {
    this.#finish(this.#states.TASK_STATE_FAILED, message);
  }

  async answer(message: Message, before: Task | undefined, bus: ExecutionEventBus): Promise<void> {
    this.#attach(bus);
    this.#show(before ?? { artifacts: [], history: [message] });
    const [question] = this.#questions.values();
    if (question === undefined || this.#run === undefined) return this.refuse('this task waits for no answer');
    const { requestId, answer } = readAnswer(message, question, this.#questions);
    try {
      this.#run.respond(requestId, answer);
      this.#questions.delete(requestId);
    } catch (thrown) {
      // The question stays open: it is asked again, with what was wrong.
      this.#ask(question, describeError(thrown).message);
      return;
    }
    const [next] = this.#questions.values();
    if (next !== undefined) return this.#ask(next);
    await this.settled;
  }

  async cancel(bus: ExecutionEventBus): Promise<void> {
    this.#attach(bus);
    if (this.#run === undefined) return;
    try {
      this.#run.abort('canceled by the caller');
    } catch {
      // It has ended by itself.
    }
    await this.ended;
  }

  get #states() {
    return this.sdks.sdk.TaskState;
  }

  #attach(bus: ExecutionEventBus): void {
    this.#bus = bus;
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
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
        if (this.#questions.size === 1) this.#ask(event);
        return;
      case 'elicitation_response':
        this.#questions.delete(event.requestId);
        return;
      default:
    }
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
    if (parts.length === 0 || this.#isOver) return;
    const isKnown = this.#artifacts.has(artifactId);
    this.#artifacts.add(artifactId);
    const artifact = { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] };
    this.#bus?.publish(
      this.sdks.server.AgentEvent.artifactUpdate({
        taskId: this.taskId,
        contextId: this.contextId,
        artifact,
        append: append && isKnown,
        lastChunk: !append,
        metadata: undefined,
      }),
    );
  }

  #ask(question: Question, fault?: string): void {
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
    if (this.#isOver) return;
    this.#close();
    this.#status(state, text === '' ? undefined : toWire([{ type: 'text', text }]));
    this.#isOver = true;
    this.#settle();
  }

  #status(state: TaskState, parts: Part[] | undefined): void {
    if (this.#isOver) return;
    const message: Message | undefined = parts && {
      messageId: `${this.taskId}-${++this.#said}`,
      contextId: this.contextId,
      taskId: this.taskId,
      role: this.sdks.sdk.Role.ROLE_AGENT,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    this.#bus?.publish(
      this.sdks.server.AgentEvent.statusUpdate({
        taskId: this.taskId,
        contextId: this.contextId,
        status: { state, message, timestamp: new Date().toISOString() },
        metadata: undefined,
      }),
    );
  }

  #said = 0;
}

const isSpoken = (part: ContentPart): boolean => part.type !== 'thought';

const YES = /^(y|yes|ok|accept|approve|approved|allow|proceed)[.!]?$/i;

/**
 * What a caller's message answers: data with an `action` is the answer as it stands (and may name its question); text is
 * a yes or a no to an approval, else what the question's one field asks for.
 */
function readAnswer(
  { parts }: Message,
  asked: Question,
  open: ReadonlyMap<string, Question>,
): { requestId: string; answer: ElicitationAnswer } {
  const data = parts.find((part) => part.content?.$case === 'data')?.content?.value as
    | Record<string, unknown>
    | undefined;
  if (typeof data === 'object' && data !== null) {
    const { requestId, action, content } = data;
    const about = typeof requestId === 'string' && open.has(requestId) ? requestId : asked.requestId;
    if (typeof action === 'string') {
      const isBag = typeof content === 'object' && content !== null;
      return { requestId: about, answer: { action, ...(isBag && { content: content as Record<string, unknown> }) } };
    }
    return { requestId: about, answer: { action: 'accept', content: data } };
  }
  const { requestId, kind, requestedSchema } = asked;
  const text = textOf(fromWire(parts)).trim();
  if (kind === 'tool_confirmation' || kind === 'user_approval') {
    // Whatever is no clear yes is none.
    if (YES.test(text)) return { requestId, answer: { action: 'accept' } };
    return { requestId, answer: { action: 'decline', content: { reason: text } } };
  }
  const [field = 'answer'] = Object.keys((requestedSchema?.properties ?? {}) as object);
  return { requestId, answer: { action: 'accept', content: { [field]: text } } };
}
