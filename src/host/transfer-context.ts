import type { ModelMessage } from '../contracts/index.js';
import { describeError } from '../kernel/errors.js';
import { handoverNote, projectConversation } from '../kernel/handover.js';
import type { ChildInput } from './child-input.js';
import type { ChildOutcome, CrewState } from './crew-state.js';
import { disposeExecutor, prepareExecutor } from './executors.js';
import type { RunInput } from './run-start.js';
import { notice, publish } from './session-tree.js';
import { markSideEffect } from './side-effects.js';
import type { RunRecord, Thread } from './thread.js';

/** What a member begins with. */
export interface MemberStart {
  /** What it sees of the conversation. */
  readonly messages: readonly ModelMessage[];
  readonly input: RunInput;
  readonly role: 'user' | 'developer';
}

/**
 * What the member that becomes active begins with: the conversation, as far as the contract lets it through, and the
 * message that it is to answer. The member that was active before goes on with what it had. Throws what a filter throws.
 */
export function memberStart(thread: Thread, crew: CrewState, input: ChildInput): MemberStart {
  const handed = (thread.run as RunRecord).handedOverBy;
  if (handed === undefined) return { messages: crew.view ?? crew.conversation, input, role: 'user' };
  const { composition } = thread.agent.descriptor;
  const messages = projectConversation(crew.conversation, {
    contract: composition?.context,
    filter: thread.agent.definition.behaviour?.contextFilter,
    summary: crew.summary,
  });
  // Without the conversation there is nothing to answer but the message itself.
  if (messages.length === 0 || input.isMapped) return { messages, input, role: 'user' };
  const text = handoverNote(handed.from, handed.reason);
  return { messages, input: { content: [{ type: 'text', text }], value: input.value }, role: 'developer' };
}

/** Gives a member its start. What it was shown is said in the log as `custom {kind: 'context'}`, never copied there. */
export function activate(
  thread: Thread,
  crew: CrewState,
  child: Thread,
  { messages }: MemberStart,
  how: 'anew' | 'again' = 'anew',
): void {
  const handed = (thread.run as RunRecord).handedOverBy;
  crew.activeMember = child.index;
  giveContext(child, messages);
  if (handed !== undefined) crew.view = [...messages];
  if (how === 'again' || (handed === undefined && messages.length === 0)) return;
  const { context: contract = 'full' } = thread.agent.descriptor.composition ?? {};
  const data = { contract, upTo: thread.tree.merge.seq, ...(crew.summary !== undefined && { summary: crew.summary }) };
  thread.tree.merge.record(child, { type: 'custom', kind: 'context', data, source: 'host' });
}

/** Puts what others said in front of a thread's own history. */
export function giveContext(child: Thread, messages: readonly ModelMessage[]): void {
  child.history.preload(messages);
  child.preloaded = messages.length;
}

/** What a member said joins the conversation. A composition has no history of its own: its result is what it said. */
export function noteConversation(crew: CrewState, outcome: ChildOutcome): void {
  const member = outcome.thread;
  if (member === undefined) return;
  const said = member.history.messages().slice(member.preloaded);
  const { result } = outcome.end.data;
  if (member.agent.behaviour !== 'turn' && result !== undefined) {
    const text = typeof result === 'string' ? result : JSON.stringify(result);
    said.push({ role: 'model', content: [{ type: 'text', text }] });
  }
  crew.conversation.push(...said);
  crew.view?.push(...said);
}

/** Index of the member that takes over; -1: none. What a member's executor asks for is held to the same limits as its call. */
export function handoffOf(thread: Thread, crew: CrewState, outcome: ChildOutcome): number {
  const { handoffTarget, handoffReason } = outcome.end.data;
  if (!outcome.ok || handoffTarget === undefined) return -1;
  const { transferTargets = {} } = thread.agent.descriptor.composition ?? {};
  const targets = transferTargets[outcome.name] ?? [];
  if (!targets.includes(handoffTarget)) {
    const text = `${outcome.name} may not hand over to "${handoffTarget}"; permitted: ${targets.join(', ') || 'nobody'}`;
    notice(thread, 'TRANSFER_REFUSED', 'warning', text);
    return -1;
  }
  const limit = thread.agent.plan?.maxTransfers ?? 0;
  if (crew.transfers >= limit) {
    notice(
      thread,
      'TRANSFER_LIMIT',
      'warning',
      `${outcome.name} hands over no more: ${limit} transfers have been made`,
    );
    return -1;
  }
  const reason = typeof handoffReason === 'string' ? handoffReason : undefined;
  crew.transfers++;
  if (!crew.isAnnounced) {
    crew.summary = undefined;
    publishTransfer(thread, outcome.name, handoffTarget, reason);
  }
  crew.isAnnounced = false;
  (thread.run as RunRecord).handedOverBy = { from: outcome.name, ...(reason !== undefined && { reason }) };
  return thread.agent.children.findIndex((child) => child.definition.name === handoffTarget);
}

/** Says that the conversation goes over from a member, before that member ends. */
export function announceTransfer(member: Thread, to: string, reason: string | undefined): void {
  const { parent, agent } = member;
  if (parent?.crew === undefined) return;
  parent.crew.isAnnounced = true;
  publishTransfer(parent, agent.definition.name, to, reason);
}

function publishTransfer(thread: Thread, from: string, to: string, reason: string | undefined): void {
  if (thread.past !== undefined && thread.past.transfers.length > 0) {
    (thread.crew as CrewState).summary = thread.past.transfers.shift()?.summary;
    return;
  }
  const summary = thread.crew?.summary;
  publish(thread, {
    type: 'agent_transfer',
    from,
    to,
    ...(reason !== undefined && { reason }),
    source: 'host',
    ...(summary !== undefined && { _meta: { summary } }),
  });
}

/** Makes what will drive a member, before anything goes over to it. Returns why it cannot be made; undefined when it can. */
export function prepareMember(thread: Thread, crew: CrewState, name: string): string | undefined {
  const index = thread.agent.children.findIndex((child) => child.definition.name === name);
  const compiled = thread.agent.children[index];
  if (compiled === undefined || compiled.behaviour !== 'turn') return undefined;
  let owner = thread;
  try {
    const executor = prepareExecutor(thread.tree, compiled, () => owner);
    crew.prepared?.close();
    crew.prepared = {
      index,
      give(child) {
        owner = child;
        child.executor = executor;
        if (executor.opaque) markSideEffect(child);
      },
      close: () => disposeExecutor(thread.tree, executor),
    };
    return undefined;
  } catch (thrown) {
    return describeError(thrown, 'EXECUTOR_FAILED').message;
  }
}
