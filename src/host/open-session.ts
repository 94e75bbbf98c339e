import type { AgentDefinition, SessionHandle } from '../contracts/index.js';
import { toolNameFault } from '../kernel/agent-check.js';
import { type Problem, TroupeError, throwProblems } from '../kernel/errors.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { readSchema } from '../kernel/schema.js';
import { assertSessionId } from '../kernel/session-id.js';
import { TreeBudget } from './budget.js';
import { compileAgent } from './compile-agent.js';
import { stopUnlogged } from './end-run.js';
import { closeExecutor, createExecutor } from './executors.js';
import { dataFault } from './given-data.js';
import type { HostCore } from './host-core.js';
import { liveSessions } from './live-sessions.js';
import { runOptionFaults } from './option-keys.js';
import { assertOwner } from './owner.js';
import { assertPriced } from './price-check.js';
import { applyPast, type Past, readIdle } from './recover-idle.js';
import { assertUndamaged } from './recovery/damage.js';
import { readMark } from './recovery/definition-mark.js';
import { agreeOnDefinition, publishMigrated } from './recovery/migrate.js';
import { createTree, newSessionId, settled, threadsFrom } from './session-tree.js';
import type { CompiledAgent, Thread, Tree } from './thread.js';
import type { RunOptions } from './types.js';

/** Checks everything that can be checked before anything runs. Throws `TroupeError`. */
export function prepare(
  host: HostCore,
  agent: AgentDefinition,
  options: RunOptions,
  session: string | undefined = options.sessionId,
): CompiledAgent {
  if (host.isClosing) throw new TroupeError({ code: 'HOST_CLOSED', message: 'this host is closed; make a new one' });
  throwProblems(runOptionFaults(options), 'INVALID_OPTION');
  assertAgent(agent);
  const { sessionId, model, tools = [], permissionMode } = options;
  if (sessionId !== undefined) assertSessionId(sessionId);
  if (permissionMode !== undefined) assertMode(permissionMode);
  assertDescriptors(tools);
  const own = compilingHost(host, agent, session, options.userId);
  const compiled = compileAgent(own, agent, { runTools: tools, model });
  assertPriced(host, compiled, options);
  return compiled;
}

/** Throws `INVALID_DEFINITION` for what nobody made with `agent()` or a composition. */
export function assertAgent(agent: AgentDefinition): void {
  if (typeof agent === 'object' && agent !== null && agent.kind === 'agent') return;
  throw new TroupeError({
    code: 'INVALID_DEFINITION',
    message: 'the first argument must be an agent: what agent(), sequential() and the others return',
  });
}

/** The host with the tools that a session has of its own. */
export function compilingHost(
  host: HostCore,
  agent: AgentDefinition,
  sessionId: string | undefined,
  userId: string | undefined,
): HostCore {
  if (sessionId === undefined || !host.sessionTools.areFor(agent)) return host;
  return { ...host, ...host.sessionTools.hostFor(sessionId, userId) };
}

/** Tools without code come as they are: what is wrong with them is told before anything runs, all at once. */
export function assertDescriptors(tools: Tree['runTools']): void {
  const problems: Problem[] = [];
  for (const tool of tools) {
    const path = `tools.${String(tool.name)}`;
    const hasWords = 'kind' in tool || typeof tool.description === 'string';
    const fault = toolNameFault(tool.name) ?? (hasWords ? undefined : 'a tool needs a description');
    if (fault !== undefined) problems.push({ code: 'INVALID_DEFINITION', path, message: fault });
    if ('kind' in tool) continue;
    const lost = dataFault(tool);
    if (lost !== undefined)
      problems.push({ code: 'INVALID_DEFINITION', path, message: `a descriptor is plain JSON:${lost}` });
    problems.push(
      ...readSchema(tool.parametersSchema, { path: `${path}.parametersSchema`, objectOnly: true }).problems,
    );
  }
  throwProblems(problems);
}

const MODES = ['default', 'auto_edit', 'autonomous', 'plan', 'dont_ask'];

export function assertMode(mode: string): void {
  const narrowed: string = narrowPermissionMode(mode);
  if (narrowed === 'default' && mode !== 'default') {
    throw new TroupeError({
      code: 'INVALID_OPTION',
      message: `no permission mode "${mode}"; one of ${MODES.join(', ')}`,
    });
  }
}

export type OpenOptions = RunOptions & {
  oneRun: boolean;
  /** The id was made for it: no store need be asked. */
  isNew?: boolean;
};

