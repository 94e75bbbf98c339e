import type { ModelMessage } from '../contracts/index.js';
import type { RunInput } from './run-start.js';
import { publish } from './session-tree.js';
import type { RunRecord, Thread } from './thread.js';

interface NextContext {
  readonly messages: readonly ModelMessage[];
  readonly input: RunInput;
  readonly role: 'user' | 'developer';
}

/**
 * What a member sees when it becomes active: the conversation so far, as far as the contract lets it through, then
 * the message that it is to answer. Records what was shown as `custom {kind: 'context'}`; nothing is copied in the log.
 */
export function nextContext(thread: Thread, child: Thread, input: RunInput): NextContext {
  const crew = thread.crew as Exclude<Thread['crew'], undefined>;
  const run = thread.run as RunRecord;
  const { context: contract = 'full' } = thread.agent.descriptor.composition ?? {};
  const messages = project(thread, crew.conversation);
  thread.tree.merge.record(child, {
    type: 'custom',
    kind: 'context',
    data: { contract, upTo: messages.length },
    source: 'host',
  });
  crew.activeMember = child.index;
  if (run.handedOverBy === undefined) return { messages, input, role: 'user' };
  const { from, reason } = run.handedOverBy;
  // Without the conversation there is nothing to answer but the message itself.
  if (messages.length === 0) return { messages, input, role: 'user' };
  const text = `${from} handed the conversation over to you${reason === undefined ? '' : `: ${reason}`}.`;
  return { messages, input: { content: [{ type: 'text', text }], value: input.value }, role: 'developer' };
}

function project(thread: Thread, conversation: readonly ModelMessage[]): readonly ModelMessage[] {
  const { context: contract = 'full' } = thread.agent.descriptor.composition ?? {};
  const filter = thread.agent.definition.behaviour?.contextFilter;
  if (filter !== undefined) return wellFormed(filter(conversation));
  if (contract === 'none') return [];
  if (typeof contract === 'object') return wellFormed(conversation.slice(-contract.last));
  return conversation;
}

/** Calls without their responses, and responses without their calls, are left out. */
export function wellFormed(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.flatMap((message, at) => {
    const answered = idsOf(messages[at + 1], 'function_response');
    const called = idsOf(messages[at - 1], 'function_call');
    const content = message.content.filter((part) => {
      if (part.type === 'function_call') return answered.has(part.id);
      if (part.type === 'function_response') return called.has(part.id);
      return true;
    });
    if (content.length === 0) return [];
    return [content.length === message.content.length ? message : { ...message, content }];
  });
}

function idsOf(message: ModelMessage | undefined, type: 'function_call' | 'function_response'): Set<string> {
  const ids = new Set<string>();
  for (const part of message?.content ?? []) if (part.type === type) ids.add(part.id);
  return ids;
}

/** Says that the conversation goes over to a member, before that member begins. */
export function publishTransfer(thread: Thread, to: string): void {
  const handed = thread.run?.handedOverBy;
  if (handed === undefined) return;
  const { from, reason } = handed;
  publish(thread, { type: 'agent_transfer', from, to, ...(reason !== undefined && { reason }), source: 'host' });
}
