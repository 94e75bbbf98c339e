import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type { ModelRequest, ModelResponse, ResolvedModel, TurnContext } from '../../contracts/index.js';
import { askAfterModel, askBeforeModel, askOnModelError, wholeResponse } from '../../kernel/model-hooks.js';
import type { Answer } from './answer.js';
import { type AdkFailure, failureOf } from './failure.js';
import { streamHostModel } from './host-stream.js';
import { addProvided, keepProvided, providedTools } from './provided.js';
import {
  applyGeneration,
  applyModelRequest,
  finishOf,
  fromLlmResponse,
  toLlmResponse,
  toModelRequest,
  usageOf,
} from './translate.js';

const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 500;
const LONGEST_WAIT_MS = 5 * 60_000;

/** The agent's own model, or one of the host's. */
export type Driven = { readonly own: BaseLlm } | { readonly host: ResolvedModel };

/** What a turn wants to know of its model calls. */
export interface CallListener {
  /** A call begins; what ADK says from now on belongs to it. */
  begin(modelName: string): Answer;
  /** It is over, however it ended. */
  end(): void;
  /** The turn is to end so. */
  fail(failure: AdkFailure): void;
  /** No more calls are permitted. */
  refuse(): void;
}

/**
 * Stands in for an agent's model for one turn: each call is counted against the host's limits, passes its hooks, and is
 * tried again where that may help. What the model itself does is not touched.
 */