/**
 * Makes the session, or takes up one of that id that the store has: its log, its tree, its actor. Nothing is said yet.
 * Sync where the store is and the session is new. Throws, or rejects, with `SESSION_BUSY`, `SESSION_STALE`,
 * `DEFINITION_CHANGED`.
 */
export function openTree(host: HostCore, agent: CompiledAgent, options: OpenOptions): Tree | Promise<Tree> {
  const { sessionId = newSessionId() } = options;
  if (host.opening.has(sessionId)) throw isOpen(sessionId);
  const opened = openNow(host, agent, options, sessionId);
  return opened instanceof Promise ? announce(host, sessionId, opened) : opened;
}

/** Until it is open, others with the same id are refused, and observers wait. */
export function announce<T>(host: HostCore, sessionId: string, opening: Promise<T>): Promise<T> {
  const announced = opening.finally(() => {
    if (host.opening.get(sessionId) === announced) host.opening.delete(sessionId);
  });
  host.opening.set(sessionId, announced);
  return announced;
}

export const isOpen = (sessionId: string) =>
  new TroupeError({ code: 'SESSION_BUSY', message: `session "${sessionId}" is open in this host`, retryable: true });

function openNow(host: HostCore, agent: CompiledAgent, options: OpenOptions, sessionId: string): Tree | Promise<Tree> {
  if (options.isNew || options.sessionId === undefined) return create(host, agent, options, sessionId);
  if (host.trees.has(sessionId)) throw isOpen(sessionId);
  if (options.ephemeral) return begin(host, agent, options, sessionId, undefined);
  const closing = host.closing.get(sessionId);
  if (closing !== undefined) return closing.then(() => openNow(host, agent, options, sessionId));
  const found = find(host, sessionId);
  if (found === undefined) return create(host, agent, options, sessionId);
  return found instanceof Promise
    ? found.then((handle) => {
        if (handle === undefined) return create(host, agent, options, sessionId);
        return recover(host, agent, options, sessionId, handle);
      })
    : recover(host, agent, options, sessionId, found);
}

function create(host: HostCore, agent: CompiledAgent, options: OpenOptions, sessionId: string): Tree | Promise<Tree> {
  if (options.ephemeral) return begin(host, agent, options, sessionId, undefined);
  const handle = host.store.create(agent.definition.name, {
    id: sessionId,
    appName: host.appName,
    userId: options.userId ?? 'local',
  });
  return handle instanceof Promise
    ? handle.then((ready) => begin(host, agent, options, sessionId, ready))
    : begin(host, agent, options, sessionId, handle);
}

/** The stored session of that id; undefined where there is none. */
function find(host: HostCore, sessionId: string): SessionHandle | undefined | Promise<SessionHandle | undefined> {
  const none = (thrown: unknown): undefined => {
    if (thrown instanceof TroupeError && thrown.code === 'SESSION_NOT_FOUND') return undefined;
    throw thrown;
  };
  try {
    const handle = host.store.load(sessionId);
    return handle instanceof Promise ? handle.catch(none) : handle;
  } catch (thrown) {
    return none(thrown);
  }
}

