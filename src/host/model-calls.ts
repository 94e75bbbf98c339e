import type {
  Bag,
  ModelCall,
  ModelCalls,
  ModelCandidate,
  ModelFailure,
  ModelHealth,
  ModelRequest,
  OwnModel,
  OwnModelCall,
  ResolvedModel,
  TurnEnd,
} from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { mergeGeneration } from '../kernel/generation.js';
import { type AskedModel, needOf, reserveFor, unpriced } from './model-budget.js';
import { keyOf, ModelChain } from './model-chain.js';
import { routeOf } from './model-route.js';
import { LONGEST_WAIT_MS, retryWait } from './retry-wait.js';
import { runModels } from './run-models.js';
import { notice, publish } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';
import type { Turn } from './turn-context.js';

/** Nobody waits longer for a model where another stands by. */
const PATIENCE_MS = 10_000;
const MALFORMED_RETRY_MS = 500;
/** These are about the request, whichever model gets it. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'CANCELLED']);

type Failed = Pick<ModelFailure, 'code' | 'message'>;

/** The model calls of one turn, where more than a name decides or one has failed. */
export class TurnModelCalls implements ModelCalls {
  readonly #chain: ModelChain;
  #attempt = 0;
  #malformed = 0;
  #current: ModelCandidate | undefined;
  #lastFailure: Failed | undefined;

  constructor(
    private readonly turn: Turn,
    private readonly thread: Thread,
    private readonly run: RunRecord,
  ) {
    this.#chain = new ModelChain(thread.tree.host.models);
  }

