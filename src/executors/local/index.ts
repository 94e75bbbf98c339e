import type {
  Executor,
  ModelInterface,
  ModelRequest,
  ModelResponse,
  TurnContext,
  TurnEnd,
} from '../../contracts/index.js';
import { describeError, ModelError } from '../../kernel/errors.js';
import { createModelTurn, type ModelTurn } from '../../kernel/model-turn.js';

const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 500;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Once: a malformed call or an empty answer is often gone the second time. */
const MALFORMED_RETRY_MS = 500;

/** Our own loop: each turn is one model call, and what the model said becomes the thread's events. */
export const localExecutor = (): Executor => shared;

/** It keeps nothing between turns, so all sessions share one. */
const shared: Executor = { turn: (_, context) => turnOf(context) };

async function turnOf(context: TurnContext): Promise<TurnEnd | undefined> {
  const requested = context.modelConfig.resolve({ agent: context.agentId, requested: context.model, purpose: 'turn' });
  const resolved = requested instanceof Promise ? await requested : requested;
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
    if (changed?.response !== undefined) return answerWith(context, resolved.name, changed.response);
    if (changed?.request !== undefined) request = withSignal(changed.request, context);
  }
  let malformed = 0;
  for (let attempt = 1; ; attempt++) {
    if (context.aborted) return undefined;
    if (!context.admitModelCall()) return undefined;
    const turn = createModelTurn(context, resolved.name);
    const traced = context.traceModelCall?.({ model: resolved.name, provider: resolved.provider, attempt });
    const ask = () => openAnswer(context, resolved.model, request);
    const failure = await callModel(context, turn, ask, resolved.provider);
    turn.publishUsage();
    traced?.end({ finishReason: turn.finishReason, error: failure, isAborted: context.aborted });
    if (context.aborted) return undefined;
    if (failure === undefined && (!turn.isMalformed || context.toolsOff)) return turn.finish();
    const fault = failure ?? MALFORMED;
    const waitMs = failure === undefined ? malformedDelay(malformed++) : retryDelay(failure, attempt);
    // What has reached the consumer is not silently said again; thoughts are no answer.
    const isSaid = failure === undefined ? turn.hasAnswered : turn.hasSpoken;
    if (waitMs === undefined || isSaid) return fail(context, fault);
    const text = `${resolved.name}: ${fault.message}; again in ${waitMs} ms`;
    await context.publish({
      type: 'custom',
      kind: 'notice',
      data: { code: 'MODEL_RETRY', severity: 'info', text },
      source: 'host',
    });
    if (!(await context.rest(waitMs))) return undefined;
  }
}

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

const malformedDelay = (before: number) => (before === 0 ? MALFORMED_RETRY_MS : undefined);

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

function retryDelay(failure: Failure, attempt: number): number | undefined {
  if (!failure.retryable || attempt >= MAX_ATTEMPTS) return undefined;
  const waitMs = failure.retryAfterMs ?? FIRST_BACKOFF_MS * 2 ** (attempt - 1);
  return waitMs > LONGEST_WAIT_MS ? undefined : waitMs;
}

function fail(
  context: TurnContext,
  { code, message, retryable }: { code: string; message: string; retryable?: boolean },
): TurnEnd {
  void context.publish({ type: 'error', code, message, fatal: false, ...(retryable !== undefined && { retryable }) });
  return { reason: 'failed', data: { code, message } };
}
