import {
  BasePlugin,
  type Context,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  getUserInputRequests,
  InMemoryRunner,
  type LlmRequest,
  type LlmResponse,
  StreamingMode,
  type UserInputRequest,
} from '@google/adk';
import type { Content, FunctionResponse } from '@google/genai';
import type {
  AgentEvent,
  AgentEventDraft,
  ContentPart,
  ElicitationResponse,
  JsonSchema,
  ModelUsage,
} from '../../contracts/index.js';
import { toParts } from '../../kernel/content.js';
import { TroupeError } from '../../kernel/errors.js';
import { toToolResult } from '../../kernel/tool-result.js';
import { createWireNames } from '../../kernel/wire-names.js';
import { Answer } from './answer.js';
import { failureOfEvent } from './failure.js';
import { toContents } from './parts.js';
import { quieten } from './quiet.js';
import { finishOf, usageOf } from './translate.js';

const NAMES = createWireNames([]);
const APP = 'troupe';
const USER = 'local';

/** One session of ADK's own runner. */
export class OpaqueRun {
  readonly #runner: InMemoryRunner;
  readonly #usage = new UsagePlugin();
  #sessionId: string | undefined;
  #isRunning = false;
  #messages = 0;
  /** What it asked and waits for; answers are kept until all are there. */
  readonly #asked = new Map<string, UserInputRequest>();
  #answers: FunctionResponse[] = [];

  constructor(agent: unknown, plugins: readonly BasePlugin[]) {
    quieten();
    const root = agent as ConstructorParameters<typeof InMemoryRunner>[0]['agent'];
    this.#runner = new InMemoryRunner({ agent: root, appName: APP, plugins: [this.#usage, ...plugins] });
  }

  async *say(
    content: string | readonly ContentPart[],
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, void, undefined> {
    const [said = { role: 'user', parts: [{ text: '' }] }] = toContents(
      [{ role: 'user', content: toParts(content) }],
      NAMES,
    );
    this.#asked.clear();
    this.#answers = [];
    yield* this.#run(said, signal);
  }

  /** The answers of one pause go back in one message, once all are there. */
  async *answer(response: ElicitationResponse, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    const request = this.#asked.get(response.requestId);
    if (request === undefined) throw new TroupeError({ code: 'UNKNOWN_REQUEST', message: response.requestId });
    this.#asked.delete(response.requestId);
    const { interruptId: id, functionCallName: name } = request;
    this.#answers.push({ id, name, response: answerTo(request, response) });
    if (this.#asked.size > 0) return;
    const parts = this.#answers.map((functionResponse) => ({ functionResponse }));
    this.#answers = [];
    yield* this.#run({ role: 'user', parts }, signal);
  }

  async *#run(newMessage: Content, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    if (this.#isRunning) {
      throw new TroupeError({ code: 'SESSION_BUSY', message: 'the agent still runs: it ignored that it was aborted' });
    }
    this.#isRunning = true;
    this.#sessionId ??= (await this.#runner.sessionService.createSession({ appName: APP, userId: USER })).id;
    const events = this.#runner.runAsync({
      userId: USER,
      sessionId: this.#sessionId,
      newMessage,
      runConfig: { streamingMode: StreamingMode.SSE, maxLlmCalls: MOST_CALLS },
      abortSignal: signal,
    });
    const said = new Said(() => `adk-${++this.#messages}`);
    let hasEnded = false;
    let cut: () => void = () => {};
    const onAbort = () => cut();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      while (!signal.aborted) {
        const step = await new Promise<IteratorResult<Event, void> | undefined>((resolve, reject) => {
          cut = () => resolve(undefined);
          events.next().then(resolve, reject);
        });
        if (step === undefined) return;
        if (step.done) {
          hasEnded = true;
          yield* this.#usage.finish();
          break;
        }
        yield* this.#usage.drain();
        const failure = said.take(step.value, this.#asked);
        yield* said.drain();
        if (failure === undefined) continue;
        yield* this.#usage.finish();
        yield draft({ type: 'error', fatal: false, code: failure.code, message: failure.message });
        return yield draft({ type: 'stream_end', reason: 'failed', data: failure });
      }
      // What it asked keeps the run open.
      if (this.#asked.size === 0 && !signal.aborted) yield draft({ type: 'stream_end', reason: 'completed' });
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (hasEnded) this.#isRunning = false;
      else void this.#leave(events);
    }
  }

  async #leave(events: AsyncGenerator<Event, void>): Promise<void> {
    try {
      await events.return(undefined);
    } catch {
      // What has been left has nobody to tell.
    }
    this.#isRunning = false;
  }
}

/** ADK's own bound: the host sees none of the calls. */
const MOST_CALLS = 500;

/** Stamped by the host that reads it. */
const draft = (event: AgentEventDraft): AgentEvent => event as unknown as AgentEvent;

/** What it says, as events: pieces and wholes of one message under one id, its calls with what came of them. */
class Said {
  #out: AgentEvent[] = [];
  #answer: { key: string; answer: Answer; isWhole: boolean } | undefined;

  constructor(private readonly newMessageId: () => string) {}

  *drain(): Generator<AgentEvent> {
    yield* this.#out.splice(0);
  }

