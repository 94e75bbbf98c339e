import type {
  Executor,
  ModelCall,
  ModelInterface,
  ModelRequest,
  ModelResponse,
  ResolvedModel,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { describeError, ModelError } from '../../kernel/errors.js';
import { askAfterModel, askBeforeModel, askOnModelError, wholeResponse } from '../../kernel/model-hooks.js';
import { createModelTurn, type ModelTurn } from '../../kernel/model-turn.js';
import { nextRound, STEPS_PER_ROUND } from '../../kernel/next-round.js';

/** Our own loop: each turn is one model call, and what the model said becomes the thread's events. */
export const localExecutor = (): Executor => shared;

/** It keeps nothing between turns, so all sessions share one. */
const shared: Executor = { turn: (_, context) => turnOf(context) };

async function turnOf(context: TurnContext): Promise<TurnEnd | undefined> {
  let isPlain = context.asksPlainly;
  let resolved: ResolvedModel | undefined;
  if (isPlain) {
    const named = resolveOf(context);
    resolved = named instanceof Promise ? await named : named;
  }
  const fitting = context.fitContext?.();
  if (fitting !== undefined) {
    await fitting;
    if (context.aborted) return undefined;
  }
  let request = context.modelRequest();
  if (context.hasHook('before_model') || context.hasHook('before_tool_selection')) {
    const prepared = await askBeforeModel(context, request);
    if (context.aborted) return undefined;
    if ('blocked' in prepared) return blocked(context, prepared.blocked);
    if ('response' in prepared) {
      return answerWith(context, (resolved ?? (await resolveOf(context))).name, prepared.response);
    }
    request = prepared.request;
  }
  for (let attempt = 1; ; attempt++) {
    if (context.aborted) return undefined;
    let call: ModelCall | undefined;
    if (!isPlain) {
      const begun = await context.modelCalls.begin(request);
      if (begun === undefined || 'reason' in begun) return begun;
      call = begun;
      resolved = begun.resolved;
    } else if (!context.admitModelCall()) return undefined;
    const { name, provider, model } = resolved as ResolvedModel;
    const turn = createModelTurn(context, name, call?.routing);
    const traced = context.traceModelCall?.({ model: name, provider, attempt, routing: call?.routing });
    const going = call?.request ?? request;
    const ask = () => openAnswer(context, model, going);
    const held = context.hasHook('after_model') ? new HeldAnswer(context, turn, going) : undefined;
    const failure = await callModel(context, held ?? turn, ask, provider);
    if (failure !== undefined || context.aborted) await held?.countUsage();
    turn.publishUsage();
    call?.settle(failure === undefined || failure.code === HOOK_BLOCKED || turn.hasSpoken || held?.hasCome === true);
    traced?.end({ finishReason: turn.finishReason, error: failure, isAborted: context.aborted });
    if (context.aborted) return undefined;
    if (failure?.code === HOOK_BLOCKED) return blocked(context, failure.message);
    if (failure === undefined && (!turn.isMalformed || context.toolsOff)) {
      if (!isPlain) context.modelCalls.answered(resolved as ResolvedModel);
      return turn.finish();
    }
    const fault = failure ?? MALFORMED;
    // What has reached the consumer is not silently said again; thoughts are no answer.
    const isSaid = failure === undefined ? turn.hasAnswered : turn.hasSpoken;
    const again = await context.modelCalls.failed(
      { ...fault, isMalformed: failure === undefined, isSaid },
      resolved as ResolvedModel,
    );
    if (context.aborted) return undefined;
    if (!again) return giveUp(context, name, request, fault);
    isPlain = false;
  }
}

const resolveOf = (context: TurnContext) =>
  context.modelConfig.resolve({ agent: context.agentId, requested: context.model, purpose: 'turn' });

/** Whole, or in pieces. */
function openAnswer(
  { streaming }: TurnContext,
  model: ModelInterface,
  request: ModelRequest,
): AsyncGenerator<ModelResponse> {
  if (!streaming) return once(model.generate(request));
  const stream = model.generateStream(request);
  // One that yields without waiting does as well.
  const { [Symbol.asyncIterator]: inTime, [Symbol.iterator]: atOnce } = Object(stream);
  if (typeof inTime === 'function' || typeof atOnce === 'function') return stream;
  const message = 'generateStream() of the model gave no stream: it must be an async generator';
  throw new ModelError({ code: 'INVALID_RESPONSE', message });
}

async function* once(answer: Promise<ModelResponse>): AsyncGenerator<ModelResponse> {
  yield await answer;
}

const MALFORMED: Failure = {
  code: 'MALFORMED_RESPONSE',
  message: 'the model answered with nothing usable',
  retryable: false,
  retryAfterMs: undefined,
};

const HOOK_BLOCKED = 'HOOK_BLOCKED';
const blocked = (context: TurnContext, message: string) => fail(context, { code: HOOK_BLOCKED, message });

/** An answer that is kept back until the hooks have seen all of it. */
class HeldAnswer implements Answer {
  readonly #increments: ModelResponse[] = [];

  constructor(
    private readonly context: TurnContext,
    private readonly turn: ModelTurn,
    private readonly request: ModelRequest,
  ) {}

  take(increment: ModelResponse): undefined {
    this.#increments.push(increment);
    return undefined;
  }

  /** Something of it has come. */
  get hasCome(): boolean {
    return this.#increments.length > 0;
  }

  /** What a call that broke off had used by then. */
  async countUsage(): Promise<void> {
    const { usage } = wholeResponse(this.#increments);
    if (usage !== undefined) await this.turn.take({ content: [], usage });
  }

  /** Says it, as the hooks leave it. What the call has used is counted all the same. */
  async end(): Promise<Failure | undefined> {
    const { context, turn, request } = this;
    const whole = wholeResponse(this.#increments);
    const said = await askAfterModel(context, request, whole);
    if (context.aborted) return undefined;
    if (said === undefined) {
      for (const increment of this.#increments) await turn.take(increment);
      return undefined;
    }
    const { usage } = whole;
    if (usage !== undefined) await turn.take({ content: [], usage });
    if ('blocked' in said) {
      return { code: HOOK_BLOCKED, message: said.blocked, retryable: false, retryAfterMs: undefined };
    }
    const { usage: _, ...response } = said.response;
    await turn.take({ finishReason: 'stop', ...response });
    return undefined;
  }
}

/** No more is tried; a hook may have an answer all the same. */
async function giveUp(
  context: TurnContext,
  model: string,
  request: ModelRequest,
  { code, message, retryable }: Failure,
): Promise<TurnEnd | undefined> {
  if (context.hasHook('on_model_error')) {
    const response = await askOnModelError(context, request, { code, message, retryable });
    if (context.aborted) return undefined;
    if (response !== undefined) return answerWith(context, model, response);
  }
  return fail(context, { code, message, retryable });
}

/** A hook answered in the model's place. */
async function answerWith(context: TurnContext, model: string, response: ModelResponse): Promise<TurnEnd | undefined> {
  const turn = createModelTurn(context, model);
  await turn.take({ finishReason: 'stop', ...response });
  turn.publishUsage();
  return turn.finish();
}

/** What takes the increments of one answer, and may have something to do when they are all there. */
interface Answer {
  take(increment: ModelResponse): undefined | Promise<void>;
  end?(): Promise<Failure | undefined>;
}

type Failure = { code: string; message: string; retryable: boolean; retryAfterMs: number | undefined };

/** Streams one answer into `answer`. Returns how it failed; nothing when it did not. */
async function callModel(
  context: TurnContext,
  answer: Answer,
  open: () => AsyncGenerator<ModelResponse>,
  provider: string,
): Promise<Failure | undefined> {
  let release: (() => void) | undefined;
  try {
    const permit = context.takePermit(provider);
    if (permit !== undefined) release = await permit;
    if (context.aborted) return undefined;
    const stream = open();
    let unwaited = 0;
    for await (const increment of stream) {
      if (context.aborted) break;
      const full = answer.take(increment);
      if (full !== undefined) {
        unwaited = 0;
        await full;
      } else if (++unwaited > STEPS_PER_ROUND) {
        unwaited = 0;
        await nextRound();
      }
    }
    return answer.end === undefined || context.aborted ? undefined : await answer.end();
  } catch (thrown) {
    const { code, message } = describeError(thrown, 'MODEL_FAILED');
    const isModelError = thrown instanceof ModelError;
    return {
      code,
      message,
      retryable: isModelError && thrown.retryable,
      retryAfterMs: isModelError ? thrown.retryAfterMs : undefined,
    };
  } finally {
    release?.();
  }
}

function fail(
  context: TurnContext,
  { code, message, retryable }: { code: string; message: string; retryable?: boolean },
): TurnEnd {
  void context.publish({ type: 'error', code, message, fatal: false, ...(retryable !== undefined && { retryable }) });
  return { reason: 'failed', data: { code, message } };
}