export class DrivenModel extends BaseLlm {
  constructor(
    private readonly driven: Driven,
    private readonly context: TurnContext,
    private readonly request: ModelRequest,
    private readonly listener: CallListener,
  ) {
    // ADK knows models of Gemini by their bare names.
    super({ model: 'own' in driven ? driven.own.model : driven.host.name.replace(/^gemini\//, '') });
  }

  override async *generateContentAsync(
    asked: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { context, listener } = this;
    this.#complete(asked);
    if (context.hasHook('before_model') || context.hasHook('before_tool_selection')) {
      const request = this.#requestOf(asked);
      const prepared = await askBeforeModel(context, request);
      if (context.aborted) return;
      if ('blocked' in prepared) return listener.fail(blocked(prepared.blocked));
      if ('response' in prepared) return yield* this.#answerWith(prepared.response);
      if (prepared.request !== request) applyChanges(asked, prepared.request);
    }
    let wasEmpty = false;
    for (let attempt = 1; ; attempt++) {
      if (context.aborted) return;
      if (!context.admitModelCall()) return listener.refuse();
      const answer = listener.begin(this.#name());
      const provider = this.#provider();
      const traced = context.traceModelCall?.({ model: this.#name(), provider, attempt });
      // Streaming, ADK says nothing of a prompt that was blocked; asked for the whole, it says why.
      const failure: AdkFailure | undefined = yield* this.#attempt(asked, stream && !wasEmpty, signal, answer);
      const { finishReason } = answer.turn;
      traced?.end({ finishReason, error: failure, isAborted: context.aborted });
      if (failure === undefined || context.aborted) return;
      if (failure.code === HOOK_BLOCKED) return listener.fail(failure);
      const isEmpty: boolean = failure === EMPTY;
      // What has reached the consumer is not silently said again; thoughts are no answer.
      const isSaid = isEmpty ? answer.turn.hasAnswered || wasEmpty : answer.turn.hasSpoken;
      const waitMs = isSaid ? undefined : retryDelay(failure, attempt);
      wasEmpty ||= isEmpty;
      if (waitMs === undefined) return yield* this.#giveUp(asked, failure);
      const text = `${this.#name()}: ${failure.message}; again in ${waitMs} ms`;
      const data = { code: 'MODEL_RETRY', severity: 'info', text };
      await context.publish({ type: 'custom', kind: 'notice', data, source: 'host' });
      if (!(await context.rest(waitMs))) return;
    }
  }

  /** Live audio is out of scope. */
  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(new Error('live connections are not supported: this model answers requests'));
  }

  /** What the host adds to a request of the agent: its instruction and settings. */
  #complete(asked: LlmRequest): void {
    const { systemInstruction, config, toolMode, tools } = this.request;
    asked.config ??= {};
    if (systemInstruction !== undefined) {
      const { systemInstruction: own } = asked.config;
      asked.config.systemInstruction =
        own === undefined || typeof own === 'string'
          ? [own, systemInstruction].filter((text) => text).join('\n\n')
          : systemInstruction;
    }
    applyGeneration(asked.config, config);
    if (toolMode === 'none') {
      delete asked.config.tools;
      return;
    }
    keepProvided(asked.config, (name) => this.context.allowsProviderTool?.(name) === true);
    addProvided(asked.config, tools);
  }

  /** As hooks and models of the host see it: what the provider runs stands among its tools. */
  #requestOf(asked: LlmRequest): ModelRequest {
    const request = toModelRequest(asked, this.#own());
    const provided = providedTools(asked.config);
    if (provided.length > 0) request.tools = [...(request.tools ?? []), ...provided];
    return request;
  }

  /** Made for each request: its signal exists once it is read. */
  #own(): Pick<ModelRequest, 'signal' | '_meta'> {
    const { context, request } = this;
    return {
      get signal() {
        return context.signal;
      },
      ...(request._meta !== undefined && { _meta: request._meta }),
    };
  }

  /** No more is tried; a hook may have an answer all the same. */
  async *#giveUp(asked: LlmRequest, failure: AdkFailure): AsyncGenerator<LlmResponse, void> {
    const { context, listener } = this;
    if (context.hasHook('on_model_error')) {
      const { code, message, retryable } = failure;
      const request = this.#requestOf(asked);
      const response = await askOnModelError(context, request, { code, message, retryable });
      if (context.aborted) return;
      if (response !== undefined) return yield* this.#answerWith(response);
    }
    listener.fail(failure);
  }

  /** An answer as its hooks leave it: kept back until it is whole. */
  async #judge(asked: LlmRequest, answers: readonly LlmResponse[]): Promise<readonly LlmResponse[] | AdkFailure> {
    // What was said in pieces is said once more as a whole.
    const wholes = answers.filter(({ partial }) => partial !== true);
    const whole = wholeResponse((wholes.length > 0 ? wholes : answers).map(fromLlmResponse));
    const said = await askAfterModel(this.context, this.#requestOf(asked), whole);
    if (said === undefined) return answers;
    if ('blocked' in said) return blocked(said.blocked);
    return [toLlmResponse({ finishReason: 'stop', ...said.response }, false)];
  }

  async *#answerWith(response: ModelResponse): AsyncGenerator<LlmResponse, void> {
    const answer = this.listener.begin(this.#name());
    yield toLlmResponse({ finishReason: 'stop', ...response }, false);
    if (response.usage !== undefined) answer.usage(response.usage);
    answer.turn.publishUsage();
    this.listener.end();
  }

  /** One call. Returns how it failed; nothing when it did not. */
  async *#attempt(
    asked: LlmRequest,
    stream: boolean,
    signal: AbortSignal | undefined,
    answer: Answer,
  ): AsyncGenerator<LlmResponse, AdkFailure | undefined> {
    const { context, driven } = this;
    let release: (() => void) | undefined;
    try {
      const permit = context.takePermit(this.#provider());
      if (permit !== undefined) release = await permit;
      if (context.aborted) return undefined;
      const answers =
        'own' in driven
          ? driven.own.generateContentAsync(asked, stream, signal)
          : streamHostModel(driven.host.model, this.#requestOf(asked), stream);
      const isJudged = context.hasHook('after_model');
      const held: LlmResponse[] = [];
      let isUsable = false;
      for await (const response of answers) {
        const usage = usageOf(response.usageMetadata);
        if (usage !== undefined) answer.usage(usage);
        isUsable ||= saysSomething(response);
        // Until there is an answer it may have to be asked for again.
        if (isJudged || (!isUsable && !response.partial)) held.push(response);
        else {
          yield* held.splice(0);
          yield response;
        }
        if (context.aborted) return undefined;
      }
      if (!isUsable) return EMPTY;
      if (!isJudged) return undefined;
      const judged = await this.#judge(asked, held);
      if (context.aborted) return undefined;
      if (!isList(judged)) return judged;
      yield* judged;
      return undefined;
    } catch (thrown) {
      return failureOf(thrown);
    } finally {
      release?.();
      answer.turn.publishUsage();
      this.listener.end();
    }
  }

  /** As the host names models: by it they have their prices. */
  #name(): string {
    if ('host' in this.driven) return this.driven.host.name;
    return this.#provider() === 'gemini' && !this.model.includes('/') ? `gemini/${this.model}` : this.model;
  }

  #provider(): string {
    if ('host' in this.driven) return this.driven.host.provider;
    return /(^|\/)gemini/.test(this.model) ? 'gemini' : 'adk';
  }
}

/** What a hook made of a request; tools of the provider that it left out are left out. */
function applyChanges(asked: LlmRequest, changed: ModelRequest): void {
  const { tools = [], allowedTools, toolMode } = changed;
  const offered = toolMode === 'none' ? [] : tools.map(({ name }) => name);
  const left = new Set(allowedTools === undefined ? offered : offered.filter((name) => allowedTools.includes(name)));
  applyModelRequest(asked, changed);
  if (asked.config !== undefined) keepProvided(asked.config, (name) => left.has(name));
}

const HOOK_BLOCKED = 'HOOK_BLOCKED';
const blocked = (message: string): AdkFailure => ({ code: HOOK_BLOCKED, message, retryable: false });

const isList = (judged: readonly LlmResponse[] | AdkFailure): judged is readonly LlmResponse[] => Array.isArray(judged);

const EMPTY: AdkFailure = {
  code: 'MALFORMED_RESPONSE',
  message: 'the model answered with nothing usable',
  retryable: true,
};

/** Thoughts are no answer; a refusal, a cut and a failure are. */
function saysSomething(response: LlmResponse): boolean {
  const finish = response.partial ? undefined : finishOf(response);
  if (finish === 'refusal' || finish === 'length' || finish === 'error') return true;
  if (finish === 'malformed') return false;
  return (response.content?.parts ?? []).some(({ text, thought, ...more }) =>
    text === undefined ? Object.keys(more).length > 0 : text !== '' && thought !== true,
  );
}

function retryDelay(failure: AdkFailure, attempt: number): number | undefined {
  if (!failure.retryable || attempt >= MAX_ATTEMPTS) return undefined;
  const waitMs = failure.retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  return waitMs > LONGEST_WAIT_MS ? undefined : waitMs;
}
