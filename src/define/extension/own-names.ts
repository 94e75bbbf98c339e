import type { AgentDefinition, ToolDefinition } from '../../contracts/index.js';
import { toolNameFault } from '../../kernel/agent-check.js';
import { TroupeError } from '../../kernel/errors.js';
import type { PolicyRuleSet } from '../../kernel/policy-rules.js';
import { serverPrefix } from '../../tools/mcp/tool-names.js';

/** The name that what an extension calls `name` has here: nothing of it can pass for something of the user's. */
export const ownName = (origin: string, name: string): string => `${origin}.${name}`;

/** Names of tools of its own servers, as an extension writes them → as they are registered. */
export function renamerOf(origin: string, servers: readonly string[]): (tool: string) => string {
  // Of two servers one of whose names begins with the other's, the longer one is meant.
  const known = [...servers]
    .sort((one, other) => other.length - one.length)
    .map((server) => ({ from: serverPrefix(server), to: serverPrefix(ownName(origin, server)) }));
  return (tool) => {
    const found = known.find(({ from }) => tool.startsWith(from));
    return found === undefined ? tool : found.to + tool.slice(found.from.length);
  };
}

/** An agent, and all below it, as brought by an extension. */
export function attributed(
  definition: AgentDefinition,
  origin: string,
  rename: (tool: string) => string,
): AgentDefinition {
  const children = definition.children?.map((child) => attributed(child, origin, rename));
  const leader = definition.leader && attributed(definition.leader, origin, rename);
  const { descriptor } = definition;
  const { requiredTools, subAgents } = descriptor;
  return Object.freeze({
    ...definition,
    origin,
    tools: definition.tools.map((tool) => (typeof tool === 'string' ? rename(tool) : tool)),
    ...(children !== undefined && { children }),
    ...(leader !== undefined && { leader }),
    descriptor: Object.freeze({
      ...descriptor,
      metadata: { ...descriptor.metadata, extension: origin },
      ...(requiredTools !== undefined && { requiredTools: requiredTools.map(rename) }),
      ...(subAgents !== undefined &&
        children !== undefined && { subAgents: children.map((child) => child.descriptor) }),
    }),
  });
}

/** Rules of an extension about its own servers. */
export function withOwnServers(
  set: PolicyRuleSet,
  { origin, servers, rename }: { origin: string; servers: readonly string[]; rename: (tool: string) => string },
): PolicyRuleSet {
  const rules = set.rules.map((rule) => ({
    ...rule,
    toolName: typeof rule.toolName === 'string' ? rename(rule.toolName) : rule.toolName.map(rename),
    ...(rule.mcpName !== undefined && servers.includes(rule.mcpName) && { mcpName: ownName(origin, rule.mcpName) }),
  }));
  return { ...set, rules };
}

/** A tool of an extension under the name that rules know it by. Throws `EXTENSION_INVALID` where that is none. */
export function ownTool(tool: ToolDefinition, origin: string): ToolDefinition {
  const name = ownName(origin, tool.name);
  const fault = toolNameFault(name);
  if (fault !== undefined) throw new TroupeError({ code: 'EXTENSION_INVALID', message: `${origin}: ${fault}` });
  return { ...tool, name, descriptor: { ...tool.descriptor, name } };
}