async function recover(
  host: HostCore,
  agent: CompiledAgent,
  options: OpenOptions,
  sessionId: string,
  handle: SessionHandle,
): Promise<Tree> {
  try {
    // Who is not named is the default user wherever tools are made for the user.
    assertOwner(handle, options.userId ?? (host.sessionTools.areFor(agent.definition) ? 'local' : undefined));
    assertUndamaged(handle, 'repair it first (troupe sessions repair, or host.resume with { repair: true })');
    const past = await readIdle(agent, handle);
    const permissionMode = options.permissionMode ?? past?.permissionMode;
    const model = options.model ?? past?.model;
    const mark = readMark(past?.began?._meta?.definition);
    const migrated = past && (await agreeOnDefinition(sessionId, agent, { past, mark, migrate: options.migrate }));
    const tree = begin(
      host,
      agent,
      { ...options, ...(permissionMode !== undefined && { permissionMode }), ...(model !== undefined && { model }) },
      sessionId,
      handle,
      past,
    );
    if (migrated !== undefined) publishMigrated(tree.root, migrated);
    return tree;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Puts a session into the host: its tree, where there is a past as that left it, and its actor. */
export function begin(
  host: HostCore,
  agent: CompiledAgent,
  options: OpenOptions,
  sessionId: string,
  handle: SessionHandle | undefined,
  past?: Past | undefined,
): Tree {
  if (host.isClosing) {
    void handle?.close();
    throw new TroupeError({ code: 'HOST_CLOSED', message: 'this host is closed; make a new one' });
  }
  const tree = createTree(host, agent, {
    sessionId,
    userId: options.userId ?? handle?.head?.metadata.userId ?? 'local',
    handle,
    runTools: options.tools ?? [],
    settings: {
      permissionMode: narrowPermissionMode(options.permissionMode ?? 'default'),
      model: options.model,
      generation: options.generation,
      hostToolExecution: options.hostToolExecution ?? true,
      streaming: options.streaming ?? true,
      maxBudgetUsd: options.maxBudgetUsd ?? Number.POSITIVE_INFINITY,
      maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
      contextBudget: options.contextBudget,
    },
    ...(past !== undefined && { seq: Math.max(past.seq, handle?.head?.reservedSeq ?? 0) }),
    // What the application and the user share comes from the store, and goes before what this session remembers of it.
    ...((agent.opensState || Object.keys(agent.declaration).length > 0) && {
      state: Object.assign({}, past?.state, handle?.state),
    }),
  });
  tree.traceContext = options.traceContext;
  tree.onStoreFailed = stopUnlogged;
  if (agent.isBudgeted || options.maxBudgetUsd !== undefined || options.maxTokens !== undefined) {
    tree.budget = new TreeBudget();
  }
  if (past !== undefined) applyPast(tree, past);
  const { root } = tree;
  if (agent.behaviour === 'turn' && agent.driver.descriptor.executor !== 'local')
    giveExecutor(root, past === undefined);
  host.trees.set(sessionId, tree);
  liveSessions.count++;
  root.endsSession = options.oneRun;
  root.actor = host.spawn(sessionId, {
    address: root.address,
    oneRun: options.oneRun,
    behaviour: agent.behaviour,
    leads: agent.behaviour === 'turn' && agent.plan !== null,
    plan: agent.plan,
  });
  return tree;
}

/** What cannot be driven is refused here, not in the middle of its first run; nothing of a new session stays then. */
function giveExecutor(root: Thread, isNew: boolean): void {
  try {
    root.executor = createExecutor(root);
  } catch (thrown) {
    const { host, handle, sessionId } = root.tree;
    host.threads.delete(root.address);
    if (isNew && handle !== undefined) void forget(host, handle, sessionId);
    throw thrown;
  }
}

async function forget(host: HostCore, handle: SessionHandle, sessionId: string): Promise<void> {
  try {
    await handle.close();
    await host.store.delete(sessionId);
  } catch {
    // An empty log stays behind; what is told is why the session was refused.
  }
}

/** The root's actor is gone: nothing of the session stays in this host. Its log stays in the store. */
export function closeTree(tree: Tree, reason: string): void {
  if (tree.isClosed) return;
  tree.isClosed = true;
  tree.endReason = reason;
  const { host, sessionId } = tree;
  tree.cancelForce?.();
  tree.cancelForce = undefined;
  for (const thread of threadsFrom(tree.root)) {
    host.threads.delete(thread.address);
    closeExecutor(thread);
    thread.hasEnded = true;
  }
  host.trees.delete(sessionId);
  liveSessions.count--;
  host.media.cache.forget(tree);
  tree.merge.end();
  const released = host.sessionTools.close(sessionId);
  const before = allOf(settled(tree), host.lifecycle?.sessionEnded(tree));
  const written = before === undefined ? closeLog(tree) : before.then(() => closeLog(tree));
  const closing = released === undefined ? written : Promise.all([released, written]).then(() => {});
  if (closing === undefined) return tree.onClosed?.();
  const closed = closing.then(() => {
    host.closing.delete(sessionId);
    tree.onClosed?.();
  });
  host.closing.set(sessionId, closed);
}

const allOf = (one: undefined | Promise<void>, other: undefined | Promise<void>): undefined | Promise<void> =>
  one === undefined || other === undefined ? (one ?? other) : one.then(() => other);

/** The log is whole: a store that cannot let go of it harms nobody here. */
function closeLog({ handle }: Tree): undefined | Promise<void> {
  try {
    const closing = handle?.close();
    return closing instanceof Promise ? closing.catch(() => {}) : undefined;
  } catch {
    return undefined;
  }
}