  async begin(request: ModelRequest): Promise<ModelCall | TurnEnd | undefined> {
    const { turn, thread, run } = this;
    const { models } = thread.tree.host;
    const route = await routeOf(thread, run, turn, request);
    if (turn.aborted) return undefined;
    this.#chain.wanted = route.choice;
    const context = { agent: thread.agentId, purpose: 'turn', retry: this.#attempt > 0 };
    this.#chain.candidates = models.candidates(route.choice, context);
    for (;;) {
      const picked = this.#chain.pick();
      if (picked === undefined) return this.#fail(this.#lastFailure ?? this.#unavailable());
      const agreed = await this.#agree(picked);
      if (turn.aborted) return undefined;
      if (agreed === undefined) return this.#fail(this.#lastFailure ?? this.#unavailable());
      const resolved = await this.#open(agreed);
      if (turn.aborted) return undefined;
      if (resolved === undefined) continue;
      return this.#admit(agreed, resolved, request, route.routing);
    }
  }

  async beginOwn(own: OwnModel, request: ModelRequest): Promise<OwnModelCall | TurnEnd | undefined> {
    const fault = unpriced(this.thread, own);
    if (fault !== undefined) return this.#fail(fault);
    if (!this.turn.admitModelCall()) return undefined;
    return this.#pay(own, request);
  }

  async #admit(
    candidate: ModelCandidate,
    resolved: ResolvedModel,
    request: ModelRequest,
    routing: Bag,
  ): Promise<ModelCall | TurnEnd | undefined> {
    const { turn, thread } = this;
    const fault = unpriced(thread, resolved);
    if (fault !== undefined) return this.#fail(fault);
    if (!turn.admitModelCall()) return undefined;
    this.#current = candidate;
    this.#chain.count(candidate);
    this.#tell(resolved.name);
    const paid = await this.#pay(
      resolved,
      withConfig(turn, request, mergeGeneration(resolved.generation, request.config)),
    );
    if (paid === undefined) return undefined;
    const isRouted = thread.tree.host.models.decides;
    return { resolved, ...paid, routing: isRouted ? { ...routing, model: resolved.name } : undefined };
  }

  /** Reserves what the call may come to at worst, where a budget stands above. Undefined: it is not to be made. */
  async #pay(asked: AskedModel, request: ModelRequest): Promise<OwnModelCall | undefined> {
    const { turn, thread } = this;
    if (thread.tree.budget === undefined) return { request, settle() {} };
    const reserved = await turn.outOfTime(
      reserveFor(thread, needOf(thread, asked, request), () => turn.signal, asked.model),
    );
    if (reserved === undefined) return undefined;
    if ('exhausted' in reserved) {
      turn.reachBudget(reserved);
      return undefined;
    }
    if (turn.aborted) {
      reserved.settle(false);
      return undefined;
    }
    turn.paying = reserved;
    const { maxOutputTokens } = reserved;
    return {
      request:
        maxOutputTokens === undefined ? request : withConfig(turn, request, { ...request.config, maxOutputTokens }),
      settle: (wasAnswered) => reserved.settle(wasAnswered),
    };
  }

  async failed(failure: ModelFailure, { name, provider }: ResolvedModel): Promise<boolean> {
    const { turn, thread, run } = this;
    const { host } = thread.tree;
    // The first failure of a turn that asked plainly.
    if (this.#current === undefined) this.#adopt(name);
    if (this.#current?.name !== undefined) host.models.health.failed(this.#current.name, failure);
    this.#attempt++;
    this.#lastFailure = failure;
    const waitMs = retryWait(failure, this.#attempt, host.random);
    if (failure.code === 'RESOURCE_EXHAUSTED' && waitMs !== undefined && waitMs <= LONGEST_WAIT_MS) {
      host.permits.slow(provider, waitMs);
    }
    if (failure.isSaid) return false;
    if (failure.isMalformed) {
      if (this.#malformed++ > 0) return false;
      return this.#rest(name, failure, MALFORMED_RETRY_MS);
    }
    const current = this.#current as ModelCandidate;
    const mayAgain = waitMs !== undefined && this.#chain.isUsable(current);
    const other = OF_THE_REQUEST.has(failure.code) ? undefined : this.#chain.pick(current);
    if (other !== undefined && (!mayAgain || waitMs > PATIENCE_MS)) {
      this.#chain.giveUp(current);
      return !turn.aborted && thread.run === run;
    }
    return mayAgain ? this.#rest(name, failure, waitMs) : false;
  }

  answered({ name, provider }: ResolvedModel): void {
    const { host } = this.thread.tree;
    if (this.#current?.name !== undefined) host.models.health.answered(name);
    host.permits.answered(provider);
  }

  /** A call that was made by its name alone is the first try of what that name stands for. */
  #adopt(name: string): void {
    const { models } = this.thread.tree.host;
    const chain = this.#chain;
    chain.wanted = this.turn.model;
    chain.candidates = models.candidates(this.turn.model, { agent: this.thread.agentId, purpose: 'turn' });
    this.#current = chain.candidates.find((one) => one.name === name) ?? chain.first;
    runModels(this.run).last = name;
    if (this.#current !== undefined) chain.adopt(this.#current);
  }

  #rest(name: string, failure: ModelFailure, waitMs: number): Promise<boolean> {
    const ms = Math.round(waitMs);
    notice(this.thread, 'MODEL_RETRY', 'info', `${name}: ${failure.message}; again in ${ms} ms`);
    return this.turn.rest(ms);
  }

  /** Another model than the wanted one, once a person has agreed where one must; undefined: it was declined. */
  async #agree(picked: ModelCandidate): Promise<ModelCandidate | undefined> {
    const wanted = this.#chain.first;
    const { models } = this.thread.tree.host;
    if (wanted === undefined || picked === wanted || models.consent === 'silent') return picked;
    const { accepted } = runModels(this.run);
    const usable = this.#chain.candidates.filter((one) => one !== wanted && this.#chain.isUsable(one));
    const before = usable.find((one) => one.name === accepted.get(keyOf(wanted)));
    if (before !== undefined) return before;
    const names = usable.map(keyOf);
    const failed = wanted.name ?? 'the model';
    const reason = this.#lastFailure?.message ?? reasonOf(this.#chain.healthOf(wanted));
    const answer = await this.turn.elicitation.ask({
      kind: 'model_fallback',
      message: `${failed} cannot be asked (${reason}). Go on with ${names.join(' or ')}?`,
      context: { failed, reason, models: names },
      requestedSchema: {
        type: 'object',
        properties: { model: { type: 'string', enum: names, default: names[0] as string } },
      },
    });
    if (answer.action !== 'accept') return undefined;
    const chosen = usable.find((one) => one.name === answer.content?.model) ?? picked;
    accepted.set(keyOf(wanted), keyOf(chosen));
    return chosen;
  }

  /** Nothing: it cannot be opened (a key, a package is missing), and another may do. */
  async #open(candidate: ModelCandidate): Promise<ResolvedModel | undefined> {
    const { host } = this.thread.tree;
    try {
      return await host.models.open(candidate);
    } catch (thrown) {
      if (this.#chain.pick(candidate) === undefined) throw thrown;
      this.#chain.giveUp(candidate);
      this.#lastFailure = describeError(thrown);
      return undefined;
    }
  }

  /** Says so when another model answers than the one that was wanted, or than before. */
  #tell(name: string): void {
    const models = runModels(this.run);
    const before = models.last ?? this.#chain.first?.name ?? name;
    models.last = name;
    if (before === name) return;
    const wanted = this.#chain.first;
    const reason = this.#lastFailure?.message ?? (wanted === undefined ? '' : reasonOf(this.#chain.healthOf(wanted)));
    const isBack = name === wanted?.name;
    const text = isBack ? `${name} is asked again` : `${before}: ${reason}; ${name} is asked in its place`;
    notice(this.thread, 'MODEL_CHANGED', isBack ? 'info' : 'warning', text);
  }

  #unavailable(): Failed {
    const wanted = this.#chain.first;
    const health = wanted === undefined ? undefined : this.#chain.healthOf(wanted);
    const name = wanted?.name ?? 'the model';
    const code = health?.state === 'banned' ? 'MODEL_BANNED' : (health?.reason ?? 'UNAVAILABLE');
    const others = this.#chain.candidates.length > 1 ? ', and nothing that stands in for it can' : '';
    return { code, message: `${name} cannot be asked${others}: ${health === undefined ? '' : reasonOf(health)}` };
  }

  #fail({ code, message }: Failed): TurnEnd {
    publish(this.thread, { type: 'error', code, message, fatal: false });
    return { reason: 'failed', data: { code, message } };
  }
}

function reasonOf({ state, reason, until }: ModelHealth): string {
  if (state === 'banned') return reason === undefined ? 'it is banned' : `it is banned: ${reason}`;
  const why = reason ?? 'it failed';
  return until === undefined ? why : `${why} until ${new Date(until).toISOString()}`;
}

/** A spread would lose the signal, which is made when it is first read. */
function withConfig(turn: Turn, request: ModelRequest, config: ModelRequest['config']): ModelRequest {
  if (config === request.config || config === undefined) return request;
  return {
    ...request,
    config,
    get signal() {
      return turn.signal;
    },
  };
}
