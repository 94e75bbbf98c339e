import { randomBytes } from 'node:crypto';
import type { AgentEvent, AgentEventDraft, Bag, SessionHandle } from '../contracts/index.js';
import { readCompaction } from '../kernel/compaction.js';
import { describeError } from '../kernel/errors.js';
import { createEventMerge } from '../kernel/event-merge.js';
import { createHistory, type History } from '../kernel/history.js';
import { bringsLargeMedia } from '../kernel/kept-media.js';
import { createStateScope } from '../kernel/state.js';
import { withoutTemporary } from '../kernel/temporary.js';
import type { HostCore } from './host-core.js';
import { type CompiledAgent, type Thread, type Tree, type TreeSettings, threadKey } from './thread.js';

const ID_BYTES = 16;
let entropy = Buffer.alloc(0);
let taken = 0;

/**
 * 128 random bits, drawn for 256 sessions at a time: a draw costs as much as a tenth of a turn. A UUID would say no
 * more, and is kept by V8 as a rope of nineteen pieces.
 */
export function newSessionId(): string {
  if (taken + ID_BYTES > entropy.length) {
    entropy = randomBytes(ID_BYTES * 256);
    taken = 0;
  }
  taken += ID_BYTES;
  return entropy.toString('hex', taken - ID_BYTES, taken);
}

/** Makes the tree and its root thread; no actor yet. */
export function createTree(
  host: HostCore,
  agent: CompiledAgent,
  options: {
    sessionId: string;
    userId: string;
    handle: SessionHandle | undefined;
    settings: TreeSettings;
    runTools: Tree['runTools'];
    /** The last `seq` of a stored log. */
    seq?: number;
    state?: Readonly<Record<string, unknown>> | undefined;
  },
): Tree {
  const tree = new SessionTree(host, options);
  const { declaration, opensState } = agent;
  const isStateless = Object.keys(declaration).length === 0 && !opensState;
  tree.hasState = !isStateless;
  tree.root = createThread(tree, undefined, agent, undefined, -1);
  tree.root.state = isStateless
    ? NO_STATE
    : createStateScope({ declaration, values: options.state, isOpen: opensState });
  return tree;
}

/** Shared by every tree that declares no state: it refuses every key. */
const NO_STATE = createStateScope({ declaration: {} });

/** A class, for what most sessions never need is made when it is first asked for. */
class SessionTree implements Tree {
  readonly host: HostCore;
  readonly sessionId: string;
  readonly userId: string;
  handle: SessionHandle | undefined;
  readonly settings: TreeSettings;
  readonly merge: Tree['merge'];
  runTools: Tree['runTools'];
  root = undefined as unknown as Thread;
  requestCount = 0;
  busy = 0;
  pauseCheckScheduled = false;
  pendingWrites: Tree['pendingWrites'];
  writesLater = false;
  reservedSeq = 0;
  cancelForce: Tree['cancelForce'];
  onPaused: Tree['onPaused'];
  onRunEnded: Tree['onRunEnded'];
  onDetach: Tree['onDetach'];
  onClosed: Tree['onClosed'];
  isResumed = false;
  began: Tree['began'];
  budget: Tree['budget'];
  endReason = 'aborted';
  hooks: Tree['hooks'];
  hasState = false;
  isClosed = false;
  onStaleResult: Tree['onStaleResult'];
  recovery: Tree['recovery'];
  storeError: Tree['storeError'];
  onStoreFailed: Tree['onStoreFailed'];
  traceContext: Tree['traceContext'];
  #questions: Tree['questions'] | undefined;
  #consumerCalls: Tree['consumerCalls'] | undefined;
  #requestIds: Set<string> | undefined;
  #always: Set<string> | undefined;

