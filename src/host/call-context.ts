import type {
  AgentEventDraft,
  ArtifactStore,
  Bag,
  ContentPart,
  ElicitationAnswer,
  JsonSchema,
  MemoryStore,
  StandardSchema,
  ToolContext,
  ToolUpdate,
} from '../contracts/index.js';
import { askValidator } from '../kernel/ask-validator.js';
import { toParts } from '../kernel/content.js';
import { TroupeError } from '../kernel/errors.js';
import { jsonFault } from '../kernel/json-value.js';
import { readSchema } from '../kernel/schema.js';
import { type CallState, createCallState } from '../kernel/state.js';
import { areParts } from './given-data.js';
import type { Occupancy } from './occupancy.js';
import { projectProgress } from './projection.js';
import { SessionArtifacts, UserMemory } from './session-files.js';
import { publish } from './session-tree.js';
import { askFor, type Call } from './tool-call.js';

type Question = Parameters<ToolContext['elicit']>[0];

/** What a tool is given; its signal is made when it is first read. */
export class CallContext implements ToolContext {
  readonly #call: Call;
  readonly #occupancy: Occupancy;
  #state: CallState | undefined;

  constructor(call: Call, occupancy: Occupancy) {
    this.#call = call;
    this.#occupancy = occupancy;
  }

  get signal(): AbortSignal {
    const call = this.#call;
    if (call.controller === undefined) {
      call.controller = new AbortController();
      const late = call.stopReason ?? (call.stage === 'done' ? 'the call has ended' : undefined);
      if (late !== undefined) call.controller.abort(new DOMException(late, 'AbortError'));
    }
    return call.controller.signal;
  }
  get sessionId(): string {
    return this.#call.thread.tree.sessionId;
  }
  get threadId(): string | undefined {
    return this.#call.thread.threadId;
  }
  get agentId(): string {
    return this.#call.thread.agentId;
  }
  get requestId(): string {
    return this.#call.requestId;
  }
  get userId(): string {
    return this.#call.thread.tree.userId;
  }
  get artifacts(): ArtifactStore | undefined {
    const { thread } = this.#call;
    const { artifacts } = thread.tree.host.store;
    const isKept = artifacts !== undefined && thread.tree.handle !== undefined;
    return isKept ? new SessionArtifacts(artifacts, thread) : undefined;
  }
  get memory(): MemoryStore | undefined {
    const { host, userId, handle } = this.#call.thread.tree;
    const { memory } = host.store;
    return memory === undefined ? undefined : new UserMemory(memory, userId, handle !== undefined);
  }
  get state() {
    const call = this.#call;
    if (this.#state === undefined) {
      this.#state = createCallState(call.thread.state);
      call.state = this.#state;
    }
    return this.#state.view;
  }

  // Getters, as tools take these out of the context by name: `{ elicit, progress }`.
  get elicit() {
    return (question: Question) => this.#elicit(question);
  }
  get credentials() {
    const { host, userId } = this.#call.thread.tree;
    return { get: async (provider: string) => host.credentials.get({ userId, provider }) };
  }
  get progress() {
    return (update: ToolUpdate | string | number) => showProgress(this.#call, update);
  }
  get log() {
    return (text: string) => this.#log(text);
  }

  async #elicit(question: Question): Promise<{ action: string; content?: Bag }> {
    const call = this.#call;
    assertQuestion(question);
    const { expiresAt, kind = 'user_approval', message, title, context } = question;
    const schema = question.requestedSchema === undefined ? undefined : readAsked(question.requestedSchema);
    if (call.stage === 'done') return { action: 'cancel' };
    this.#occupancy.suspend();
    const answer = await askFor(
      call,
      {
        kind,
        message,
        ...(title !== undefined && { title }),
        ...(schema !== undefined && { requestedSchema: schema.jsonSchema }),
        ...(expiresAt !== undefined && {
          expiresAt: typeof expiresAt === 'string' ? expiresAt : new Date(expiresAt).toISOString(),
        }),
        context: { ...context, toolRequestId: call.requestId },
      },
      (given) => answerFaults(schema, given),
    );
    await this.#occupancy.resume();
    if (answer.action !== 'accept') return { action: answer.action };
    const content = schema === undefined ? answer.content : await filled(schema, answer.content ?? {});
    return content === undefined ? { action: 'accept' } : { action: 'accept', content };
  }

