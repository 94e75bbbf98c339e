import type {
  AgentDefinition,
  AgentResponse,
  ExecutionOptions,
  ExecutionState,
  SessionStreamData,
  SessionUpdateData,
  SteerData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { sameJson } from '../kernel/json-value.js';
import type { MergeReader } from '../kernel/merge-reader.js';
import { compileAgent } from './compile-agent.js';
import { applyUpdate, checkDelivery, type Delivery, deliver, steerTree } from './deliver.js';
import { abortStop, stopByCaller } from './end-run.js';
import { assertSteer, assertUpdate } from './given-data.js';
import type { HostCore } from './host-core.js';
import { compilingHost, openTree, prepare } from './open-session.js';
import { readStream } from './read-stream.js';
import { consumeAfter } from './replay.js';
import { reasonOf } from './run.js';
import { admitInput, beginRun, publishInitialize, type RunInput } from './run-start.js';
import { copySource, type SessionSource, sourceOf } from './session-source.js';
import { endedState, pendingOf, stateOf } from './session-state.js';
import { newSessionId, publish, threadsFrom } from './session-tree.js';
import type { CompiledAgent, RunRecord, RunStop, Tree } from './thread.js';
import { unlessStopped } from './toolsets.js';
import type { HostSession, RunOptions } from './types.js';

/** The bare session over one session actor. */
export function createSession(host: HostCore, agent: AgentDefinition, options: RunOptions): HostSession {
  return new StandingSession(host, agent, options);
}

type Message = SessionStreamData & { kind: 'message' };

/** One `stream()` call that reads: its own run is all that it may end. */
interface Stream {
  reader: MergeReader | undefined;
  run: RunRecord | undefined;
  /** Aborted before its run began. */
  stop: RunStop | undefined;
  /** Told of that. */
  onStop?: () => void;
}

interface Settings {
  readonly compiled: CompiledAgent;
  readonly options: RunOptions;
  /** What it begins as a copy of. */
  readonly source?: SessionSource;
}

class StandingSession implements HostSession {
  #sessionId: string;
  #settings: Settings;
  #tree: Tree | undefined;
  #isOpening = false;
  #isFirst = true;
  /** A message was taken and its run is still to begin. */
  #isStarting = false;
  #isClosed = false;
  #endReason = 'completed';
  /** The stream that is being read; one at a time. */
  #open: Stream | undefined;
  /** The last one that was: leaving an older one ends nothing. */
  #latest: Stream | undefined;
  /** `seq` up to which its consumer was given everything. */
  #givenUpTo = 0;
  /** Nobody wants what the run under way still says. */
  #isLeft = false;
  /** What came before there was anything that it could reach. */
  #early: { steers: SteerData[]; update: SessionUpdateData | undefined } | undefined;
  #whenRunEnds: (() => void)[] | undefined;
  #watched: Set<AbortSignal> | undefined;
  /** Of the host's toolsets, as its agent was compiled last. */
  #toolsVersion = 0;
  #whenClosed: (() => void)[] | undefined;
  /** Nothing of it is left in the host. */
  #isGone = false;

  constructor(
    private readonly host: HostCore,
    private readonly agent: AgentDefinition,
    options: RunOptions,
  ) {
    this.#sessionId = options.sessionId ?? newSessionId();
    this.#settings = { compiled: prepare(host, agent, options, this.#sessionId), options };
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  stream(data: SessionStreamData, options: ExecutionOptions = {}): AgentResponse {
    try {
      if (typeof data !== 'object' || data === null) throw noData();
      return data.kind === 'message' ? this.#message(data, options) : this.#deliver(data, options);
    } catch (thrown) {
      return refused(thrown);
    }
  }

  #message(data: Message, options: ExecutionOptions): AgentResponse {
    this.#assertUsable();
    const run = this.#tree?.root.run;
    // A run that is being stopped is waited for; any other is in the way.
    if (this.#isStarting || (run !== undefined && run.stop === undefined)) throw this.#busy();
    const settings = this.#settingsWith(options);
    const { signal } = options;
    const stream: Stream = { reader: undefined, run: undefined, stop: undefined };
    const admitted = admitInput(settings.compiled, data.input ?? data.content);
    const start = (input: RunInput) => this.#whenOpen(settings, (tree) => this.#begin(tree, stream, input, signal));
    const ended =
      run === undefined
        ? undefined
        : new Promise<void>((resolve) => {
            this.#whenRunEnds ??= [];
            this.#whenRunEnds.push(resolve);
          });
    const tools = this.host.toolsets?.ready(this.agent);
    if (ended === undefined && tools === undefined && !(admitted instanceof Promise)) {
      const started = start(admitted);
      return this.#response(stream, started instanceof Promise ? this.#later(started) : undefined);
    }
    const stopped = (stop: () => void) => {
      stream.onStop = stop;
    };
    const known = tools && unlessStopped(tools, signal, stopped);
    // Awaited below, but not before the rest.
    known?.catch(() => {});
    const ready = (async () => {
      const input = await admitted;
      await ended;
      await known;
      this.#assertUsable();
      return start(input);
    })();
    return this.#response(stream, this.#later(ready));
  }

  /** Until it has begun, a run is in the way of others. */
  #later(starting: Promise<void>): Promise<void> {
    this.#isStarting = true;
    const begun = starting.finally(() => {
      this.#isStarting = false;
    });
    begun.catch(() => {});
    return begun;
  }

  /** With the session open: made, or found in the store, by its first message. */
  #whenOpen(settings: Settings, then: (tree: Tree) => void): void | Promise<void> {
    if (this.#tree !== undefined) return then(this.#tree);
    if (settings.source !== undefined) return this.#fromSource(settings, settings.source, then);
    const sessionId = settings.options.sessionId ?? this.#sessionId;
    const isNew = settings.options.sessionId === undefined;
    const compiled = this.#compiledNow(settings);
    const opened = openTree(this.host, compiled, { ...settings.options, sessionId, oneRun: false, isNew });
    const use = (tree: Tree) => {
      this.#isOpening = false;
      this.#sessionId = sessionId;
      this.#settings = settings;
      this.#keep(tree);
      if (!this.#isClosed) return then(tree);
      // Ended while its store was being asked.
      this.#end(tree, this.#endReason, undefined);
      throw this.#ended();
    };
    if (!(opened instanceof Promise)) return use(opened);
    this.#isOpening = true;
    return opened.then(use, (thrown) => {
      this.#isOpening = false;
      if (this.#isClosed) this.#markClosed();
      throw thrown;
    });
  }

  /** Begins as a copy of another session. */
  async #fromSource({ compiled, options }: Settings, source: SessionSource, then: (tree: Tree) => void): Promise<void> {
    this.#isOpening = true;
    try {
      const sessionId = await copySource(this.host, source, options.userId);
      return await this.#whenOpen({ compiled, options: { ...options, sessionId } }, then);
    } finally {
      this.#isOpening = false;
    }
  }

  /** With the tools that its toolsets brought meanwhile. */
  #compiledNow({ compiled, options }: Settings): CompiledAgent {
    const { toolsets } = this.host;
    if (toolsets === undefined) return compiled;
    this.#toolsVersion = toolsets.version;
    return prepare(this.host, this.agent, options, this.#sessionId);
  }

  /** What changed in the host's toolsets since its last run. Throws what the agent now names in vain. */
  #takeTools(tree: Tree): void {
    const { toolsets } = this.host;
    if (toolsets === undefined || toolsets.version === this.#toolsVersion) return;
    this.#toolsVersion = toolsets.version;
    const { root, runTools, settings } = tree;
    const before = root.agent.tools.descriptors;
    const host = compilingHost(this.host, this.agent, this.#sessionId, tree.userId);
    root.agent = compileAgent(host, this.agent, { runTools, model: settings.model });
    const tools = root.agent.tools.descriptors;
    if (!sameJson(before, tools)) publish(root, { type: 'session_update', tools: [...tools], source: 'host' });
  }

  #keep(tree: Tree): void {
    this.#tree = tree;
    this.#mark(tree);
    const runEnded = () => {
      this.#finishStream();
      this.#latest = undefined;
      if (this.#isLeft) this.#mark(tree);
      for (const signal of this.#watched ?? []) signal.removeEventListener('abort', this.#onSignal);
      this.#watched = undefined;
      for (const resolve of this.#whenRunEnds ?? []) queueMicrotask(resolve);
      this.#whenRunEnds = undefined;
    };
    const finish = () => this.#finishStream();
    const detached = () => {
      this.#finishStream();
      this.#latest = undefined;
      this.#isLeft = true;
    };
    const { onClosed } = tree;
    const closed = () => {
      onClosed?.();
      this.#isClosed = true;
      this.#endReason = tree.endReason;
      this.#finishStream();
      this.#markClosed();
    };
    tree.onRunEnded = runEnded;
    tree.onPaused = finish;
    tree.onDetach = detached;
    tree.onClosed = closed;
  }

  /** The stream ends with what is there; what comes before the next one opens that. */
  #finishStream(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    open.reader?.finish();
    this.#mark(this.#tree as Tree);
  }

  /** What is published from here on belongs to the next stream. */
  #mark(tree: Tree): void {
    this.#isLeft = false;
    this.#givenUpTo = tree.merge.seq;
    tree.merge.hold();
  }

  #begin(tree: Tree, stream: Stream, input: RunInput, signal: AbortSignal | undefined): void {
    this.#read(tree, stream);
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (isFirst) {
      publishInitialize(tree.root, tree.isResumed);
      const early = this.#early;
      this.#early = undefined;
      if (early?.update !== undefined) applyUpdate(tree, early.update);
      for (const steer of early?.steers ?? []) steerTree(tree, steer, undefined);
    } else {
      this.#takeTools(tree);
      if (tree.hasState) tree.root.state.refresh(tree.handle?.state ?? {});
    }
    const stop = stream.stop ?? (signal?.aborted ? abortStop(reasonOf(signal), 'user') : undefined);
    const onBegun = (run: RunRecord) => {
      stream.run = run;
    };
    beginRun(tree.root, input, { streamId: this.host.stamp.nextId(), stop, onBegun });
    this.#watch(signal, stream);
  }

  #read(tree: Tree, stream: Stream): void {
    if (this.#isLeft) this.#mark(tree);
    const reader = consumeAfter(tree, this.#givenUpTo);
    if (reader === undefined) throw this.#busy();
    stream.reader = reader;
    this.#open = stream;
    this.#latest = stream;
  }

  #deliver(data: Delivery, options: ExecutionOptions): AgentResponse {
    this.#assertUsable();
    this.#assertNoOptions(options);
    const tree = this.#tree;
    if (tree === undefined) {
      throw new TroupeError({ code: 'UNKNOWN_REQUEST', message: 'nothing was asked yet: start with a message' });
    }
    checkDelivery(tree, data);
    const stream: Stream = { reader: undefined, run: tree.root.run, stop: undefined };
    // What it causes appears on the stream that is open; or the reader is there before the answer, and misses nothing.
    if (this.#open === undefined) {
      this.#read(tree, stream);
      const streamId = this.host.stamp.nextId();
      for (const thread of threadsFrom(tree.root)) thread.streamId = streamId;
    }
    deliver(tree, data);
    this.#watch(options.signal, stream);
    return this.#response(stream, undefined);
  }

  #watch(signal: AbortSignal | undefined, { run }: Stream): void {
    if (signal === undefined || run === undefined || this.#tree?.root.run !== run) return;
    if (signal.aborted) return this.#abortRun(run, reasonOf(signal));
    // Once per signal and run, however many of its streams bring it.
    this.#watched ??= new Set();
    this.#watched.add(signal);
    signal.addEventListener('abort', this.#onSignal, { once: true });
  }

  readonly #onSignal = (event: Event): void => {
    const run = this.#tree?.root.run;
    if (run !== undefined) this.#abortRun(run, reasonOf(event.target as AbortSignal));
  };

  #response(stream: Stream, ready: Promise<void> | undefined): AgentResponse {
    const stopEarly = (reason: string | undefined) => {
      stream.stop ??= abortStop(reason, 'user');
      stream.onStop?.();
    };
    return {
      stream: readStream(
        () => (ready === undefined ? stream.reader : ready.then(() => stream.reader)),
        () => {
          if (ready !== undefined && stream.run === undefined) stopEarly(LEFT);
          else if (this.#latest === stream) this.#abortRun(stream.run, LEFT);
          stream.reader?.close();
          if (this.#open !== stream) return;
          this.#open = undefined;
          this.#isLeft = true;
        },
      ),
      controller: {
        abort: (reason) => {
          if (stream.run === undefined) stopEarly(reason);
          else this.#abortRun(stream.run, reason);
        },
      },
    };
  }

  #abortRun(run: RunRecord | undefined, reason: string | undefined): void {
    const root = this.#tree?.root;
    if (root?.run !== undefined && root.run === run) stopByCaller(root, reason);
  }

  #assertUsable(): void {
    if (this.#isClosed || this.#tree?.isClosed || this.host.isClosing) throw this.#ended();
  }

  #ended(): TroupeError {
    const reason = this.#isClosed ? ` (${this.#endReason})` : '';
    return new TroupeError({ code: 'SESSION_ENDED', message: `session "${this.sessionId}" has ended${reason}` });
  }

  #busy(): TroupeError {
    const pending = this.#tree === undefined ? [] : pendingOf(this.#tree);
    const open = pending.map(({ requestId, name }) => `${requestId} (${name})`).join(', ');
    const message =
      pending.length > 0
        ? `a run waits for answers: ${open}`
        : 'a run is under way; steer it, or wait for its stream_end';
    return new TroupeError({ code: 'SESSION_BUSY', message, retryable: true });
  }

  /** What the session becomes with the options of its first message. Changes nothing. */
  #settingsWith(options: ExecutionOptions): Settings {
    if (this.#tree !== undefined || Object.keys(options).every((key) => key === 'signal')) {
      this.#assertNoOptions(options);
      return this.#settings;
    }
    const { tools, signal, streaming, sessionRef, forkSession, ...rest } = options;
    const source = sourceOf(sessionRef, forkSession);
    const merged: RunOptions = {
      ...this.#settings.options,
      ...rest,
      ...(streaming !== undefined && { streaming }),
      ...(typeof sessionRef === 'string' && source === undefined && { sessionId: sessionRef }),
      ...(tools !== undefined && { tools: [...(this.#settings.options.tools ?? []), ...tools] }),
    };
    const compiled = prepare(this.host, this.agent, merged, merged.sessionId ?? this.#sessionId);
    return source === undefined ? { compiled, options: merged } : { compiled, options: merged, source };
  }

  #assertNoOptions(options: ExecutionOptions): void {
    const given = Object.keys(options).filter((key) => key !== 'signal');
    if (given.length === 0) return;
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `${given.join(', ')}: options count on the first stream() only; change them with update()`,
    });
  }

  update(config: SessionUpdateData): void {
    this.#assertUsable();
    assertUpdate(config);
    if (this.#tree !== undefined) return applyUpdate(this.#tree, config);
    const { permissionMode, model, tools } = config;
    const { options } = this.#settings;
    // Refused now or not at all; told once the session has begun.
    prepare(this.host, this.agent, {
      ...options,
      ...(permissionMode !== undefined && { permissionMode }),
      ...(model !== undefined && { model }),
      ...(tools !== undefined && { tools: [...(options.tools ?? []).filter((tool) => 'kind' in tool), ...tools] }),
    });
    this.#early ??= { steers: [], update: undefined };
    this.#early.update = { ...this.#early.update, ...config };
  }

  steer(data: SteerData): void {
    this.#assertUsable();
    assertSteer(data);
    if (this.#tree === undefined) {
      this.#early ??= { steers: [], update: undefined };
      this.#early.steers.push(data);
    } else steerTree(this.#tree, data, undefined);
  }

  abort(reason?: string): void {
    if (this.#isClosed) return;
    if (this.#tree !== undefined) return this.#end(this.#tree, 'aborted', reason);
    this.#endUnopened('aborted');
  }

  #end(tree: Tree, as: string, reason: string | undefined): void {
    const { root } = tree;
    root.endsSession = true;
    if (root.run !== undefined) stopByCaller(root, reason);
    else root.actor.send({ type: 'session.close', reason: as });
  }

  /** Nothing of it is in the host yet; where it is about to be, its opener ends it. */
  #endUnopened(as: string): void {
    this.#isClosed = true;
    this.#endReason = as;
    if (!this.#isOpening) this.#markClosed();
  }

  state(): ExecutionState {
    if (this.#isClosed) return endedState(this.#endReason);
    return this.#tree === undefined ? { type: 'idle' } : stateOf(this.#tree.root);
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      if (this.#tree === undefined) this.#endUnopened('completed');
      else this.#end(this.#tree, 'completed', 'the session is being closed');
    }
    if (this.#isGone) return;
    await new Promise<void>((resolve) => {
      this.#whenClosed ??= [];
      this.#whenClosed.push(resolve);
    });
  }

  #markClosed(): void {
    this.#isGone = true;
    for (const resolve of this.#whenClosed ?? []) resolve();
    this.#whenClosed = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const LEFT = 'the consumer left';

const noData = () =>
  new TroupeError({ code: 'INVALID_INPUT', message: 'stream() takes { kind, … }: a message, or an answer' });

/** Wrong use: the first `next()` rejects, and the session is as it was. */
const refused = (thrown: unknown): AgentResponse => ({
  stream: readStream(
    () => Promise.reject(thrown),
    () => {},
  ),
  controller: { abort() {} },
});
