import type { AgentEvent, Bag, PermissionMode, SessionHandle } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { createHistory, type History } from '../kernel/history.js';
import { createStateScope } from '../kernel/state.js';
import { lastSegment } from '../kernel/thread-id.js';
import { alwaysKey } from './always.js';
import { tokensIn } from './limits.js';
import { type ConversationFold, createConversationFold } from './recover-conversation.js';
import { createRunFold, type RunFold } from './recovery/fold-run.js';
import { noteInHistory } from './session-tree.js';
import type { CompiledAgent, RunEnd, Tree } from './thread.js';
import { foldWords, type Words } from './words.js';

/** What a session between two runs is made of, as its log says. */
export interface Past {
  readonly seq: number;
  readonly timestamp: string;
  readonly history: History;
  readonly state: Bag;
  /** Children spawned by the root so far. */
  readonly spawned: number;
  readonly spentUsd: number;
  readonly spentTokens: number;
  readonly requestIds: ReadonlySet<string>;
  readonly always: ReadonlySet<string>;
  readonly permissionMode: PermissionMode | undefined;
  readonly model: string | undefined;
  /** Of a transfer. */
  readonly conversation: ConversationFold | undefined;
  /** Its latest `initialize`. */
  readonly began: AgentEvent<'initialize'> | undefined;
  /** The run that the log breaks off in; undefined where it stands between two. */
  readonly run: RunFold | undefined;
  /** Words for the root that stand before its next message. */
  readonly steers: readonly Words[];
  /** How the latest run ended that did; undefined where none has. */
  readonly end: RunEnd | undefined;
}

/**
 * Folds the log of a session that stands between two runs; undefined where there is none yet. Rejects with
 * `SESSION_STALE` when the log ends inside a run, with `DEFINITION_CHANGED` when it is another agent's.
 */
export async function readIdle(agent: CompiledAgent, handle: SessionHandle): Promise<Past | undefined> {
  assertAgent(agent, handle);
  const past = await readPast(agent, handle, handle.events);
  if (past?.run !== undefined) {
    // Where somebody else is at it, it was not cut off.
    await handle.lock?.();
    throw new TroupeError({
      code: 'SESSION_STALE',
      message: `session "${handle.id}" was cut off in the middle of a run: its log has no stream_end for it, so it must be resumed (host.resume) before it takes a new message`,
    });
  }
  return past;
}

/** A log says whose it is by the agent's name. */
export function assertAgent(agent: CompiledAgent, handle: SessionHandle): void {
  const { name } = agent.definition;
  if (handle.agentName !== name) {
    throw new TroupeError({
      code: 'DEFINITION_CHANGED',
      message: `session "${handle.id}" is one of "${handle.agentName}", not of "${name}"`,
    });
  }
}

/** Folds a log, wherever it breaks off; undefined where it is empty. `events`: those of the handle, in order. */
export async function readPast(
  agent: CompiledAgent,
  handle: Pick<SessionHandle, 'state'>,
  events: AsyncIterable<AgentEvent> | Iterable<AgentEvent>,
): Promise<Past | undefined> {
  const fold = createFold(agent, handle.state);
  for await (const event of events) fold.take(event);
  return fold.past();
}

/** Between two runs the root says nothing but these. */
const BETWEEN_RUNS = new Set(['initialize', 'session_update', 'custom', 'stream_end']);

