import type { PolicyRule, PolicyRuleSet, PolicyStanding } from '../kernel/policy-rules.js';
import { toolsOf } from './tool-names.js';

/** What flags and settings of a host say of tools and MCP servers, by name. */
export interface DynamicPolicy {
  /** Servers none of whose tools may run. */
  excludedServers?: readonly string[];
  /** Tools that may not run. */
  excludedTools?: readonly string[];
  /** Tools that may run; `run_shell_command(git status)` for commands that begin so. */
  allowedTools?: readonly string[];
  /** Servers whose tools may run, because they were set up as trusted. */
  trustedServers?: readonly string[];
  /** Servers whose tools may run, because a flag names them. */
  allowedServers?: readonly string[];
}

/** Rule sets with a standing of their own: above most rules of a user, below every rule of an admin. */
export function dynamicRules(policy: DynamicPolicy): PolicyRuleSet[] {
  const {
    excludedServers = [],
    excludedTools = [],
    allowedTools = [],
    trustedServers = [],
    allowedServers = [],
  } = policy;
  const sets: [PolicyStanding, PolicyRule[]][] = [
    ['excluded_server', excludedServers.map((server) => serverRule(server, 'deny'))],
    ['excluded_tool', excludedTools.map((name) => toolRule(name, 'deny'))],
    ['allowed_tool', allowedTools.map((name) => toolRule(name, 'allow'))],
    ['trusted_server', trustedServers.map((server) => serverRule(server, 'allow'))],
    ['allowed_server', allowedServers.map((server) => serverRule(server, 'allow'))],
  ];
  return sets.flatMap(([standing, rules]) => (rules.length === 0 ? [] : [{ standing, rules }]));
}

const serverRule = (server: string, decision: PolicyRule['decision']): PolicyRule => ({
  toolName: [`${toolsOf(server)}*`, 'mcp_*'],
  mcpName: server,
  decision,
});

function toolRule(written: string, decision: PolicyRule['decision']): PolicyRule {
  const [, toolName, commandPrefix] = /^([^(]+)\((.+)\)$/.exec(written) ?? [];
  return toolName === undefined || commandPrefix === undefined
    ? { toolName: written, decision }
    : { toolName, commandPrefix, decision };
}
