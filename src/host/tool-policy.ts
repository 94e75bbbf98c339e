import type {
  PolicyActor,
  PolicyDecision,
  PolicyRequest,
  PolicyScopeTool,
  ToolAnnotations,
  ToolDefinition,
  ToolDescriptor,
} from '../contracts/index.js';
import { narrowPolicyDecision } from '../kernel/narrow.js';
import type { PolicyRule } from '../kernel/policy-rules.js';
import type { AgentTools, ToolEntry } from './agent-tools.js';
import { withPlanExit } from './plan-mode.js';
import { declaredTools, PROVIDER_PREFIX, providerTool } from './provider-tools.js';
import type { Thread } from './thread.js';
import { copyArgs } from './tool-args.js';
import type { Call } from './tool-call.js';

/** What policy says of a call: of its arguments as they are, and in the spelling of its tool; the stricter. */
export function evaluate(call: Call): PolicyDecision | Promise<PolicyDecision> {
  const request = requestOf(call);
  const plainArgs = call.entry?.tool?.plainArgs;
  return plainArgs === undefined ? decide(call, request) : decideBoth(call, request, plainArgs);
}

function decide(call: Call, request: PolicyRequest): PolicyDecision | Promise<PolicyDecision> {
  const said = call.thread.tree.host.policy.evaluate(request);
  return said instanceof Promise ? said.then(narrowPolicyDecision) : narrowPolicyDecision(said);
}

async function decideBoth(
  call: Call,
  request: PolicyRequest,
  plainArgs: NonNullable<ToolDefinition['plainArgs']>,
): Promise<PolicyDecision> {
  const asSaid = await decide(call, request);
  if (asSaid.outcome === 'deny') return asSaid;
  const meant = await inPlainArgs(call, request, plainArgs);
  if (meant === undefined) return asSaid;
  const asMeant = await decide(call, meant);
  const isStricter = asMeant.outcome === 'deny' || (asMeant.outcome === 'ask_user' && asSaid.outcome === 'allow');
  return isStricter ? asMeant : asSaid;
}

async function inPlainArgs(
  call: Call,
  request: PolicyRequest,
  plainArgs: NonNullable<ToolDefinition['plainArgs']>,
): Promise<PolicyRequest | undefined> {
  const args = await plainArgs(copyArgs(call.args) as never);
  return args === undefined ? undefined : { ...request, args };
}

/** Rules that would allow a call from now on, in each spelling that it is judged by. Undefined: there can be none. */
export function offerRules(call: Call): undefined | Promise<readonly PolicyRule[] | undefined> {
  const saved = call.thread.tree.host.savedRules;
  if (saved === undefined) return undefined;
  const request = requestOf(call);
  const asSaid = saved.offer(request);
  const plainArgs = call.entry?.tool?.plainArgs;
  if (plainArgs === undefined) return asSaid;
  const asMeant = inPlainArgs(call, request, plainArgs).then((meant) => meant && saved.offer(meant));
  return Promise.all([asSaid, asMeant]).then((both) => {
    const rules = both.flatMap((some) => some ?? []);
    return rules.length > 0 ? rules : undefined;
  });
}

/** A call as policy sees it, from what the registry and the tree know of it; nothing that an agent said counts. */
export function requestOf(call: Call): PolicyRequest {
  const { thread, entry, name, args } = call;
  return requestFor(thread, {
    action: name,
    args,
    annotations: entry?.descriptor.annotations,
    mcp: entry?.tool?.mcp,
    structural: entry !== undefined && isStructural(entry),
  });
}

