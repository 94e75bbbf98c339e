import type { Bag, HookResult, HostContext, PolicyDecision } from '../../../contracts/index.js';
import { describeError } from '../../../kernel/errors.js';

type Ports<Port extends keyof HostContext, Also extends keyof HostContext> = Pick<HostContext, Port> &
  Partial<Pick<HostContext, Also>>;

/** A host, or some of its ports; `Also`: those that may be missing. */
export type BridgeHost<Port extends keyof HostContext, Also extends keyof HostContext = never> =
  | { context(): HostContext }
  | (Ports<Port, Also> & { context?: never });

export function portsOf<Port extends keyof HostContext, Also extends keyof HostContext = never>(
  host: BridgeHost<Port, Also>,
): Ports<Port, Also> {
  return typeof host.context === 'function' ? host.context() : (host as Ports<Port, Also>);
}

/** In whose name a bridge asks, where ADK does not say. */
export interface Principal {
  /** Default `adk`. */
  agent?: string | undefined;
  sessionId?: string | undefined;
}

/** Fires a hook point; nothing where no hook listens. What fails blocks. */
export async function fire(
  hookSystem: HostContext['hookSystem'] | undefined,
  point: string,
  { agent = 'adk', sessionId = '' }: Principal,
  payload: Bag,
): Promise<HookResult | undefined> {
  if (hookSystem === undefined || !hookSystem.supportedHookPoints().includes(point)) return undefined;
  try {
    return await hookSystem.fire(point, { sessionId, principalPath: agent, mode: 'default', ...payload });
  } catch (thrown) {
    return { action: 'block', reason: `the hooks failed: ${describeError(thrown).message}` };
  }
}

/** What policy says of a call; what is not known, or fails, is a refusal. */
export async function decide(
  policyEngine: HostContext['policyEngine'],
  { agent = 'adk' }: Principal,
  call: { tool: string; args: unknown; annotations?: Bag | undefined },
): Promise<PolicyDecision> {
  try {
    return await policyEngine.evaluate({
      action: call.tool,
      args: call.args,
      principal: agent,
      principalPath: agent,
      context: { mode: 'default', executor: 'adk', ...(call.annotations && { annotations: call.annotations }) },
    });
  } catch (thrown) {
    return { outcome: 'deny', reason: `the check of ${call.tool} failed: ${describeError(thrown).message}` };
  }
}
