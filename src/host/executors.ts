import type {
  AgentSession,
  ElicitationChannel,
  Executor,
  HostContext,
  LifecycleInterceptor,
  ToolProvider,
} from '../contracts/index.js';
import { describeError, TroupeError } from '../kernel/errors.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { foreignExecutor } from './foreign-session.js';
import { functionExecutor } from './function-node.js';
import type { HostCore } from './host-core.js';
import { ask } from './questions.js';
import { notice } from './session-tree.js';
import { markSideEffect } from './side-effects.js';
import type { CompiledAgent, Thread, Tree } from './thread.js';
import { showOwnCall } from './tool-call.js';

/**
 * Makes what drives an agent's turns. Throws as its creator does, and with `CANNOT_ENFORCE` when it runs tools out of
 * the host's sight and no policy rule grants it by name.
 */
export function createExecutor(thread: Thread): Executor {
  if (isFunctionAgent(thread.agent.driver.descriptor)) return functionExecutor(thread);
  const executor = prepareExecutor(thread.tree, thread.agent, () => thread);
  // What it does nobody here sees.
  if (executor.opaque) markSideEffect(thread);
  return executor;
}

/** The same before there is a thread; `threadOf` is asked once something is to happen in its name. */
export function prepareExecutor(tree: Tree, agent: CompiledAgent, threadOf: () => Thread): Executor {
  const { descriptor } = agent.driver;
  const creator = tree.host.executors.get(descriptor.executor);
  if (creator === undefined) {
    const names = [...tree.host.executors.keys()].join(', ') || 'none';
    throw new TroupeError({
      code: 'UNKNOWN_EXECUTOR',
      message: `no executor "${descriptor.executor}"; registered: ${names}`,
    });
  }
  const made: unknown = creator(descriptor, { ...portsOf(tree, threadOf), definition: agent.driver });
  const { capabilities } = descriptor;
  const executor = isSession(made)
    ? foreignExecutor(made, {
        isOpaque: capabilities?.includes('host_tool_execution') !== true,
        capabilities,
        showOwnCall: (request, response) => showOwnCall(threadOf(), request, response),
        tell: (code, text) => notice(threadOf(), code, 'warning', `${agent.definition.name} ${text}`),
      })
    : made;
  if (!isExecutor(executor)) {
    // A promise is no executor, and what it may still reject with is nobody's.
    if (made instanceof Promise) void made.catch(() => {});
    throw new TroupeError({
      code: 'INVALID_EXECUTOR',
      message: `executor "${descriptor.executor}" made neither a session, that is { stream, … }, nor { turn }`,
    });
  }
  if (executor.opaque) assertGranted(tree, agent);
  const { name } = agent.definition;
  const notices: [code: string, text: string][] = [];
  const out = outOfReach(executor, tree, name);
  if (out !== undefined) notices.push(['OPAQUE_AGENT', out]);
  const unused = outsideOf(executor, agent);
  if (unused !== undefined) notices.push(['NOT_OFFERED', unused]);
  const missing = capabilities?.filter((capability) => executor.capabilities?.includes(capability) === false) ?? [];
  if (missing.length > 0)
    notices.push(['CAPABILITIES', `${name} cannot do all that it declares: ${missing.join(', ')}`]);
  return notices.length === 0 ? executor : announced(executor, notices, tree, name, threadOf);
}

const isSession = (made: unknown): made is AgentSession =>
  typeof made === 'object' && made !== null && 'stream' in made && typeof made.stream === 'function';
const isExecutor = (made: unknown): made is Executor =>
  typeof made === 'object' && made !== null && 'turn' in made && typeof made.turn === 'function';

const told = new WeakMap<Tree, Set<string>>();

const TOOL_POINTS: readonly string[] = ['before_tool', 'after_tool', 'on_tool_error'];

/** What of policy and of the hooks that there are does not apply to an agent; undefined: all of it does. */
function outOfReach({ opaque, hookPoints }: Executor, { host }: Tree, name: string): string | undefined {
  const isOut = (point: string) => hookPoints?.includes(point) === false;
  const out = [...host.hookPoints].filter(isOut);
  const ofTools = opaque ? [...host.hookPoints].filter((point) => TOOL_POINTS.includes(point)).join(', ') : '';
  const others = out.filter((point) => !TOOL_POINTS.includes(point)).join(', ');
  const model = `runs a model of its own: no hook is fired at ${others}`;
  if (!opaque) return others === '' ? undefined : `${name} ${model}`;
  const tools = `${name} runs its own tools: policy and approvals${ofTools === '' ? '' : `, and the hooks at ${ofTools},`} do not apply to them`;
  return others === '' ? tools : `${tools}; it ${model}`;
}

