import { describeError } from '../../../kernel/errors.js';
import { type BridgeHost, decide, type Principal, portsOf } from './ports.js';
import { type BasePolicyEngine, type PolicyCheckResult, PolicyOutcome, type ToolCallPolicyContext } from './sdk.js';

export interface PolicyBridgeOptions extends Principal {
  host: BridgeHost<'policyEngine' | 'elicitation'>;
}

/**
 * The host's policy for ADK's `SecurityPlugin`. What policy wants asked is asked here, through the host, and let through
 * or refused: ADK 2.0.0 cannot take an approval of a call that its plugin held (it throws an intent mismatch). What is
 * not known, and what fails, is refused.
 */
export class PolicyBridge implements BasePolicyEngine {
  readonly #options: PolicyBridgeOptions;

  constructor(options: PolicyBridgeOptions) {
    this.#options = options;
  }

  async evaluate({ tool, toolArgs }: ToolCallPolicyContext): Promise<PolicyCheckResult> {
    const { policyEngine, elicitation } = portsOf(this.#options.host);
    // A copy: what is changed in it would change the call in ADK's history.
    const args = structuredClone(toolArgs);
    const decision = await decide(policyEngine, this.#options, { tool: tool.name, args });
    if (decision.outcome === 'allow') return { outcome: PolicyOutcome.ALLOW };
    if (decision.outcome !== 'ask_user') {
      const { reason } = decision as { reason?: unknown };
      return denied(typeof reason === 'string' ? reason : `policy said "${decision.outcome}"`);
    }
    const { hint } = decision as { hint?: unknown };
    try {
      const { action } = await elicitation.ask({
        kind: 'tool_confirmation',
        message: `May ${tool.name} run?${typeof hint === 'string' ? ` ${hint}` : ''}`,
        context: { tool: tool.name, args },
      });
      return action === 'accept'
        ? { outcome: PolicyOutcome.ALLOW }
        : denied(`${tool.name} was not approved (${action})`);
    } catch (thrown) {
      return denied(`${tool.name} needs approval: ${describeError(thrown).message}`);
    }
  }
}

const denied = (reason: string): PolicyCheckResult => ({ outcome: PolicyOutcome.DENY, reason });