  constructor(host: HostCore, options: Parameters<typeof createTree>[2]) {
    this.host = host;
    this.sessionId = options.sessionId;
    this.userId = options.userId;
    this.handle = options.handle;
    this.settings = options.settings;
    this.runTools = options.runTools;
    const { seq = 0, handle } = options;
    const hooks = host.lifecycle?.gateOf(this);
    const gate = hooks && host.media.gateOf(this, hooks);
    const reservedSeq = handle?.reserve === undefined ? Number.POSITIVE_INFINITY : seq;
    this.merge = createEventMerge<Thread>({ stamp: host.stamp, seq, log: LOG, gate, reservedSeq });
  }

  get questions(): Tree['questions'] {
    this.#questions ??= new Map();
    return this.#questions;
  }
  get consumerCalls(): Tree['consumerCalls'] {
    this.#consumerCalls ??= new Map();
    return this.#consumerCalls;
  }
  get requestIds(): Set<string> {
    this.#requestIds ??= new Set();
    return this.#requestIds;
  }
  get always(): Set<string> {
    this.#always ??= new Set();
    return this.#always;
  }
  get waitsForOutside(): boolean {
    return (this.#questions?.size ?? 0) > 0 || (this.#consumerCalls?.size ?? 0) > 0;
  }
}

const LOG = { append: keep, reserve };

/** A thread without an actor. Its state starts from its parent's as it is at this moment. */
export function createThread(
  tree: Tree,
  parent: Thread | undefined,
  agent: CompiledAgent,
  threadId: string | undefined,
  index: number,
): Thread {
  const address = threadKey(tree.sessionId, threadId);
  const { name } = agent.definition;
  const thread: Thread = {
    threadId,
    agentId: agent.driver.name,
    runId: parent?.runId,
    streamId: parent?.streamId,
    message: undefined,
    waiting: 0,
    suspended: undefined,
    tree,
    parent,
    agent,
    address,
    principalPath: parent === undefined ? name : `${parent.principalPath}/${name}`,
    index,
    actor: undefined as unknown as Thread['actor'],
    executor: undefined,
    history: createHistory(),
    state: parent?.state as Thread['state'],
    spentUsd: 0,
    spentTokens: 0,
    loopCarry: undefined,
    account: undefined,
    run: undefined,
    end: undefined,
    endsSession: false,
    hasEnded: false,
    spawned: 0,
    children: undefined,
    crew: undefined,
    questions: undefined,
    steers: [],
    heard: undefined,
    isPaused: false,
    resumeTurn: undefined,
    outsideWaits: 0,
    preloaded: 0,
    projectsTo: undefined,
    hadSideEffects: false,
    instruction: undefined,
    past: undefined,
    compactAgainAt: 0,
    counted: undefined,
  };
  tree.host.threads.set(address, thread);
  if (parent !== undefined) {
    parent.children ??= new Set();
    parent.children.add(thread);
  }
  return thread;
}

export function publish(thread: Thread, draft: AgentEventDraft): undefined | Promise<void> {
  const { host } = thread.tree;
  host.tracing?.see(thread, draft);
  host.watch?.see(thread, draft);
  if (bringsLargeMedia(draft)) host.media.keepFor(thread.tree);
  return thread.tree.merge.publish(thread, draft);
}

/** Tells a person something, in the host's name. */
export function notice(
  thread: Thread,
  code: string,
  severity: 'info' | 'warning' | 'error',
  text: string,
  more?: Bag,
): void {
  const data = { code, severity, text, ...more };
  const draft = { type: 'custom', kind: 'notice', data, source: 'host' } as const;
  const { lifecycle } = thread.tree.host;
  if (lifecycle === undefined) publish(thread, draft);
  else lifecycle.notice(thread, draft);
}

/** Resolves once everything published so far is durable; undefined when it is already. */
export function settled(tree: Tree): undefined | Promise<void> {
  const passing = tree.merge.whenPassed();
  return passing === undefined ? tree.pendingWrites : passing.then(() => tree.pendingWrites);
}

function keep(event: AgentEvent, thread: Thread): void {
  const { tree } = thread;
  noteInHistory(thread.history, event, thread.agentId);
  // Behind what could not be written nothing is: a log with a hole is none that could be gone on with.
  if (tree.handle === undefined || tree.storeError !== undefined) return;
  let written: void | Promise<void>;
  try {
    written = tree.handle.append(tree.hasState ? withoutTemporary(event) : event);
  } catch (thrown) {
    return storeFailed(tree, thrown);
  }
  if (written !== undefined) noteWrite(tree, written);
}

/** Positions beyond those that are stored: whoever goes on with the log gives none of them out again. */
function reserve(toSeq: number, { tree }: Thread): void {
  const note = () => {
    tree.reservedSeq = toSeq;
  };
  try {
    const written = tree.handle?.reserve?.(toSeq);
    if (written instanceof Promise) noteWrite(tree, written.then(note));
    else note();
  } catch (thrown) {
    storeFailed(tree, thrown);
  }
}

function noteWrite(tree: Tree, written: Promise<void>): void {
  tree.writesLater = true;
  const before = tree.pendingWrites;
  const all: Promise<void> = Promise.all([before, written]).then(
    () => {
      if (tree.pendingWrites === all) tree.pendingWrites = undefined;
    },
    (thrown: unknown) => {
      storeFailed(tree, thrown);
      if (tree.pendingWrites === all) tree.pendingWrites = undefined;
    },
  );
  tree.pendingWrites = all;
}

function storeFailed(tree: Tree, thrown: unknown): void {
  if (tree.storeError !== undefined) return;
  tree.storeError = describeError(thrown, 'STORE_FAILED');
  // Later: whoever published what could not be written is not done with it.
  queueMicrotask(() => tree.onStoreFailed?.(tree));
}

/** The conversation so far is forgotten. */
export const CONTEXT_CLEARED = 'context_cleared';

/** Folds one logged event of a thread into what its model sees; live and from a stored log alike. */
export function noteInHistory(history: History, event: AgentEvent, agentId: string): void {
  switch (event.type) {
    case 'message':
      if (event.role === 'agent') history.model(event.messageId, event.content);
      else history.user(event.content);
      break;
    case 'tool_request':
      if (event.parentRequestId !== undefined) break;
      history.call({
        requestId: event.requestId,
        name: shortName(event.name, agentId),
        args: event.args,
        messageId: event.messageId,
        index: event.index,
        thoughtSignature: event.thoughtSignature,
      });
      break;
    case 'tool_response':
      history.response(event.requestId, event);
      break;
    case 'custom':
      noteCustom(history, event);
      break;
    default:
  }
}

function noteCustom(history: History, { kind, source, data }: AgentEvent<'custom'>): void {
  if (source !== 'host') return;
  if (kind === CONTEXT_CLEARED) history.clear();
  if (kind === 'interrupted') history.discard((data as { messageId: string }).messageId);
  const compaction = kind === 'compact_boundary' ? readCompaction(data) : undefined;
  if (compaction !== undefined) history.compact(compaction);
}

/** What the model says for a registered name: an agent's own tools go without its prefix. */
export const shortName = (registered: string, agentId: string): string =>
  registered.startsWith(`${agentId}.`) ? registered.slice(agentId.length + 1) : registered;

/** Something began that will move the tree without outside input. */
export function enter(tree: Tree): void {
  tree.busy++;
}

/** It ended. A tree in which nothing is under way any more waits for outside input. */
export function leave(tree: Tree): void {
  tree.busy--;
  if (tree.busy > 0 || tree.pauseCheckScheduled || !tree.waitsForOutside) return;
  tree.pauseCheckScheduled = true;
  // What follows from the end (the next turn, a sibling's start) begins in the same round of microtasks.
  setImmediate(() => {
    tree.pauseCheckScheduled = false;
    if (tree.busy === 0 && tree.waitsForOutside) tree.onPaused?.();
  });
}

/** All live threads below and including `thread`, children before parents. */
export function* threadsFrom(thread: Thread): Generator<Thread> {
  for (const child of [...(thread.children ?? [])]) yield* threadsFrom(child);
  yield thread;
}