/** What an agent was given and never hears of, for it takes no tools of a host; undefined: nothing. */
function outsideOf({ opaque, capabilities }: Executor, { definition, driver }: CompiledAgent): string | undefined {
  if (!opaque || capabilities === undefined || capabilities.includes('host_tool_execution')) return undefined;
  const given = [driver.skills, driver.tools].flatMap((list, at) =>
    list !== undefined && list.length > 0 ? [at === 0 ? 'skills' : 'tools'] : [],
  );
  if (given.length === 0) return undefined;
  return `${definition.name} runs its own tools: the ${given.join(' and ')} that it is given here do not reach it`;
}

/** Says once in a tree, before such an agent does anything, what does not apply to it and what it cannot do. */
function announced(
  executor: Executor,
  notices: readonly [code: string, text: string][],
  tree: Tree,
  name: string,
  threadOf: () => Thread,
): Executor {
  const { hookPoints, capabilities, opaque, keepsContext } = executor;
  return {
    ...(opaque && { opaque }),
    ...(keepsContext && { keepsContext }),
    ...(hookPoints !== undefined && { hookPoints }),
    ...(capabilities !== undefined && { capabilities }),
    turn(inbox, context) {
      const names = told.get(tree) ?? new Set();
      told.set(tree, names);
      if (!names.has(name)) {
        names.add(name);
        for (const [code, text] of notices) notice(threadOf(), code, 'warning', text);
      }
      return executor.turn(inbox, context);
    },
    close: () => executor.close?.(),
  };
}

/** An opaque agent runs only when a rule allows it by name. */
function assertGranted(tree: Tree, agent: CompiledAgent): void {
  const { name } = agent.definition;
  const { executor } = agent.driver.descriptor;
  const decision = tree.host.policy.evaluate({
    action: name,
    principal: name,
    principalPath: name,
    context: { executor, opaque: true, mode: tree.settings.permissionMode },
  });
  const isAllowed = !(decision instanceof Promise) && decision.outcome === 'allow' && decision.rule !== undefined;
  if (!isAllowed) {
    throw new TroupeError({
      code: 'CANNOT_ENFORCE',
      message: `agent "${name}" (${executor}) runs its tools out of the host's sight, so policy, hooks and approvals cannot apply; allow it with a rule such as { toolName: "${name}", decision: "allow", context: { opaque: true } }`,
    });
  }
}

function portsOf(tree: Tree, threadOf: () => Thread): HostContext {
  return contextOf(tree.host, { ask: (request, { signal } = {}) => ask(threadOf(), request, { signal }) });
}

/** The ports of a host outside of its sessions: a question can only be answered in process. */
export const outsideContext = (host: HostCore): HostContext =>
  contextOf(host, {
    async ask(request, { signal = NEVER } = {}) {
      const requestId = `outside-${host.stamp.nextId()}`;
      const { elicitation } = host;
      if (typeof elicitation !== 'function' || signal.aborted) return { requestId, action: 'cancel' };
      try {
        return { ...(await elicitation({ ...request, requestId, agentId: '' }, { signal })), requestId };
      } catch {
        return { requestId, action: 'cancel' };
      }
    },
  });

const NEVER = new AbortController().signal;

function contextOf(host: HostCore, elicitation: ElicitationChannel): HostContext {
  return {
    policyEngine: host.policy,
    hookSystem: host.hooks ?? silentHooks,
    elicitation,
    toolRegistry: toolsOf(host),
    modelConfig: { resolve: (request) => host.models.resolve(request.requested, request) },
    sessionService: host.store,
  };
}

const silentHooks: LifecycleInterceptor = {
  fire: () => Promise.resolve({ action: 'proceed' }),
  supportedHookPoints: () => [],
};

/** Host tools by descriptor. A call goes through the session's gate, never around it. */
const toolsOf = (host: HostCore): ToolProvider => ({
  getToolsForAgent: () => [...host.hostTools.values()].map((tool) => tool.descriptor),
  authorize: () => false,
  // biome-ignore lint/correctness/useYield: it never gets as far as an update.
  async *execute(request) {
    throw new TroupeError({
      code: 'CANNOT_ENFORCE',
      message: `ask for ${request.name} with a tool_request event: calls pass the host's gate`,
    });
  },
});

/** Lets go of what a thread's executor holds. */
export function closeExecutor(thread: Thread): void {
  const { executor } = thread;
  thread.executor = undefined;
  if (executor?.close !== undefined) disposeExecutor(thread.tree, executor);
}

/** Closes an executor. A failure to do so is told and harms nobody else. */
export function disposeExecutor(tree: Tree, executor: Executor): void {
  const fail = (thrown: unknown) => {
    // After the end of the session there is nobody to tell, and nothing may stand behind its `stream_end`.
    if (tree.isClosed) return;
    notice(tree.root, 'EXECUTOR_CLOSE_FAILED', 'warning', describeError(thrown).message);
  };
  try {
    const closing = executor.close?.();
    if (closing !== undefined) void closing.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}
