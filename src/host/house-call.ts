import type {
  ModelCallRecord,
  ModelChoice,
  ModelRequest,
  ModelRequestMeta,
  ModelResponse,
} from '../contracts/index.js';
import { describeError, ModelError, TroupeError } from '../kernel/errors.js';
import { mergeGeneration } from '../kernel/generation.js';
import { beginWork, countModelCall, endWork } from './limits.js';
import { needOf, type PaidCall, reserveFor, unpriced } from './model-budget.js';
import type { Thread } from './thread.js';
import { takeUsage } from './usage.js';

interface HouseCall {
  readonly request: ModelRequest;
  readonly purpose: string;
  signal(): AbortSignal;
  /** Each time that a model is asked: money and permits are there, nothing waits for anybody else any more. */
  onAdmitted?(): void;
}

/**
 * A model call of the house itself (a summary, a classification) in the name of a thread: counted against its limits,
 * paid from its budgets, held to the availability of models; never routed, never a turn. One try of each model that
 * may stand in. Rejects when none answers.
 */
export async function houseCall(
  thread: Thread,
  options: { choice: ModelChoice | undefined } & HouseCall,
): Promise<ModelResponse> {
  const { choice, purpose, signal } = options;
  const { models } = thread.tree.host;
  const candidates = models.candidates(choice, { agent: thread.agentId, purpose });
  let failure: unknown;
  for (const [at, candidate] of candidates.entries()) {
    // Nobody is asked about a stand-in for what they never see.
    if (at > 0 && models.consent === 'ask') break;
    const { state, until } = models.healthOf(candidate, at === 0 ? choice : undefined);
    if (state === 'banned' || (state === 'terminal' && (until !== undefined || candidates.length > 1))) continue;
    try {
      return await askOnce(thread, await models.open(candidate), options);
    } catch (thrown) {
      if (signal().aborted || !(thrown instanceof ModelError)) throw thrown;
      if (candidate.name !== undefined) models.health.failed(candidate.name, thrown);
      failure = thrown;
    }
  }
  throw failure ?? new TroupeError({ code: 'UNAVAILABLE', message: 'no model for it can be asked right now' });
}

/** Who asks, and what for. */
export const houseMeta = ({ agentId, threadId, tree }: Thread, purpose: string): ModelRequestMeta => ({
  agent: agentId,
  sessionId: tree.sessionId,
  ...(threadId !== undefined && { threadId }),
  purpose,
});

async function askOnce(
  thread: Thread,
  resolved: Awaited<ReturnType<Thread['tree']['host']['models']['open']>>,
  { request, purpose, signal, onAdmitted }: HouseCall,
): Promise<ModelResponse> {
  const { tree } = thread;
  const { name, provider, model, generation } = resolved;
  const fault = unpriced(thread, resolved);
  if (fault !== undefined) throw new TroupeError(fault);
  const limited = countModelCall(thread);
  if (limited !== undefined)
    throw new TroupeError({
      code: 'LIMIT',
      message: `${limited.thread.agentId} has reached its ${limited.end.data.limit}`,
    });
  const config = mergeGeneration(generation, request.config);
  const going: ModelRequest = {
    ...request,
    ...(config !== undefined && { config }),
    signal: signal(),
    _meta: houseMeta(thread, purpose),
  };
  let paid: PaidCall | undefined;
  if (tree.budget !== undefined) {
    const reserved = await reserveFor(thread, needOf(thread, resolved, going), signal, model);
    if (reserved === undefined) throw new TroupeError({ code: 'ABORTED', message: 'it was ended' });
    if ('exhausted' in reserved)
      throw new TroupeError({
        code: 'LIMIT',
        message: `${reserved.exhausted.agentId} has reached its ${reserved.limit}`,
      });
    paid = reserved;
    if (paid.maxOutputTokens !== undefined) going.config = { ...going.config, maxOutputTokens: paid.maxOutputTokens };
  }
  const { permits, models } = tree.host;
  let release: (() => void) | undefined;
  let wasAnswered = false;
  let traced: ModelCallRecord | undefined;
  try {
    release = permits.isFree(provider) ? undefined : await permits.take(provider, signal());
    onAdmitted?.();
    beginWork(thread);
    traced = tree.host.tracing?.beginModelCall(thread, { model: name, provider, attempt: 1, purpose });
    try {
      const response = await model.generate(going);
      wasAnswered = true;
      if (response.usage !== undefined && thread.run !== undefined) {
        takeUsage(thread, { type: 'usage', model: name, ...response.usage }, paid);
      }
      models.health.answered(name);
      traced?.end({ finishReason: response.finishReason });
      return response;
    } catch (thrown) {
      traced?.end({ error: describeError(thrown), isAborted: signal().aborted });
      throw thrown;
    } finally {
      endWork(thread);
    }
  } finally {
    paid?.settle(wasAnswered);
    release?.();
  }
}
