import type {
  AgentDefinition,
  AgentEvent,
  Bag,
  ContentPart,
  SessionUpdateData,
  SteerData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { MergeReader } from '../kernel/event-merge.js';
import { applyUpdate, cancelRequest, respondTo, steerTree } from './deliver.js';
import { abortStop, stopRun } from './end-run.js';
import type { HostCore } from './host-core.js';
import { openTree, prepare } from './open-session.js';
import { consumeAfter } from './replay.js';
import { admitInput, beginRun, publishInitialize, type RunInput, toRunInput } from './run-start.js';
import { pendingOf, stateOf } from './session-state.js';
import { newSessionId, threadsFrom } from './session-tree.js';
import type { CompiledAgent, RunEnd, RunStop, Tree } from './thread.js';
import { unlessStopped } from './toolsets.js';
import type { Run, RunOptions, RunResult, RunState } from './types.js';

/** Starts a run on a session of its own. Throws what is wrong with the definition or the options; nothing ran then. */
export function startRun<Output>(
  host: HostCore,
  agent: AgentDefinition,
  input: string | readonly ContentPart[] | object,
  options: RunOptions,
): Run<Output> {
  const compiled = prepare(host, agent, options);
  const sessionId = options.sessionId ?? newSessionId();
  const run = new HostRun<Output>(host, sessionId);
  const admitted = admitInput(compiled, toRunInput(compiled, input));
  const tools = host.toolsets?.ready(agent);
  const openWith = (as: CompiledAgent) => openTree(host, as, { ...options, sessionId, oneRun: true });
  if (admitted instanceof Promise || tools !== undefined) {
    const stopped = (stop: () => void) => {
      run.onAbortEarly = stop;
    };
    const known = tools && unlessStopped(tools, options.signal, stopped).then(() => prepare(host, agent, options));
    run.beginLater(
      Promise.all([admitted, known]).then(async ([ready, as = compiled]) => [await openWith(as), ready]),
      options.signal,
    );
    return run;
  }
  const tree = openWith(compiled);
  if (tree instanceof Promise) {
    run.beginLater(
      tree.then((ready) => [ready, admitted]),
      options.signal,
    );
  } else run.begin(tree, admitted, options.signal);
  return run;
}

class HostRun<Output> implements Run<Output> {
  readonly result: Promise<RunResult<Output>>;
  /** Told when it is aborted before it has begun. */
  onAbortEarly: (() => void) | undefined;
  #resolve!: (result: RunResult<Output>) => void;
  #reject!: (thrown: unknown) => void;
  #tree: Tree | undefined;
  #opening: Promise<unknown> | undefined;
  #abortEarly: RunStop | undefined;
  #reader: MergeReader | undefined;
  #isIterated = false;
  /** It went on without its consumer. */
  #isDetached = false;
  #hasEnded = false;
  #startSeq = 0;

  constructor(
    private readonly host: HostCore,
    readonly sessionId: string,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Who only iterates learns of a failed start from the iterator.
    this.result.catch(() => {});
  }

  beginLater(opening: Promise<[Tree, RunInput]>, signal: AbortSignal | undefined): void {
    this.#opening = opening
      .then(([tree, input]) => this.begin(tree, input, signal))
      .catch((thrown) => {
        this.#hasEnded = true;
        this.#reject(thrown);
        throw thrown;
      });
    this.#opening.catch(() => {});
  }

  begin(tree: Tree, input: RunInput, signal: AbortSignal | undefined): void {
    this.#tree = tree;
    this.#startSeq = tree.merge.seq;
    const onAbort = () => this.abort(reasonOf(signal));
    tree.onRunEnded = (end) => {
      signal?.removeEventListener('abort', onAbort);
      this.#ended(tree, end);
    };
    tree.onDetach = () => {
      this.#isDetached = this.#reader !== undefined;
      this.#reader?.finish();
    };
    tree.merge.hold();
    publishInitialize(tree.root, tree.isResumed);
    const stop = this.#abortEarly ?? (signal?.aborted ? abortStop(reasonOf(signal), 'user') : undefined);
    beginRun(tree.root, input, { stop });
    if (signal !== undefined && !this.#hasEnded) signal.addEventListener('abort', onAbort, { once: true });
  }

  #ended(tree: Tree, end: RunEnd): void {
    this.#hasEnded = true;
    this.#reader?.finish();
    const { result, usage = {}, cost } = end.data;
    const text = typeof result === 'string' ? result : result === undefined ? '' : JSON.stringify(result);
    this.#resolve({
      ok: end.reason === 'completed',
      reason: end.reason,
      text,
      result: result as Output,
      usage,
      ...(cost !== undefined && { cost }),
      data: end.data as Bag,
      sessionId: tree.sessionId,
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, void> {
    if (this.#isIterated) {
      throw new TroupeError({
        code: 'RUN_ITERATED',
        message: 'a run has one iterator; more readers attach with host.attach(run.sessionId)',
      });
    }
    this.#isIterated = true;
    if (this.#tree !== undefined) this.#read(this.#tree);
    return {
      next: () => {
        const reader = this.#reader;
        // A chunk is worth no more than one promise: the slow way is for the beginning only.
        return reader !== undefined ? reader.next() : this.#next();
      },
      return: async () => {
        if (!this.#hasEnded && !this.#isDetached) this.abort('the consumer left');
        this.#reader?.close();
        return { done: true, value: undefined };
      },
    };
  }

  #read(tree: Tree): void {
    this.#reader = consumeAfter(tree, this.#startSeq);
    if (this.#hasEnded) this.#reader?.finish();
  }

  async #next(): Promise<IteratorResult<AgentEvent, void>> {
    if (this.#opening !== undefined) {
      await this.#opening;
      this.#opening = undefined;
    }
    if (this.#reader === undefined && this.#tree !== undefined) this.#read(this.#tree);
    return this.#reader === undefined ? { done: true, value: undefined } : this.#reader.next();
  }

  #live(what: string): Tree {
    if (this.#tree === undefined || this.#hasEnded) {
      const state = this.#hasEnded ? 'has ended' : 'has not begun yet';
      throw new TroupeError({ code: 'SESSION_ENDED', message: `cannot ${what}: the run ${state}` });
    }
    return this.#tree;
  }

  respond(requestId: string, answer: Parameters<Run['respond']>[1]): void {
    if (this.#tree === undefined || this.#hasEnded) {
      throw new TroupeError({
        code: 'UNKNOWN_REQUEST',
        message: `no open request "${requestId}": the run is not under way`,
      });
    }
    respondTo(this.#tree, requestId, answer);
  }

  steer(data: SteerData, options: { threadId?: string } = {}): void {
    steerTree(this.#live('steer'), data, options.threadId);
  }

  update(config: SessionUpdateData): void {
    applyUpdate(this.#live('update'), config);
  }

  abort(reason?: string, options: { threadId?: string; requestId?: string } = {}): void {
    if (this.#hasEnded) return;
    if (this.#tree === undefined) {
      this.#abortEarly ??= abortStop(reason, 'user');
      this.onAbortEarly?.();
      return;
    }
    const tree = this.#tree;
    const { threadId, requestId } = options;
    if (requestId !== undefined) return cancelRequest(tree, requestId, reason ?? 'cancelled by the user');
    const target = threadId === undefined ? tree.root : this.host.threads.get(`${tree.sessionId}/${threadId}`);
    if (target !== undefined) stopRun(target, abortStop(reason, 'user'));
  }

  state(): RunState {
    const tree = this.#tree;
    if (tree === undefined) return { root: { type: 'idle' }, pending: [], threads: [] };
    return {
      root: stateOf(tree.root),
      pending: pendingOf(tree),
      threads: [...threadsFrom(tree.root)].reverse().map((thread) => ({
        ...(thread.threadId !== undefined && { threadId: thread.threadId }),
        agentName: thread.agent.definition.name,
        executor: thread.agent.descriptor.executor,
        state: stateOf(thread),
      })),
    };
  }
}

export const reasonOf = (signal: AbortSignal | undefined): string | undefined => {
  const reason: unknown = signal?.reason;
  if (reason === undefined) return undefined;
  return reason instanceof Error ? reason.message : String(reason);
};
