import type {
  AgentDefinition,
  AgentEvent,
  AgentResponse,
  ExecutionOptions,
  ExecutionState,
  SessionStreamData,
  SessionUpdateData,
  SteerData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import type { MergeReader } from '../kernel/event-merge.js';
import { applyUpdate, type Delivery, deliver, steerTree } from './deliver.js';
import { abortStop, stopRun } from './end-run.js';
import type { HostCore } from './host-core.js';
import { openTree, prepare } from './open-session.js';
import { reasonOf } from './run.js';
import { beginRun, inputFaults, publishInitialize, toRunInput } from './run-start.js';
import { pendingOf, stateOf } from './session-state.js';
import { newSessionId } from './session-tree.js';
import type { CompiledAgent, Tree } from './thread.js';
import type { HostSession, RunOptions } from './types.js';

/** The bare session over one session actor. */
export function createSession(host: HostCore, agent: AgentDefinition, options: RunOptions): HostSession {
  return new StandingSession(host, agent, options);
}

class StandingSession implements HostSession {
  readonly sessionId: string;
  #compiled: CompiledAgent;
  #options: RunOptions;
  #tree: Tree | undefined;
  #opening: Promise<Tree> | undefined;
  #isFirst = true;
  #isClosed = false;
  #endReason = 'aborted';
  /** The stream that is being read; one at a time. */
  #open: { reader: MergeReader } | undefined;
  #whenRunEnds: (() => void)[] = [];
  #closed: Promise<void>;
  #markClosed!: () => void;

  constructor(
    private readonly host: HostCore,
    private readonly agent: AgentDefinition,
    options: RunOptions,
  ) {
    this.#compiled = prepare(host, agent, options);
    this.#options = options;
    this.sessionId = options.sessionId ?? newSessionId();
    this.#closed = new Promise((resolve) => {
      this.#markClosed = resolve;
    });
  }

  stream(data: SessionStreamData, options: ExecutionOptions = {}): AgentResponse {
    try {
      return data.kind === 'message' ? this.#message(data, options) : this.#deliver(data, options);
    } catch (thrown) {
      return refused(thrown);
    }
  }

  #message(data: SessionStreamData & { kind: 'message' }, options: ExecutionOptions): AgentResponse {
    this.#assertUsable();
    this.#takeOptions(options);
    const tree = this.#tree;
    if (tree?.root.run !== undefined) {
      // A run that is being stopped is waited for; any other is in the way.
      if (tree.root.run.stop === undefined) throw this.#busy(tree);
      const ended = new Promise<void>((resolve) => this.#whenRunEnds.push(resolve));
      return this.#later(ended.then(() => this.#begin(data, options)));
    }
    const input = toRunInput(this.#compiled, data.input ?? data.content);
    const faults = inputFaults(this.#compiled, input);
    if (faults instanceof Promise) {
      return this.#later(
        faults.then((list) => {
          this.#assertInput(list);
          return this.#begin(data, options);
        }),
      );
    }
    this.#assertInput(faults);
    const begun = this.#begin(data, options);
    return begun instanceof Promise ? this.#later(begun) : this.#response(begun);
  }

  #assertInput(faults: string[]): void {
    if (faults.length === 0) return;
    throw new TroupeError({ code: 'INVALID_INPUT', message: `the message does not fit: ${faults.join('; ')}` });
  }

  #begin(data: SessionStreamData & { kind: 'message' }, options: ExecutionOptions): MergeReader | Promise<MergeReader> {
    const tree = this.#tree ?? this.#openTree();
    if (tree instanceof Promise) return tree.then((ready) => this.#start(ready, data, options));
    return this.#start(tree, data, options);
  }

  #openTree(): Tree | Promise<Tree> {
    const opened = openTree(this.host, this.#compiled, { ...this.#options, sessionId: this.sessionId, oneRun: false });
    const keep = (tree: Tree) => {
      this.#tree = tree;
      tree.onRunEnded = (end) => {
        this.#endReason = end.reason;
        this.#open?.reader.finish();
        this.#open = undefined;
        for (const resolve of this.#whenRunEnds.splice(0)) queueMicrotask(resolve);
      };
      tree.onPaused = () => {
        this.#open?.reader.finish();
        this.#open = undefined;
        // What an expiry causes meanwhile opens the next stream.
        tree.merge.hold();
      };
      tree.onDetach = () => {
        this.#open?.reader.finish();
        this.#open = undefined;
      };
      tree.onClosed = () => {
        this.#isClosed = true;
        this.#open?.reader.finish();
        this.#markClosed();
      };
      return tree;
    };
    if (!(opened instanceof Promise)) return keep(opened);
    this.#opening = opened.then(keep);
    return this.#opening;
  }

  #start(tree: Tree, data: SessionStreamData & { kind: 'message' }, options: ExecutionOptions): MergeReader {
    tree.merge.letGo();
    const reader = this.#openReader(tree);
    if (this.#isFirst) publishInitialize(tree.root);
    this.#isFirst = false;
    beginRun(tree.root, toRunInput(this.#compiled, data.input ?? data.content), {
      streamId: this.host.stamp.nextId(),
    });
    watchSignal(tree, options.signal);
    return reader;
  }

  #openReader(tree: Tree): MergeReader {
    const taken = tree.merge.consume();
    if (taken === undefined) {
      throw new TroupeError({
        code: 'SESSION_BUSY',
        message: 'a stream of this session is being read',
        retryable: true,
      });
    }
    this.#open = { reader: taken.reader };
    return taken.reader;
  }

  #deliver(data: Delivery, options: ExecutionOptions): AgentResponse {
    this.#assertUsable();
    this.#assertNoOptions(options);
    const tree = this.#tree;
    if (tree === undefined) {
      throw new TroupeError({ code: 'UNKNOWN_REQUEST', message: 'nothing was asked yet: start with a message' });
    }
    if (this.#open !== undefined) {
      const given = deliver(tree, data);
      return given === undefined ? ended() : this.#later(given.then(() => undefined));
    }
    // The reader is there before the answer: nothing that it causes is missed.
    const reader = this.#openReader(tree);
    tree.root.streamId = this.host.stamp.nextId();
    const withdraw = (thrown: unknown) => {
      reader.close();
      this.#open = undefined;
      tree.merge.hold();
      throw thrown;
    };
    try {
      const given = deliver(tree, data);
      watchSignal(tree, options.signal);
      return given === undefined ? this.#response(reader) : this.#later(given.then(() => reader, withdraw));
    } catch (thrown) {
      return refused(catchIt(withdraw, thrown));
    }
  }

  #assertUsable(): void {
    if (this.#isClosed || this.host.isClosing) {
      throw new TroupeError({
        code: 'SESSION_ENDED',
        message: `session "${this.sessionId}" has ended (${this.#endReason})`,
      });
    }
  }

  #busy(tree: Tree): TroupeError {
    const pending = pendingOf(tree);
    const open = pending.map(({ requestId, name }) => `${requestId} (${name})`).join(', ');
    return new TroupeError({
      code: 'SESSION_BUSY',
      message:
        pending.length > 0
          ? `a run waits for answers: ${open}`
          : 'a run is under way; steer it, or wait for its stream_end',
      retryable: true,
    });
  }

  #takeOptions(options: ExecutionOptions): void {
    if (!this.#isFirst || this.#tree !== undefined) return this.#assertNoOptions(options);
    const { tools, model, generation, hostToolExecution, permissionMode, ephemeral, contextBudget, traceContext } =
      options;
    this.#options = {
      ...this.#options,
      ...(model !== undefined && { model }),
      ...(generation !== undefined && { generation }),
      ...(hostToolExecution !== undefined && { hostToolExecution }),
      ...(permissionMode !== undefined && { permissionMode }),
      ...(ephemeral !== undefined && { ephemeral }),
      ...(contextBudget !== undefined && { contextBudget }),
      ...(traceContext !== undefined && { traceContext }),
      ...(tools !== undefined && { tools: [...(this.#options.tools ?? []), ...tools] }),
    };
    if (tools !== undefined || model !== undefined || permissionMode !== undefined) {
      this.#compiled = prepare(this.host, this.agent, this.#options);
    }
  }

  #assertNoOptions(options: ExecutionOptions): void {
    const given = Object.keys(options).filter((key) => key !== 'signal');
    if (given.length === 0) return;
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `${given.join(', ')}: options count on the first stream() only; change them with update()`,
    });
  }

  #response(reader: MergeReader): AgentResponse {
    const controller = { abort: (reason?: string) => this.#abortRun(reason) };
    return {
      stream: readStream(
        async () => reader,
        () => this.#abortRun('the consumer left'),
      ),
      controller,
    };
  }

  #later(opening: Promise<MergeReader | undefined>): AgentResponse {
    let isAborted = false;
    opening.catch(() => {});
    const controller = {
      abort: (reason?: string) => {
        isAborted = true;
        void opening.then(
          () => this.#abortRun(reason),
          () => {},
        );
      },
    };
    return {
      stream: readStream(
        () => opening,
        () => !isAborted && this.#abortRun('the consumer left'),
      ),
      controller,
    };
  }

  #abortRun(reason: string | undefined): void {
    const root = this.#tree?.root;
    if (root !== undefined) stopRun(root, abortStop(reason, 'user'));
  }

  update(config: SessionUpdateData): void {
    this.#assertUsable();
    if (this.#tree !== undefined) return applyUpdate(this.#tree, config);
    const { permissionMode, model, tools } = config;
    this.#options = {
      ...this.#options,
      ...(permissionMode !== undefined && { permissionMode }),
      ...(model !== undefined && { model }),
      ...(tools !== undefined && { tools }),
    };
    this.#compiled = prepare(this.host, this.agent, this.#options);
  }

  steer(data: SteerData): void {
    this.#assertUsable();
    if (this.#tree === undefined) {
      throw new TroupeError({ code: 'SESSION_IDLE', message: 'there is nothing to steer: start with a message' });
    }
    steerTree(this.#tree, data, undefined);
  }

  abort(reason?: string): void {
    if (this.#isClosed) return;
    const tree = this.#tree;
    if (tree === undefined) return this.#endUnopened();
    tree.root.endsSession = true;
    if (tree.root.run !== undefined) stopRun(tree.root, abortStop(reason, 'user'));
    else tree.root.actor.send({ type: 'session.close', reason: 'aborted' });
  }

  #endUnopened(): void {
    this.#isClosed = true;
    if (this.#opening === undefined) this.#markClosed();
    else void this.#opening.then((tree) => tree.root.actor.send({ type: 'session.close', reason: 'aborted' }));
  }

  state(): ExecutionState {
    const tree = this.#tree;
    if (this.#isClosed || tree === undefined) {
      return this.#isClosed
        ? { type: this.#endReason === 'aborted' ? 'aborted' : 'completed', reason: this.#endReason }
        : { type: 'idle' };
    }
    return stateOf(tree.root);
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      const tree = this.#tree;
      if (tree === undefined) this.#endUnopened();
      else if (tree.root.run !== undefined) this.abort('the session is being closed');
      else tree.root.actor.send({ type: 'session.close', reason: 'completed' });
    }
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function watchSignal(tree: Tree, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const { run } = tree.root;
  const stop = () => {
    if (tree.root.run === run) stopRun(tree.root, abortStop(reasonOf(signal), 'user'));
  };
  if (signal.aborted) return stop();
  signal.addEventListener('abort', stop, { once: true });
  const { onRunEnded } = tree;
  tree.onRunEnded = (end) => {
    signal.removeEventListener('abort', stop);
    tree.onRunEnded = onRunEnded;
    onRunEnded?.(end);
  };
}

/**
 * A stream that takes effect before it is read: an async generator that was never started runs no `finally`, so this
 * one is made by hand.
 */
function readStream(open: () => Promise<MergeReader | undefined>, leave: () => void): AgentResponse['stream'] {
  let isOver = false;
  let reader: MergeReader | undefined;
  const stream: AgentResponse['stream'] = {
    async next() {
      if (isOver) return { done: true, value: undefined };
      try {
        reader ??= await open();
      } catch (thrown) {
        isOver = true;
        throw thrown;
      }
      const step: IteratorResult<AgentEvent, void> =
        reader === undefined ? { done: true, value: undefined } : await reader.next();
      if (step.done) isOver = true;
      return step;
    },
    async return() {
      if (!isOver) {
        isOver = true;
        leave();
        reader?.close();
      }
      return { done: true, value: undefined };
    },
    async throw(thrown) {
      await stream.return(undefined);
      throw thrown;
    },
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: async () => {
      await stream.return(undefined);
    },
  };
  return stream;
}

const ended = (): AgentResponse => ({
  stream: readStream(
    async () => undefined,
    () => {},
  ),
  controller: { abort() {} },
});

/** Wrong use: the first `next()` rejects, and the session is as it was. */
const refused = (thrown: unknown): AgentResponse => ({
  stream: readStream(
    () => Promise.reject(thrown),
    () => {},
  ),
  controller: { abort() {} },
});

function catchIt(action: (thrown: unknown) => never, given: unknown): unknown {
  try {
    return action(given);
  } catch (thrown) {
    return thrown;
  }
}