function createFold(agent: CompiledAgent, stored: Readonly<Bag>) {
  const history = createHistory();
  const state: Bag = {};
  const requestIds = new Set<string>();
  const always = createAlwaysFold();
  const conversation = agent.behaviour === 'transfer' ? createConversationFold(agent) : undefined;
  const steers: Words[] = [];
  let last: AgentEvent | undefined;
  let run: RunFold | undefined;
  let end: RunEnd | undefined;
  let began: AgentEvent<'initialize'> | undefined;
  let spawned = 0;
  let spentUsd = 0;
  let spentTokens = 0;
  let permissionMode: PermissionMode | undefined;
  let model: string | undefined;

  function takeRoot(event: AgentEvent): void {
    // Words that stand before the message of a run, which never came.
    const isSteered = event.type === 'message' && event._meta?.steered === true;
    if (run === undefined && !BETWEEN_RUNS.has(event.type) && !isSteered) run = beginRun();
    if (run !== undefined) run.take(event);
    else {
      noteInHistory(history, event, agent.driver.name);
      const taken = foldWords(steers, event);
      const at = steers.findIndex(({ steerId }) => steerId === taken);
      if (at >= 0) steers.splice(at, 1);
    }
    if (event.type === 'stream_end') {
      run = undefined;
      history.closeOpen();
      end = { reason: event.reason, data: event.data ?? {} };
    }
    if (event.type === 'initialize') {
      began = event;
      const mode = event._meta?.permissionMode;
      if (typeof mode === 'string') permissionMode = mode;
    }
    if (event.type !== 'session_update') return;
    Object.assign(state, event.stateDelta);
    permissionMode = event.permissionMode ?? permissionMode;
    model = event.model ?? model;
  }

  /** The run fold goes on with the same history. */
  function beginRun(): RunFold {
    conversation?.mark();
    const values = createStateScope({
      declaration: agent.declaration,
      values: { ...sharedKeys(stored), ...state },
      isOpen: agent.opensState,
    }).values();
    return createRunFold({ agent, history, values, spawned, spentUsd, spentTokens, steers });
  }

  return {
    take(event: AgentEvent): void {
      last = event;
      switch (event.type) {
        case 'agent_started':
          if (!event.threadId.includes('.')) spawned = Math.max(spawned, lastSegment(event.threadId)?.ordinal ?? 0);
          break;
        case 'tool_request':
          requestIds.add(event.requestId);
          break;
        case 'elicitation_request':
          requestIds.add(event.requestId);
          always.ask(event);
          break;
        case 'elicitation_response':
          always.answer(event);
          break;
        case 'custom':
          if (event.kind === 'tool_started') always.start((event.data as { requestId?: unknown }).requestId);
          break;
        case 'usage':
          spentUsd += event.cost?.usd ?? 0;
          spentTokens += tokensIn(event, false) ?? 0;
          break;
        default:
      }
      if (event.threadId === undefined) takeRoot(event);
      else run?.take(event);
      conversation?.take(event);
    },
    past(): Past | undefined {
      if (last === undefined) return undefined;
      const { seq, timestamp } = last;
      return {
        seq,
        timestamp,
        history,
        state,
        spawned,
        spentUsd,
        spentTokens,
        requestIds,
        always: always.keys,
        permissionMode,
        model,
        conversation,
        began,
        run,
        steers,
        end,
      };
    },
  };
}

/** What a person has allowed for the whole session, from the answers to approvals. */
function createAlwaysFold() {
  const asked = new Map<string, Bag>();
  const keys = new Set<string>();
  /** Calls that run: what is asked for their sake their tools ask. */
  const started = new Set<unknown>();
  return {
    keys,
    start(requestId: unknown): void {
      started.add(requestId);
    },
    ask({ requestId, kind, context, _meta }: AgentEvent<'elicitation_request'>): void {
      if (kind !== 'tool_confirmation' || context === undefined) return;
      // Only the host asks for approval, before a call begins: neither a tool nor an agent gives itself one for always.
      if (_meta?.executorRequestId === undefined && !started.has(context.toolRequestId)) asked.set(requestId, context);
    },
    answer({ requestId, action, content }: AgentEvent<'elicitation_response'>): void {
      const context = asked.get(requestId);
      asked.delete(requestId);
      if (context === undefined || action !== 'accept') return;
      const { actionHash, principalPath, tool, mcp } = context;
      const { server, revision } = (mcp ?? {}) as { server?: string; revision?: string };
      const key = alwaysKey(content?.outcome, {
        principalPath: String(principalPath),
        tool: String(tool),
        actionHash: String(actionHash),
        server,
        revision,
      });
      // With changed arguments it was another action: asked again.
      const isOther = key === actionHash && content?.modifiedArgs !== undefined;
      if (key !== undefined && !isOther) keys.add(key);
    },
  };
}

/** Puts a tree that was just made where its log left it. */
export function applyPast(tree: Tree, past: Past): void {
  const { root } = tree;
  tree.isResumed = true;
  tree.began = past.began;
  tree.host.stamp.notBefore(past.timestamp);
  for (const id of past.requestIds) tree.requestIds.add(id);
  for (const key of past.always) tree.always.add(key);
  root.history = past.history;
  root.spawned = past.spawned;
  root.spentUsd = past.spentUsd;
  root.spentTokens = past.spentTokens;
  if (past.run === undefined) root.steers.push(...past.steers);
  past.conversation?.apply(root, past.run === undefined ? 'now' : 'beforeRun');
}

/** What the application and the user share is not in the log alone. */
const sharedKeys = (stored: Readonly<Bag>): Bag =>
  Object.fromEntries(Object.entries(stored).filter(([key]) => key.startsWith('app:') || key.startsWith('user:')));
