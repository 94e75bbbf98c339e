import type { PolicyScope, PolicyScopeTool } from '../contracts/index.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { judge } from './decide.js';
import type { RankedRule } from './ranked-rules.js';

const NONE: readonly string[] = Object.freeze([]);

/**
 * The names that the rules deny whatever the arguments. Worked out once per list of tools and scope; without a rule
 * that denies or wants a sandbox, and outside plan mode, there is nothing to work out.
 */
export function createExclusion(rules: readonly RankedRule[]): (scope: PolicyScope) => readonly string[] {
  const spelledOut = rules
    .filter(({ rule }) => rule.decision === 'deny')
    .flatMap(({ names }) => names.filter((name) => !name.endsWith('*')))
    .map((name): PolicyScopeTool => ({ name }));
  const denies = rules.some(({ rule }) => rule.decision === 'deny' || rule.sandbox === true);
  const known = new WeakMap<readonly PolicyScopeTool[], Map<string, readonly string[]>>();
  return (scope) => {
    const { tools = spelledOut, mode = 'default', principal = '', principalPath = '', origin = '', executor } = scope;
    if (!denies && narrowPermissionMode(mode) !== 'plan') return NONE;
    let byScope = known.get(tools);
    if (byScope === undefined) {
      byScope = new Map();
      known.set(tools, byScope);
    }
    const key = `${mode}|${executor ?? ''}|${principal}|${principalPath}|${origin}`;
    let excluded = byScope.get(key);
    if (excluded === undefined) {
      excluded = tools
        .filter((tool) => isDenied(rules, { ...scope, mode, principal, principalPath }, tool))
        .map(({ name }) => name);
      byScope.set(key, excluded);
    }
    return excluded;
  };
}

function isDenied(rules: readonly RankedRule[], scope: PolicyScope, tool: PolicyScopeTool): boolean {
  const { mode, principal, principalPath, origin, executor, actingFor } = scope;
  const { name, annotations, structural, mcpName, mcpTool } = tool;
  const request = {
    action: name,
    ...(principal !== undefined && { principal }),
    ...(principalPath !== undefined && { principalPath }),
    ...(origin !== undefined && { origin }),
    ...(actingFor !== undefined && { actingFor }),
    context: {
      ...(mode !== undefined && { mode }),
      ...(executor !== undefined && { executor }),
      ...(annotations !== undefined && { annotations }),
      ...(structural !== undefined && { structural }),
      ...(mcpName !== undefined && { mcpName }),
      ...(mcpTool !== undefined && { mcpTool }),
    },
  };
  return judge(rules, request, { kind: 'scope' })?.outcome === 'deny';
}
