import type { PolicyDecision, PolicyRequest, ToolDescriptor } from '../contracts/index.js';
import { narrowPolicyDecision } from '../kernel/narrow.js';
import { notice } from './session-tree.js';
import type { Thread, Tree } from './thread.js';

/** How names of tools begin that the provider of a model runs itself. */
export const PROVIDER_PREFIX = 'provider:';

/** A tool that the provider runs, as the model is told of it: by its name, and nothing else is known of it. */
export const providerTool = (name: string): ToolDescriptor => ({
  name,
  description: 'Run by the provider of the model.',
  parametersSchema: { type: 'object' },
  annotations: { category: 'other', providerExecuted: true },
});

/**
 * Which of these provider tools are declared to an agent's model for this turn. A call of them is never seen, so policy
 * decides when they are declared: only what it allows is. What it would ask about is left out, as is what it cannot say
 * at once; a notice says so, once for each tool and session.
 */
export function declaredTools(
  thread: Thread,
  providers: readonly ToolDescriptor[],
  requestFor: (descriptor: ToolDescriptor) => PolicyRequest,
): readonly ToolDescriptor[] {
  return providers.filter((descriptor) => {
    const fault = refusal(thread, requestFor(descriptor));
    if (fault !== undefined) tellOnce(thread, descriptor.name, fault);
    return fault === undefined;
  });
}

/** Why it is not declared. */
function refusal({ tree }: Thread, request: PolicyRequest): string | undefined {
  const said: unknown = tree.host.policy.evaluate(request);
  if (said instanceof Promise) {
    said.catch(() => {});
    return 'policy has to say at once whether a tool of the provider is allowed, and an evaluator took its time';
  }
  const decision: PolicyDecision = narrowPolicyDecision(said);
  if (decision.outcome === 'allow') return undefined;
  if (decision.outcome === 'deny') return decision.reason;
  return 'policy would ask about it, and what the provider runs cannot be asked about: a rule has to allow it';
}

const told = new WeakMap<Tree, Set<string>>();

function tellOnce(thread: Thread, name: string, reason: string): void {
  const key = `${thread.principalPath} ${name} ${reason}`;
  const names = told.get(thread.tree) ?? new Set();
  if (names.has(key)) return;
  told.set(thread.tree, names.add(key));
  notice(thread, 'PROVIDER_TOOL_LEFT_OUT', 'warning', `${name} is not offered to the model: ${reason}`);
}
