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
import { createModelTurn, type ModelTurn } from '../../kernel/model-turn.js';

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
  const hooked = context.fireHook('before_model', { request });
  if (hooked !== undefined) {
    const said = await hooked;
    if (context.aborted) return undefined;
    if (said.action !== 'proceed')
      return fail(context, { code: 'HOOK_BLOCKED', message: said.reason ?? 'a hook blocked the model call' });
    const changed = said.modifications as { request?: ModelRequest; response?: ModelResponse } | undefined;
    if (changed?.response !== undefined) {
      return answerWith(context, (resolved ?? (await resolveOf(context))).name, changed.response);
    }
    if (changed?.request !== undefined) request = withSignal(changed.request, context);
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
    const failure = await callModel(context, turn, ask, provider);
    turn.publishUsage();
    call?.settle(failure === undefined || turn.hasSpoken);
    traced?.end({ finishReason: turn.finishReason, error: failure, isAborted: context.aborted });
    if (context.aborted) return undefined;
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
    if (!again) return context.aborted ? undefined : fail(context, fault);
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
  return streaming ? model.generateStream(request) : once(model.generate(request));
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

/** A hook answered in the model's place. */
async function answerWith(context: TurnContext, model: string, response: ModelResponse): Promise<TurnEnd | undefined> {
  const turn = createModelTurn(context, model);
  await turn.take({ finishReason: 'stop', ...response });
  turn.publishUsage();
  return turn.finish();
}

/** A request that a hook put together itself keeps the turn's signal. */
const withSignal = (request: ModelRequest, context: TurnContext): ModelRequest => ({
  ...request,
  signal: context.signal,
});

type Failure = { code: string; message: string; retryable: boolean; retryAfterMs: number | undefined };

/** Streams one answer into `turn`. Returns how it failed; nothing when it did not. */
async function callModel(
  context: TurnContext,
  turn: ModelTurn,
  open: () => AsyncGenerator<ModelResponse>,
  provider: string,
): Promise<Failure | undefined> {
  let release: (() => void) | undefined;
  try {
    const permit = context.takePermit(provider);
    if (permit !== undefined) release = await permit;
    if (context.aborted) return undefined;
    const stream = open();
    for await (const increment of stream) {
      if (context.aborted) break;
      const full = turn.take(increment);
      if (full !== undefined) await full;
    }
    return undefined;
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