  #log(text: string): void {
    const { thread, requestId, stage } = this.#call;
    if (stage === 'done') return;
    publish(thread, { type: 'custom', kind: 'log', data: { requestId, text: String(text) } });
  }
}

/** What is shown to a person and written to the log is what it says it is. */
function assertQuestion(question: unknown): void {
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  const { message, kind, title, expiresAt, context } = Object(question) as Partial<Question>;
  const isDate = expiresAt === undefined || (expiresAt !== null && Number.isFinite(new Date(expiresAt).getTime()));
  const isBag = context === undefined || (typeof context === 'object' && jsonFault(context) === undefined);
  if (typeof message === 'string' && isText(kind) && isText(title) && isDate && isBag) return;
  throw new TroupeError({
    code: 'INVALID_INPUT',
    message: 'elicit takes { message, kind?, title?, requestedSchema?, expiresAt?, context? }: texts, a date, JSON',
  });
}

interface AskedSchema {
  jsonSchema: JsonSchema;
  validator?: StandardSchema<unknown, unknown>;
}

function readAsked(schema: NonNullable<Question['requestedSchema']>): AskedSchema {
  const reading = readSchema(schema as JsonSchema, { path: 'requestedSchema', objectOnly: true });
  const [problem] = reading.problems;
  if (problem !== undefined) throw new TroupeError({ code: problem.code, message: problem.message });
  return reading;
}

/** What the author's own schema has against an answer, where it says so at once: then the question stays open. */
function answerFaults(schema: AskedSchema | undefined, { action, content }: ElicitationAnswer): readonly string[] {
  if (schema?.validator === undefined || action !== 'accept') return [];
  const verdict = askValidator(schema.validator, content ?? {});
  return verdict instanceof Promise ? [] : verdict.faults;
}

/**
 * The answer with the defaults that were offered and not touched; where the author's own schema has a validator, as that
 * makes it. Throws `INVALID_ANSWER` for one that it does not take, which it can find out only now.
 */
async function filled({ jsonSchema, validator }: AskedSchema, content: Bag): Promise<Bag> {
  if (validator !== undefined) {
    const { faults, value } = await askValidator(validator, content);
    if (faults.length === 0) return value as Bag;
    throw new TroupeError({ code: 'INVALID_ANSWER', message: `the answer does not fit: ${faults.join('; ')}` });
  }
  const whole = { ...content };
  for (const [key, property] of Object.entries((jsonSchema.properties ?? {}) as Record<string, JsonSchema>)) {
    if (!Object.hasOwn(whole, key) && property?.default !== undefined) whole[key] = property.default;
  }
  return whole;
}

/** Progress of a call for display: text, 0..1, or an update; of anything else nothing is shown. */
export function showProgress(call: Call, update: unknown): undefined | Promise<void> {
  if (call.stage === 'done') return undefined;
  const { content, progress, data } = toUpdate(update);
  const event: AgentEventDraft<'tool_update'> = { type: 'tool_update', requestId: call.requestId };
  if (areParts(content) && jsonFault(content) === undefined) event.content = content as ContentPart[];
  if (Number.isFinite(progress)) event.progress = Math.min(1, Math.max(0, progress as number));
  if (data !== undefined && jsonFault(data) === undefined) event.data = data;
  if (Object.keys(event).length <= 2) return undefined;
  const own = publish(call.thread, event);
  const above = projectProgress(call.thread, call.name, event);
  return own === undefined || above === undefined ? (own ?? above) : own.then(() => above);
}

function toUpdate(update: unknown): ToolUpdate {
  if (typeof update === 'string') return { content: toParts(update) };
  if (typeof update === 'number') return { progress: update };
  return typeof update === 'object' && update !== null ? update : {};
}
