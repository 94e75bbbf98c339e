import type { ToolResultData } from '../contracts/index.js';
import { toParts } from '../kernel/content.js';
import { errorResult } from '../kernel/tool-result.js';
import type { ChildOutcome, CrewState } from './crew-state.js';
import type { ToolOutcome } from './thread.js';
import type { Call } from './tool-call.js';

/** Runs a child for a call of its leader; the call's result is the child's final result. */
export function delegate(call: Call, index: number): Promise<ToolOutcome> {
  const { thread, requestId } = call;
  const crew = thread.crew as CrewState;
  call.isDelegated = true;
  return new Promise((resolve) => {
    crew.delegations.set(requestId, (outcome) => {
      call.isDelegated = false;
      if (outcome.updates.length > 0) call.state = { updates: () => outcome.updates };
      resolve(toOutcome(outcome, thread.agent.plan?.inLoop === true));
    });
    delegationOf(call).send({ type: 'delegate', index, requestId, input: call.args });
  });
}

/** Aborts the child of a call; the call is answered once the child has settled. */
export function cancelDelegation(call: Call): void {
  delegationOf(call).send({ type: 'delegation.cancel', requestId: call.requestId });
}

const delegationOf = (call: Call) =>
  call.thread.actor.getSnapshot().children.delegation as { send(event: object): void };

function toOutcome({ name, ok, end }: ChildOutcome, inLoop: boolean): ToolOutcome {
  const { result: value, message, reason, escalateReason } = end.data;
  const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  if (!ok) {
    const detail = message ?? reason;
    const said = [`${name} ended with ${end.reason}${detail === undefined ? '' : `: ${detail}`}`];
    if (text !== '') said.push(`its result so far: ${text}`);
    return { result: errorResult(end.reason === 'aborted' ? 'cancelled' : 'execution_failed', said.join('\n')) };
  }
  const result: ToolResultData = { llmContent: toParts(text) };
  if (value !== undefined && typeof value !== 'string') result.data = value;
  if (!inLoop || escalateReason === undefined) return { result };
  return { result, ending: { escalate: { reason: escalateReason } } };
}
