import type { AgentDefinition, SessionHandle, ToolDescriptor } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { compileAgent } from './compile-agent.js';
import { closeExecutor, createExecutor } from './executors.js';
import type { HostCore } from './host-core.js';
import { createTree, newSessionId, settled, threadsFrom } from './session-tree.js';
import type { CompiledAgent, Tree } from './thread.js';
import type { RunOptions } from './types.js';

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Checks everything that can be checked before anything runs. Throws `TroupeError`. */
export function prepare(host: HostCore, agent: AgentDefinition, options: RunOptions): CompiledAgent {
  if (host.isClosing) throw new TroupeError({ code: 'HOST_CLOSED', message: 'this host is closed; make a new one' });
  const { sessionId, model, tools = [], permissionMode } = options;
  if (sessionId !== undefined && (!SESSION_ID.test(sessionId) || sessionId.includes('..'))) {
    throw new TroupeError({
      code: 'INVALID_SESSION_ID',
      message: `"${sessionId.slice(0, 60)}" is no session id: letters, digits, ".", "_" and "-", at most 128`,
    });
  }
  if (permissionMode !== undefined) assertMode(permissionMode);
  return compileAgent(host, agent, { runTools: tools, model });
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

/** Makes the session: its log, its tree, its actor. Nothing is said yet. Sync where the store is. */
export function openTree(
  host: HostCore,
  agent: CompiledAgent,
  options: RunOptions & { oneRun: boolean },
): Tree | Promise<Tree> {
  const sessionId = options.sessionId ?? newSessionId();
  if (host.trees.has(sessionId)) {
    throw new TroupeError({
      code: 'SESSION_BUSY',
      message: `session "${sessionId}" is open in this host`,
      retryable: true,
    });
  }
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

function begin(
  host: HostCore,
  agent: CompiledAgent,
  options: RunOptions & { oneRun: boolean },
  sessionId: string,
  handle: SessionHandle | undefined,
): Tree {
  const consumerTools = (options.tools ?? []).filter((tool): tool is ToolDescriptor => !('kind' in tool));
  const tree = createTree(host, agent, {
    sessionId,
    handle,
    consumerTools,
    settings: {
      permissionMode: narrowPermissionMode(options.permissionMode ?? 'default'),
      model: options.model,
      generation: options.generation,
      hostToolExecution: options.hostToolExecution ?? true,
      maxBudgetUsd: options.maxBudgetUsd ?? Number.POSITIVE_INFINITY,
    },
  });
  const { root } = tree;
  // What cannot be driven is refused here, not in the middle of its first run.
  if (agent.behaviour === 'turn' && agent.driver.descriptor.executor !== 'local') root.executor = createExecutor(root);
  host.trees.set(sessionId, tree);
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

/** The root's actor is gone: nothing of the session stays in this host. Its log stays in the store. */
export function closeTree(tree: Tree): void {
  if (tree.isClosed) return;
  tree.isClosed = true;
  const { host, sessionId } = tree;
  tree.cancelForce?.();
  tree.cancelForce = undefined;
  for (const thread of threadsFrom(tree.root)) {
    host.threads.delete(thread.address);
    closeExecutor(thread);
    thread.hasEnded = true;
  }
  host.trees.delete(sessionId);
  const finish = () => {
    tree.onClosed?.();
    void tree.handle?.close();
  };
  const durable = settled(tree);
  if (durable === undefined) finish();
  else void durable.then(finish);
}