  take(event: Event, asked: Map<string, UserInputRequest>): { code: string; message: string } | undefined {
    const { errorCode, errorMessage, author = '', branch = '', content, actions } = event;
    if (errorCode !== undefined && finishOf(event) === 'error') {
      const { code, message } = failureOfEvent(errorCode, errorMessage);
      return { code, message };
    }
    const questions = getUserInputRequests(event);
    for (const question of questions) {
      asked.set(question.interruptId, question);
      this.#out.push(draft(questionOf(question)));
    }
    if (!event.partial) this.#calls(event, new Set(questions.map(({ interruptId }) => interruptId)));
    for (const [name, version] of Object.entries(actions.artifactDelta))
      this.#out.push(draft({ type: 'custom', kind: 'artifact_delta', data: { name, version } }));
    const hasText = content?.parts?.some(({ text }) => text !== undefined) === true;
    if (content?.role === 'user' || author === 'user' || !hasText) return undefined;
    const key = `${branch} ${author}`;
    if (this.#answer?.key !== key || this.#answer.isWhole) this.#answer = { key, answer: this.#open(), isWhole: false };
    void this.#answer.answer.take({ ...event, content: { ...content, parts: withoutCalls(content) } });
    this.#answer.isWhole = !event.partial;
    return undefined;
  }

  #open(): Answer {
    const publish = (event: AgentEventDraft) => void this.#out.push(draft(event));
    return new Answer({ publish, newMessageId: this.newMessageId, toolsOff: true }, 'adk', NAMES);
  }

  #calls(event: Event, questions: ReadonlySet<string>): void {
    for (const [index, { id = '', name = '', args = {} }] of getFunctionCalls(event).entries()) {
      if (questions.has(id) || name.startsWith('adk_request_')) continue;
      this.#out.push(draft({ type: 'tool_request', requestId: id, name, args, messageId: this.newMessageId(), index }));
    }
    for (const { id = '', name = '', response = {} } of getFunctionResponses(event)) {
      if (name.startsWith('adk_request_')) continue;
      this.#out.push(draft({ type: 'tool_response', requestId: id, name, ...toToolResult(response) }));
    }
  }
}

const withoutCalls = ({ parts = [] }: Content) =>
  parts.filter(({ functionCall, functionResponse }) => functionCall === undefined && functionResponse === undefined);

const KINDS = { confirmation: 'tool_confirmation', credential: 'auth_required', input: 'clarification' } as const;

function questionOf(request: UserInputRequest): AgentEventDraft<'elicitation_request'> {
  const { kind, interruptId, message, payload, responseSchema, toolName, authConfig } = request;
  const schema = kind === 'input' ? schemaOf(responseSchema) : undefined;
  return {
    type: 'elicitation_request',
    requestId: interruptId,
    kind: KINDS[kind],
    message: message || (kind === 'credential' ? 'a credential is needed' : `may ${toolName ?? 'it'} go on?`),
    ...(schema !== undefined && { requestedSchema: schema }),
    context: {
      ...(toolName !== undefined && { tool: toolName }),
      ...(payload !== undefined && { payload }),
      ...(authConfig !== undefined && { scheme: authConfig.authScheme.type, provider: authConfig.credentialKey }),
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An answer is an object: what ADK wants as anything else stands in `result`. */
function schemaOf(schema: unknown): JsonSchema | undefined {
  if (!isObject(schema)) return undefined;
  return schema.type === 'object' ? schema : { type: 'object', properties: { result: schema }, required: ['result'] };
}

function answerTo(request: UserInputRequest, { action, content = {} }: ElicitationResponse): Record<string, unknown> {
  const isAccepted = action === 'accept';
  switch (request.kind) {
    case 'confirmation':
      return {
        confirmed: isAccepted && content.confirmed !== false,
        ...(content.payload !== undefined && { payload: content.payload }),
      };
    case 'credential':
      return isAccepted
        ? { ...request.authConfig, exchangedAuthCredential: content.credential ?? content }
        : { error: 'no credential was given' };
    default:
      return isAccepted ? content : { error: action };
  }
}

/** Sees each model call, so that its tokens are told once, however often ADK repeats them. */
class UsagePlugin extends BasePlugin {
  readonly #open = new Map<string, { model: string; usage: ModelUsage | undefined }>();
  #done: AgentEvent[] = [];

  constructor() {
    super('troupe_usage');
  }

  override beforeModelCallback({ callbackContext, llmRequest }: { callbackContext: Context; llmRequest: LlmRequest }) {
    this.#close(callbackContext.agentName);
    this.#open.set(callbackContext.agentName, { model: llmRequest.model ?? 'adk', usage: undefined });
    return Promise.resolve(undefined);
  }

  override afterModelCallback({
    callbackContext,
    llmResponse,
  }: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }) {
    const call = this.#open.get(callbackContext.agentName);
    const usage = usageOf(llmResponse.usageMetadata);
    if (call !== undefined && usage !== undefined) call.usage = usage;
    return Promise.resolve(undefined);
  }

  #close(agentName: string): void {
    const call = this.#open.get(agentName);
    this.#open.delete(agentName);
    if (call?.usage !== undefined) this.#done.push(draft({ type: 'usage', model: call.model, ...call.usage }));
  }

  *drain(): Generator<AgentEvent> {
    yield* this.#done.splice(0);
  }

  /** No call is open any more. */
  *finish(): Generator<AgentEvent> {
    for (const name of [...this.#open.keys()]) this.#close(name);
    yield* this.drain();
  }
}