function requestFor(
  thread: Thread,
  {
    action,
    args,
    annotations,
    mcp,
    structural,
  }: {
    action: string;
    args: unknown;
    annotations: ToolAnnotations | undefined;
    mcp?: ToolDefinition['mcp'];
    structural: boolean;
  },
): PolicyRequest {
  const { settings } = thread.tree;
  const leaders = actingFor(thread);
  const { origin } = thread.agent.driver;
  return {
    action,
    args,
    principal: thread.agentId,
    principalPath: thread.principalPath,
    ...(origin !== undefined && { origin }),
    ...(leaders !== undefined && { actingFor: leaders }),
    context: {
      mode: settings.permissionMode,
      executor: thread.agent.driver.descriptor.executor,
      ...(annotations !== undefined && { annotations }),
      ...(mcp !== undefined && { mcpName: mcp.server, mcpTool: mcp.tool }),
      structural,
    },
  };
}

/** What the team's own structure permits: its children, its targets, the host's tools for ending a task. */
const isStructural = (entry: ToolEntry) => entry.builtin !== undefined || entry.childIndex !== undefined;

/** The leaders above a thread, nearest first: they act through it. Other compositions act for nobody. */
function actingFor(thread: Thread): PolicyActor[] | undefined {
  let leaders: PolicyActor[] | undefined;
  for (let at = thread.parent; at !== undefined; at = at.parent) {
    if (at.agent.definition.leader === undefined) continue;
    leaders ??= [];
    const { origin } = at.agent.driver;
    leaders.push({
      principal: at.agentId,
      principalPath: at.principalPath,
      ...(origin !== undefined && { origin }),
    });
  }
  return leaders;
}

const NONE: readonly string[] = [];
const scopes = new WeakMap<AgentTools, readonly PolicyScopeTool[]>();

/** One list per agent and place: the policy keeps what it worked out by it. */
function scopeOf(tools: AgentTools): readonly PolicyScopeTool[] {
  let scope = scopes.get(tools);
  if (scope === undefined) {
    scope = [...tools.byModelName.values()].map((entry) => ({
      name: entry.registered,
      structural: isStructural(entry),
      ...(entry.descriptor.annotations !== undefined && { annotations: entry.descriptor.annotations }),
      ...(entry.tool?.mcp !== undefined && { mcpName: entry.tool.mcp.server, mcpTool: entry.tool.mcp.tool }),
    }));
    scopes.set(tools, scope);
  }
  return scope;
}

/** Registered names of tools that can never run for this thread as things stand. Asked every turn. */
export function hiddenTools(thread: Thread): readonly string[] {
  const { policy } = thread.tree.host;
  if (policy.getExcluded === undefined) return NONE;
  const leaders = actingFor(thread);
  return policy.getExcluded({
    mode: thread.tree.settings.permissionMode,
    principal: thread.agentId,
    principalPath: thread.principalPath,
    ...(thread.agent.driver.origin !== undefined && { origin: thread.agent.driver.origin }),
    executor: thread.agent.driver.descriptor.executor,
    tools: scopeOf(thread.agent.tools),
    ...(leaders !== undefined && { actingFor: leaders }),
  });
}

/** What the model is shown. */
export function visibleTools(thread: Thread): readonly ToolDescriptor[] {
  const shown = withPlanExit(thread, shownTools(thread));
  const { providers } = thread.agent.tools;
  return providers.length === 0 ? shown : [...shown, ...allowedOf(thread, providers)];
}

/** Whether the model may be told of a tool that its provider runs, where a backend brings it by itself. */
export const allowsProviderTool = (thread: Thread, name: string): boolean =>
  name.startsWith(PROVIDER_PREFIX) && allowedOf(thread, [providerTool(name)]).length > 0;

function allowedOf(thread: Thread, providers: readonly ToolDescriptor[]): readonly ToolDescriptor[] {
  return declaredTools(thread, providers, ({ name, annotations }) =>
    requestFor(thread, { action: name, args: {}, annotations, structural: false }),
  );
}

function shownTools(thread: Thread): readonly ToolDescriptor[] {
  const { descriptors, byModelName } = thread.agent.tools;
  if (descriptors.length === 0) return descriptors;
  const hidden = hiddenTools(thread);
  if (hidden.length === 0) return descriptors;
  const names = new Set(hidden);
  return descriptors.filter((one) => !names.has(byModelName.get(one.name)?.registered ?? one.name));
}
