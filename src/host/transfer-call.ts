import { normalizeAgentName } from '../kernel/definition.js';
import { errorResult } from '../kernel/tool-result.js';
import type { CrewState } from './crew-state.js';
import { lastTextOf } from './last-text.js';
import { summarise } from './summarise.js';
import type { Thread, ToolOutcome } from './thread.js';
import type { Call } from './tool-call.js';
import { prepareMember } from './transfer-context.js';

/**
 * `transfer_to_agent`: hands the conversation over, where that is permitted and its target can be made. Otherwise the
 * caller is told why, and goes on.
 */
export async function callTransfer(call: Call, said: string, reason: string | undefined): Promise<ToolOutcome> {
  const { thread, run } = call;
  const { parent } = thread;
  const { name } = thread.agent.definition;
  const targets = parent?.agent.descriptor.composition?.transferTargets?.[name] ?? [];
  const target = matchTarget(said, targets);
  if (parent?.crew === undefined || target === undefined) {
    const text = `cannot hand over to "${said}"; permitted: ${targets.join(', ') || 'nobody'}`;
    return { result: errorResult('invalid_tool_params', text) };
  }
  if (run.ending !== undefined) {
    const { handoff } = run.ending;
    const what = handoff === undefined ? 'the task was already completed' : `already handed over to ${handoff.target}`;
    const text = `${what} in this turn`;
    return { result: errorResult('execution_failed', text) };
  }
  const limit = parent.agent.plan?.maxTransfers ?? 0;
  if (parent.crew.transfers >= limit) {
    const text = `TRANSFER_LIMIT: ${limit} transfers have been made; answer yourself`;
    return { result: errorResult('TRANSFER_LIMIT', text) };
  }
  const fault = prepareMember(parent, parent.crew, target);
  if (fault !== undefined) {
    return { result: errorResult('execution_failed', `${target} cannot be started: ${fault}; you go on`) };
  }
  const ending = { handoff: reason === undefined ? { target } : { target, reason } };
  // Taken at once: a second transfer in the same turn must see it.
  run.ending = ending;
  parent.crew.summary = undefined;
  if (parent.agent.descriptor.composition?.context === 'summary') {
    parent.crew.summary = await summarise(thread, soFar(call, parent.crew, thread), () => signalOf(call));
    // Cancelled by itself meanwhile: nothing was handed over.
    if (call.stage === 'done' && run.ending === ending) run.ending = undefined;
  }
  return { result: { llmContent: [{ type: 'text', text: `The conversation goes on with ${target}.` }] }, ending };
}

/** The conversation with what the member has said in it, up to the call. */
function soFar(call: Call, crew: CrewState, { history, preloaded, run }: Thread) {
  const own = history.messages().slice(preloaded);
  const isOfThisTurn = run !== undefined && run.lastMessageId === call.messageId && lastTextOf(run) !== '';
  return [
    ...crew.conversation,
    ...own,
    ...(isOfThisTurn ? [{ role: 'model' as const, content: [{ type: 'text' as const, text: lastTextOf(run) }] }] : []),
  ];
}

function signalOf(call: Call): AbortSignal {
  call.controller ??= new AbortController();
  if (call.stage === 'done') call.controller.abort();
  return call.controller.signal;
}

/** Models add quotes, spaces and capitals: one target that is meant is taken, none or several are not. */
function matchTarget(said: string, targets: readonly string[]): string | undefined {
  if (targets.includes(said)) return said;
  const meant = targets.filter((target) => normalizeAgentName(target) === normalizeAgentName(said));
  return meant.length === 1 ? meant[0] : undefined;
}
