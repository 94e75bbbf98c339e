import type { AgentDefinition, AgentEvent, ContentPart, SessionUpdateData, SteerData } from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import type { MergeReader } from '../kernel/merge-reader.js';
import { applyUpdate, cancelRequest, respondTo, steerTree } from './deliver.js';
import { abortStop, reasonText, stopByCaller } from './end-run.js';
import { assertSteer, assertUpdate } from './given-data.js';
import type { HostCore } from './host-core.js';
import { announce, isOpen, openTree, prepare } from './open-session.js';
import { openResumed } from './recovery/resume.js';
import { consumeAfter } from './replay.js';
import { admitInput, beginRun, publishInitialize, type RunInput } from './run-start.js';
import { pendingOf, persistedThreads, stateOf } from './session-state.js';
import { newSessionId, notice, threadsFrom } from './session-tree.js';
import type { CompiledAgent, RunEnd, RunStop, Tree } from './thread.js';
import { unlessStopped } from './toolsets.js';
import type { PersistedThread, ResumeOptions, Run, RunOptions, RunResult, RunState } from './types.js';

/** Starts a run on a session of its own. Throws what is wrong with the definition or the options; nothing ran then. */
export function startRun<Output>(
  host: HostCore,
  agent: AgentDefinition,
  input: string | readonly ContentPart[] | object,
  options: RunOptions,
): Run<Output> {
  const sessionId = options.sessionId ?? newSessionId();
  const isTaken = host.trees.has(sessionId) || host.opening.has(sessionId);
  if (isTaken && host.sessionTools.areFor(agent)) throw isOpen(sessionId);
  try {
    return startWith(host, agent, input, options, sessionId);
  } catch (thrown) {
    void host.sessionTools.close(sessionId);
    throw thrown;
  }
}

function startWith<Output>(
  host: HostCore,
  agent: AgentDefinition,
  input: string | readonly ContentPart[] | object,
  options: RunOptions,
  sessionId: string,
): Run<Output> {
  const compiled = prepare(host, agent, options, sessionId);
  const run = new HostRun<Output>(host, sessionId);
  const admitted = admitInput(compiled, input);
  const tools = host.toolsets?.ready(agent);
  const isNew = options.sessionId === undefined;
  const openWith = (as: CompiledAgent) => openTree(host, as, { ...options, sessionId, oneRun: true, isNew });
  if (admitted instanceof Promise || tools !== undefined) {
    const stopped = (stop: () => void) => {
      run.onAbortEarly = stop;
    };
    const known =
      tools && unlessStopped(tools, options.signal, stopped).then(() => prepare(host, agent, options, sessionId));
    const opening = async (): Promise<[Tree, RunInput]> => {
      const [ready, as = compiled] = await Promise.all([admitted, known]);
      host.opening.delete(sessionId);
      return [await openWith(as), ready];
    };
    run.beginLater(announce(host, sessionId, opening()), options.signal);
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

/** Goes on with a stored session. Rejects as `openResumed` does. */
export async function resumeRun<Output>(
  host: HostCore,
  sessionId: string,
  options: ResumeOptions,
): Promise<Run<Output>> {
  const resumed = await openResumed(host, sessionId, options);
  const run = new HostRun<Output>(host, sessionId);
  if (resumed.kind === 'ended') run.ended(resumed.end);
  else {
    run.take(resumed.tree, options.signal, resumed.rebuild);
    // What takes a promise to be put back is back by then.
    await new Promise((resolve) => setImmediate(resolve));
    // Whoever takes it up is to read it before anything happens.
    setImmediate(resumed.begin);
  }
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
  /** What was asked for before there was a tree. */
  #early: ((tree: Tree) => void)[] | undefined;
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
        if (this.#tree === undefined) void this.host.sessionTools.close(this.sessionId);
        this.#hasEnded = true;
        this.#reject(thrown);
        throw thrown;
      });
    this.#opening.catch(() => {});
  }

  begin(tree: Tree, input: RunInput, signal: AbortSignal | undefined): void {
    this.take(tree, signal, () => {
      const stop = this.#abortEarly ?? (signal?.aborted ? abortStop(reasonOf(signal), 'user') : undefined);
      beginRun(tree.root, input, { stop });
    });
  }

  /** The run of a tree, as `start` lets it begin. */
  take(tree: Tree, signal: AbortSignal | undefined, start: () => void): void {
    this.#tree = tree;
    this.#startSeq = tree.merge.seq;
    const onAbort = () => this.abort(reasonOf(signal));
    const ended = (end: RunEnd) => {
      signal?.removeEventListener('abort', onAbort);
      this.ended(end);
    };
    const detached = () => {
      this.#isDetached = this.#reader !== undefined;
      this.#reader?.finish();
    };
    tree.onRunEnded = ended;
    tree.onDetach = detached;
    tree.merge.hold();
    publishInitialize(tree.root, tree.isResumed);
    for (const act of this.#early ?? []) act(tree);
    this.#early = undefined;
    start();
    if (signal === undefined || this.#hasEnded) return;
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  }

  ended(end: RunEnd): void {
    this.#hasEnded = true;
    this.#reader?.finish();
    const { result, usage = {}, cost } = end.data;
    const text = typeof result === 'string' ? result : result === undefined ? '' : JSON.stringify(result);
    const resolved: RunResult<Output> = {
      ok: end.reason === 'completed',
      reason: end.reason,
      text,
      result: result as Output,
      usage,
      ...(cost !== undefined && { cost }),
      data: end.data,
      sessionId: this.sessionId,
    };
    // Told once it is durable, like the end itself.
    const durable = this.#tree?.pendingWrites;
    if (durable === undefined) this.#resolve(resolved);
    else void durable.then(() => this.#resolve(resolved));
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

  /** At once, or as soon as the session is open; then a fault is told in a notice. */
  #act(what: string, act: (tree: Tree) => void): void {
    if (this.#hasEnded) {
      throw new TroupeError({ code: 'SESSION_ENDED', message: `cannot ${what}: the run has ended` });
    }
    if (this.#tree !== undefined) return act(this.#tree);
    this.#early ??= [];
    this.#early.push((tree) => {
      try {
        act(tree);
      } catch (thrown) {
        notice(tree.root, 'NOT_DONE', 'warning', `cannot ${what}: ${describeError(thrown).message}`);
      }
    });
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
    assertSteer(data);
    this.#act('steer', (tree) => steerTree(tree, data, options.threadId));
  }

  update(config: SessionUpdateData): void {
    assertUpdate(config);
    this.#act('update', (tree) => applyUpdate(tree, config));
  }

  abort(reason?: string, options: { threadId?: string; requestId?: string } = {}): void {
    if (this.#hasEnded) return;
    const { threadId, requestId } = options;
    if (requestId !== undefined) {
      return this.#act('cancel a call', (tree) =>
        cancelRequest(tree, requestId, reasonText(reason ?? 'cancelled by the user')),
      );
    }
    const tree = this.#tree;
    if (tree === undefined) {
      // No child is there yet that could be meant.
      if (threadId !== undefined) return;
      this.#abortEarly ??= abortStop(reason, 'user');
      this.onAbortEarly?.();
      return;
    }
    const target = threadId === undefined ? tree.root : this.host.threads.get(`${tree.sessionId}/${threadId}`);
    if (target !== undefined) stopByCaller(target, reason);
  }

  persistedSnapshots(): PersistedThread[] {
    return this.#tree === undefined ? [] : persistedThreads(this.#tree);
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
  return reason === undefined ? undefined : reasonText(reason);
};
