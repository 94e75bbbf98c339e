import type { Artifact, Message, Part, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk';
import type { AgentEventDraft, TurnContext, TurnEnd } from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { cutText } from '../../kernel/text.js';
import { type PendingCall, pendingCalls, stepsIn } from './adk-parts.js';
import { dataIn, fromWire } from './parts.js';

const LONGEST_MESSAGE = 2_000;

type Target = Pick<TurnContext, 'publish' | 'newMessageId'>;
type States = typeof import('@a2a-js/sdk').TaskState;

/** What a remote waits for before it goes on. */
export interface Need {
  readonly kind: 'clarification' | 'auth_required';
  readonly message: string;
  /** What else the peer says of it, unread. */
  readonly details?: unknown;
  /** The calls of the peer that it stands for: each is answered. */
  readonly calls: readonly PendingCall[];
}

/**
 * Folds what a remote says of one task into a thread's events. What was said once is not said again, however often, and in
 * whichever form (as a status, an artifact, a snapshot of the task), the peer repeats it. What is about another task is
 * passed over.
 */
export class TaskReader {
  taskId: string | undefined;
  contextId: string | undefined;
  /** Set once the task, or the answer, is over. */
  end: TurnEnd | undefined;
  need: Need | undefined;
  /** The question that was told last: a task that goes on may be shown once more as it stood when it was asked. */
  #asked = '';
  readonly #messages = new Set<string>();
  /** Text of each artifact so far, and the message that it is told in. */
  readonly #artifacts = new Map<string, { messageId: string; text: string; parts: number }>();
  /** Texts that were told: the peer may say the same as a status and as an artifact. */
  readonly #texts = new Set<string>();
  readonly #steps = new Set<string>();
  #last = '';
  #data: { value: unknown } | undefined;

  constructor(
    private readonly states: States,
    private target: Target,
  ) {}

  /** The question was answered: what comes next is told on `target`. */
  goOn(target: Target): void {
    this.target = target;
    this.need = undefined;
  }

  /** A promise when the consumer is behind. */
  take({ payload }: StreamResponse): undefined | Promise<void> {
    switch (payload?.$case) {
      case 'task':
        return this.takeTask(payload.value);
      case 'message':
        return this.#takeAnswer(payload.value);
      case 'statusUpdate': {
        const { taskId, contextId, status } = payload.value;
        return this.#isOther(taskId, contextId) ? undefined : this.#takeStatus(status);
      }
      case 'artifactUpdate': {
        const { taskId, contextId, artifact, append } = payload.value;
        if (artifact === undefined || this.#isOther(taskId, contextId)) return undefined;
        return this.#takeArtifact(artifact, append);
      }
      default:
        return undefined;
    }
  }

  takeTask({ id, contextId, artifacts, status }: Task): undefined | Promise<void> {
    if (this.#isOther(id, contextId)) return undefined;
    let full: undefined | Promise<void>;
    for (const artifact of artifacts ?? []) full = this.#takeArtifact(artifact, false) ?? full;
    return this.#takeStatus(status) ?? full;
  }

  #isOther(taskId: string, contextId: string): boolean {
    if (this.taskId === undefined && taskId !== '') this.taskId = taskId;
    if (contextId !== '') this.contextId ??= contextId;
    return taskId !== '' && taskId !== this.taskId;
  }

  /** An answer that is no task. */
  #takeAnswer(message: Message): undefined | Promise<void> {
    if (message.contextId !== '') this.contextId ??= message.contextId;
    const full = this.#say(message);
    this.#data = dataIn(message) ?? this.#data;
    this.#complete();
    return full;
  }

  #takeStatus(status: TaskStatus | undefined): undefined | Promise<void> {
    if (status === undefined || this.end !== undefined) return undefined;
    const { state, message } = status;
    const said = message === undefined ? '' : textIn(message).trim();
    const { states } = this;
    switch (state) {
      case states.TASK_STATE_COMPLETED: {
        const full = message === undefined ? undefined : this.#say(message);
        this.#complete();
        return full;
      }
      case states.TASK_STATE_FAILED:
        this.#fail('REMOTE_FAILED', said || 'the remote agent failed and did not say why');
        return undefined;
      case states.TASK_STATE_REJECTED: {
        const full = message === undefined ? undefined : this.#say(message);
        this.end = { reason: 'refusal' };
        return full;
      }
      case states.TASK_STATE_CANCELED:
        this.#fail('REMOTE_CANCELED', said || 'the remote agent was canceled at its own place');
        return undefined;
      case states.TASK_STATE_INPUT_REQUIRED:
      case states.TASK_STATE_AUTH_REQUIRED: {
        // Told as a question, not as a message; the same once more is the same question.
        const question = `${state}|${message?.messageId ?? ''}|${said}`;
        if (question === this.#asked) return undefined;
        this.#asked = question;
        const isAuth = state === states.TASK_STATE_AUTH_REQUIRED;
        const text = said || (isAuth ? 'the remote agent needs a credential' : 'the remote agent needs an answer');
        const details = message?.parts.find(({ content }) => content?.$case === 'data')?.content?.value;
        this.need = {
          kind: isAuth ? 'auth_required' : 'clarification',
          message: text,
          ...(details !== undefined && { details }),
          calls: pendingCalls(message?.parts ?? []),
        };
        return undefined;
      }
      default:
        return message === undefined ? undefined : this.#say(message);
    }
  }

  #say(message: Message): undefined | Promise<void> {
    if (message.messageId !== '' && this.#messages.has(message.messageId)) return undefined;
    if (message.messageId !== '') this.#messages.add(message.messageId);
    const content = fromWire(message.parts);
    const text = textOf(content);
    this.#showSteps(message.parts);
    if (content.length === 0 || (text !== '' && this.#texts.has(text))) return undefined;
    this.#note(text);
    return this.#publish(this.target.newMessageId(), content);
  }

  #takeArtifact(artifact: Artifact, append: boolean): undefined | Promise<void> {
    const content = fromWire(artifact.parts);
    const text = textOf(content);
    this.#showSteps(artifact.parts);
    this.#data = dataIn(artifact) ?? this.#data;
    const known = this.#artifacts.get(artifact.artifactId);
    if (known === undefined) {
      const messageId = this.target.newMessageId();
      this.#artifacts.set(artifact.artifactId, { messageId, text, parts: content.length });
      if (content.length === 0 || (text !== '' && this.#texts.has(text))) return undefined;
      this.#note(text);
      return this.#publish(messageId, content);
    }
    if (append) {
      known.text += text;
      known.parts += content.length;
      this.#note(known.text);
      return content.length === 0 ? undefined : this.#publish(known.messageId, content);
    }
    // The whole once more: only what is not told yet.
    if (!text.startsWith(known.text)) {
      const isNew = content.length > 0 && text !== known.text && text !== '';
      known.text = text;
      if (!isNew || this.#texts.has(text)) return undefined;
      this.#note(text);
      known.messageId = this.target.newMessageId();
      return this.#publish(known.messageId, content);
    }
    const rest = text.slice(known.text.length);
    known.text = text;
    if (rest === '') return undefined;
    this.#note(text);
    return this.#publish(known.messageId, [{ type: 'text', text: rest }]);
  }

  /** What the peer does on the way, each once. */
  #showSteps(parts: readonly Part[]): void {
    for (const { kind, data } of stepsIn(parts)) {
      const key = `${kind} ${String((data as { id?: unknown } | null)?.id)}`;
      if (this.#steps.has(key)) continue;
      this.#steps.add(key);
      void this.target.publish({ type: 'custom', kind, data });
    }
  }

  #note(text: string): void {
    if (text === '') return;
    this.#texts.add(text);
    this.#last = text;
  }

  #publish(messageId: string, content: AgentEventDraft<'message'>['content']): undefined | Promise<void> {
    return this.target.publish({ type: 'message', messageId, role: 'agent', content }) ?? undefined;
  }

  #complete(): void {
    const result = this.#data === undefined ? this.#last : this.#data.value;
    this.end = { reason: 'completed', data: result === '' ? {} : { result } };
  }

  #fail(code: string, why: string): void {
    const message = cutText(why, LONGEST_MESSAGE);
    void this.target.publish({ type: 'error', code, message, fatal: false });
    this.end = { reason: 'failed', data: { code, message } };
  }
}

const textIn = ({ parts }: Message): string =>
  textOf(fromWire(parts.filter(({ content }) => content?.$case === 'text')));
