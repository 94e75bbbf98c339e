import type { Artifact, Message, Part, StreamResponse, Task, TaskStatus } from '@a2a-js/sdk';
import type { AgentEventDraft, ContentPart, TurnContext, TurnEnd } from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { cutText } from '../../kernel/text.js';
import { type PendingCall, pendingCalls, stepsIn } from './adk-parts.js';
import { dataIn, fromWire } from './parts.js';

const LONGEST_MESSAGE = 2_000;
/** Artifacts of one length that are looked through for a text; beyond them a repetition may be told twice. */
const MOST_ALIKE = 64;

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

/** What was told of an artifact, and how far the peer has come with it since it last began anew. */
interface Told {
  messageId: string;
  text: string;
  /** Letters of `text`; fewer than all while the peer repeats itself. */
  at: number;
  /** Parts that are no text. */
  others: number;
  othersAt: number;
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
  #asked: { readonly key: string; readonly messageId: string } | undefined;
  readonly #messages = new Set<string>();
  readonly #artifacts = new Map<string, Told>();
  /** Texts that were told: the peer may say the same as a status and as an artifact. */
  readonly #texts = new Set<string>();
  /** The artifacts by the length of their text: a set of every text on the way would weigh its square. */
  readonly #byLength = new Map<number, Set<Told>>();
  /** A task was shown since the last answer: a message is then a word on the way, and no answer. */
  #hasBegun = false;
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
    this.#hasBegun = false;
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
        if (this.#isOther(taskId, contextId)) return undefined;
        this.#hasBegun = true;
        return this.#takeStatus(status);
      }
      case 'artifactUpdate': {
        const { taskId, contextId, artifact, append } = payload.value;
        if (artifact === undefined || this.#isOther(taskId, contextId)) return undefined;
        this.#hasBegun = true;
        return this.#takeArtifact(artifact, append);
      }
      default:
        return undefined;
    }
  }

  takeTask({ id, contextId, artifacts, status }: Task): undefined | Promise<void> {
    if (this.#isOther(id, contextId)) return undefined;
    this.#hasBegun = true;
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
    const isOther = this.taskId !== undefined && message.taskId !== '' && message.taskId !== this.taskId;
    if (isOther) return undefined;
    if (this.#hasBegun) return this.#say(message);
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
        const messageId = message?.messageId ?? '';
        const key = `${state}|${messageId}|${said}`;
        if (key === this.#asked?.key) return undefined;
        this.#asked = { key, messageId };
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
        this.#goesOn();
        return message === undefined ? undefined : this.#say(message);
    }
  }

  /** It works: what it asked is withdrawn, and a question without an id of its own may be asked again. */
  #goesOn(): void {
    const isWithdrawn = this.need !== undefined;
    this.need = undefined;
    if (isWithdrawn || this.#asked?.messageId === '') this.#asked = undefined;
  }

  #say(message: Message): undefined | Promise<void> {
    if (message.messageId !== '' && this.#messages.has(message.messageId)) return undefined;
    if (message.messageId !== '') this.#messages.add(message.messageId);
    const content = fromWire(message.parts);
    const text = textOf(content);
    this.#showSteps(message.parts);
    if (content.length === 0 || this.#isTold(text)) return undefined;
    this.#note(text);
    return this.#publish(this.target.newMessageId(), content);
  }

  #takeArtifact(artifact: Artifact, append: boolean): undefined | Promise<void> {
    const content = fromWire(artifact.parts);
    this.#showSteps(artifact.parts);
    this.#data = dataIn(artifact) ?? this.#data;
    const known = this.#artifacts.get(artifact.artifactId);
    if (known !== undefined) return this.#goOnWith(known, content, append);
    const text = textOf(content);
    const isTold = this.#isTold(text);
    const others = content.filter(isNoText).length;
    const told = { messageId: this.target.newMessageId(), text: '', at: text.length, others, othersAt: others };
    this.#artifacts.set(artifact.artifactId, told);
    this.#grow(told, text);
    return content.length === 0 || isTold ? undefined : this.#publish(told.messageId, content);
  }

  /** More of an artifact, or all of it from its beginning: only what is not told yet. */
  #goOnWith(known: Told, content: ContentPart[], append: boolean): undefined | Promise<void> {
    const text = textOf(content);
    if (!append) known.at = known.othersAt = 0;
    const from = known.at;
    const isLatest = from === known.text.length;
    const wasOthersAt = known.othersAt;
    const others = content.filter(isNoText);
    known.othersAt += others.length;
    const newOthers = others.slice(Math.max(0, known.others - wasOthersAt));
    known.others = Math.max(known.others, known.othersAt);
    known.at += text.length;
    if (isLatest) {
      this.#grow(known, known.text + text);
      const isAllNew = newOthers.length === others.length;
      return this.#tell(known, isAllNew ? content : [...withText(text), ...newOthers]);
    }
    const before = known.text.length - from;
    if (known.text.startsWith(text.slice(0, before), from)) {
      const rest = text.slice(before);
      if (rest !== '') this.#grow(known, known.text + rest);
      return this.#tell(known, [...withText(rest), ...newOthers]);
    }
    // It says something else than before.
    const whole = known.text.slice(0, from) + text;
    const isTold = this.#isTold(whole);
    this.#grow(known, whole);
    if (isTold) return this.#tell(known, newOthers);
    known.messageId = this.target.newMessageId();
    return this.#tell(known, append ? [...withText(whole), ...newOthers] : content);
  }

  #tell({ messageId }: Told, content: ContentPart[]): undefined | Promise<void> {
    return content.length === 0 ? undefined : this.#publish(messageId, content);
  }

  #grow(known: Told, text: string): void {
    const alike = this.#byLength.get(known.text.length);
    alike?.delete(known);
    if (alike?.size === 0) this.#byLength.delete(known.text.length);
    known.text = text;
    if (text === '') return;
    this.#last = text;
    const others = this.#byLength.get(text.length);
    if (others === undefined) this.#byLength.set(text.length, new Set([known]));
    else if (others.size < MOST_ALIKE) others.add(known);
  }

  #isTold(text: string): boolean {
    if (text === '') return false;
    if (this.#texts.has(text)) return true;
    for (const artifact of this.#byLength.get(text.length) ?? []) if (artifact.text === text) return true;
    return false;
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

const isNoText = ({ type }: ContentPart): boolean => type !== 'text';
const withText = (text: string): ContentPart[] => (text === '' ? [] : [{ type: 'text', text }]);
