import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type {
  Bag,
  ModelCall,
  ModelRequest,
  ModelResponse,
  OwnModelCall,
  ResolvedModel,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { askAfterModel, askBeforeModel, askOnModelError, wholeResponse } from '../../kernel/model-hooks.js';
import type { Answer } from './answer.js';
import { type AdkFailure, failureOf } from './failure.js';
import { streamHostModel } from './host-stream.js';
import { isGemini, pricedName } from './own-model.js';
import { addProvided, applyChanges, keepProvided, requestWithProvided } from './provided.js';
import { applyGeneration, finishOf, fromLlmResponse, toLlmResponse, usageOf } from './translate.js';

const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 500;
const LONGEST_WAIT_MS = 5 * 60_000;

/** The agent's own model, or one of the host's; that by its name alone where more decides which one is asked. */
export type Driven = { readonly own: BaseLlm } | { readonly host: ResolvedModel | { readonly name: string } };

/** What a turn wants to know of its model calls. */
export interface CallListener {
  /** A call begins; what ADK says from now on belongs to it. */
  begin(modelName: string, routing?: Bag): Answer;
  /** It is over, however it ended. */
  end(): void;
  /** The turn is to end so. */
  fail(failure: AdkFailure): void;
  /** What plugins say in the place of a model that failed; or how one of them failed. */
  recover(asked: LlmRequest, failure: AdkFailure): Promise<LlmResponse | AdkFailure | undefined>;
  /** No more calls are permitted; `end`: the run has ended so, and that was told. */
  refuse(end?: TurnEnd): void;
}

/**
 * Stands in for an agent's model for one turn: each call is counted against the host's limits, passes its hooks, and is
 * tried again where that may help. What the model itself does is not touched.
 */
export class DrivenModel extends BaseLlm {
  /** The host's model of the call under way. */
  #asked: ResolvedModel | undefined;
  /** Something came back from it. */
  #hasCome = false;

  constructor(
    private readonly driven: Driven,
    private readonly context: TurnContext,
    private readonly request: ModelRequest,
    private readonly listener: CallListener,
  ) {
    // ADK knows models of Gemini by their bare names.
    super({ model: 'own' in driven ? driven.own.model : driven.host.name.replace(/^gemini\//, '') });
    this.#asked = 'host' in driven && 'model' in driven.host ? driven.host : undefined;
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
    let isPlain = context.asksPlainly;
    const { maxOutputTokens } = asked.config ?? {};
    for (let attempt = 1; ; attempt++) {
      if (context.aborted) return;
      let call: Begun | undefined;
      if (!isPlain) {
        const begun = await this.#begin(asked, maxOutputTokens).catch(failureOf);
        if (begun !== undefined && 'code' in begun) return listener.fail(begun);
        if (begun === undefined || 'reason' in begun) return listener.refuse(begun);
        call = begun;
      } else if (!context.admitModelCall()) return listener.refuse();
      const answer = listener.begin(this.#name(), call?.routing);
      const provider = this.#provider();
      const traced = context.traceModelCall?.({ model: this.#name(), provider, attempt, routing: call?.routing });
      this.#hasCome = false;
      // Streaming, ADK says nothing of a prompt that was blocked; asked for the whole, it says why.
      const failure: AdkFailure | undefined = yield* this.#attempt(
        asked,
        call?.request,
        stream && !wasEmpty,
        signal,
        answer,
      );
      call?.settle(failure === undefined || failure.code === HOOK_BLOCKED || this.#hasCome);
      const { finishReason } = answer.turn;
      traced?.end({ finishReason, error: failure, isAborted: context.aborted });
      if (context.aborted) return;
      if (failure === undefined) {
        if (!isPlain && this.#asked !== undefined) context.modelCalls.answered(this.#asked);
        return;
      }
      if (failure.code === HOOK_BLOCKED) return listener.fail(failure);
      const isEmpty: boolean = failure === EMPTY;
      // What has reached the consumer is not silently said again; thoughts are no answer.
      const isSaid = isEmpty ? answer.turn.hasAnswered || wasEmpty : answer.turn.hasSpoken;
      wasEmpty ||= isEmpty;
      if (!(await this.#mayAskAgain(failure, isSaid, attempt))) {
        return context.aborted ? undefined : yield* this.#giveUp(asked, failure);
      }
      // One of the host's has failed: another may stand in for it.
      isPlain &&= 'own' in this.driven;
    }
  }

  /** A place for one more call, and what it may cost. */
  async #begin(asked: LlmRequest, maxOutputTokens: number | undefined): Promise<Begun | TurnEnd | undefined> {
    const { modelCalls } = this.context;
    asked.config ??= {};
    const { config } = asked;
    // What the last try could pay for is not what this one can.
    if (maxOutputTokens === undefined) delete config.maxOutputTokens;
    else config.maxOutputTokens = maxOutputTokens;
    const request = this.#requestOf(asked);
    if ('own' in this.driven) {
      const begun = await modelCalls.beginOwn({ name: this.#name(), provider: this.#provider() }, request);
      if (begun !== undefined && 'request' in begun) applyGeneration(config, begun.request.config);
      return begun;
    }
    const begun = await modelCalls.begin(request);
    if (begun !== undefined && 'resolved' in begun) this.#asked = begun.resolved;
    return begun;
  }

  /** Waits as long as is due. */
  async #mayAskAgain(failure: AdkFailure, isSaid: boolean, attempt: number): Promise<boolean> {
    const { context } = this;
    if (this.#asked !== undefined) {
      const { code, message, retryable, retryAfterMs } = failure;
      const isMalformed = failure === EMPTY;
      return context.modelCalls.failed({ code, message, retryable, retryAfterMs, isMalformed, isSaid }, this.#asked);
    }
    const waitMs = isSaid ? undefined : retryDelay(failure, attempt);
    if (waitMs === undefined) return false;
    const text = `${this.#name()}: ${failure.message}; again in ${waitMs} ms`;
    const data = { code: 'MODEL_RETRY', severity: 'info', text };
    await context.publish({ type: 'custom', kind: 'notice', data, source: 'host' });
    return context.rest(waitMs);
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

  #requestOf(asked: LlmRequest): ModelRequest {
    return requestWithProvided(asked, this.#own());
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

  /** No more is tried; a plugin of the agent or a hook may have an answer all the same. */
  async *#giveUp(asked: LlmRequest, failed: AdkFailure): AsyncGenerator<LlmResponse, void> {
    const { context, listener } = this;
    const recovered = await listener.recover(asked, failed);
    if (context.aborted) return;
    const isFailure = recovered !== undefined && 'retryable' in recovered;
    if (recovered !== undefined && !isFailure) return yield* this.#say(recovered);
    const failure = isFailure ? recovered : failed;
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

  #answerWith(response: ModelResponse): AsyncGenerator<LlmResponse, void> {
    return this.#say(toLlmResponse({ finishReason: 'stop', ...response }, false));
  }

  /** What no model was asked for. */
  async *#say(response: LlmResponse): AsyncGenerator<LlmResponse, void> {
    const answer = this.listener.begin(this.#name());
    yield response;
    const usage = usageOf(response.usageMetadata);
    if (usage !== undefined) answer.usage(usage);
    answer.turn.publishUsage();
    this.listener.end();
  }

  /** One call. Returns how it failed; nothing when it did not. */
  async *#attempt(
    asked: LlmRequest,
    going: ModelRequest | undefined,
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
          : streamHostModel((this.#asked as ResolvedModel).model, going ?? this.#requestOf(asked), stream);
      const isJudged = context.hasHook('after_model');
      const held: LlmResponse[] = [];
      let isUsable = false;
      for await (const response of answers) {
        this.#hasCome = true;
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
    if ('host' in this.driven) return this.#asked?.name ?? this.driven.host.name;
    return pricedName(this.model);
  }

  #provider(): string {
    if ('host' in this.driven) return this.#asked?.provider ?? 'custom';
    return isGemini(this.model) ? 'gemini' : 'adk';
  }
}

type Begun = OwnModelCall & Partial<Pick<ModelCall, 'routing'>>;

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
