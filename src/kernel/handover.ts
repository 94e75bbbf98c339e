import type { ModelMessage, TransferContext } from '../contracts/index.js';
import { TroupeError } from './errors.js';

/** What of a conversation goes over to the member that takes it. */
export interface HandoverContract {
  /** Default `full`. */
  readonly contract?: TransferContext | undefined;
  /** Stands in for the contract. Must not change what it is given. */
  readonly filter?: ((messages: readonly ModelMessage[]) => readonly ModelMessage[]) | undefined;
  /** For the contract `summary`; without one everything goes over. */
  readonly summary?: string | undefined;
}

/**
 * The conversation as the next member sees it: always well formed, `messages` as they were. Throws what the filter
 * throws, and `INVALID_INPUT` when it gives no messages.
 */
export function projectConversation(messages: readonly ModelMessage[], options: HandoverContract): ModelMessage[] {
  const { contract = 'full', filter, summary } = options;
  if (filter !== undefined) return wellFormed(assertMessages(filter(messages)));
  if (contract === 'none') return [];
  if (contract === 'summary' && summary !== undefined) {
    if (messages.length === 0) return [];
    return [{ role: 'user', content: [{ type: 'text', text: `Summary of the conversation so far:\n${summary}` }] }];
  }
  if (typeof contract === 'object') return wellFormed(messages.slice(-contract.last));
  return wellFormed(messages);
}

/** What tells a member that the conversation is its own now. */
export const handoverNote = (from: string, reason: string | undefined): string =>
  `${from} handed the conversation over to you${reason === undefined ? '' : `: ${reason}`}.`;

/** Calls without their responses, and responses without their calls, are left out, and messages that have nothing left. */
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

function assertMessages(given: unknown): readonly ModelMessage[] {
  const isMessage = (one: unknown) =>
    typeof one === 'object' && one !== null && Array.isArray((one as { content?: unknown }).content);
  if (Array.isArray(given) && given.every(isMessage)) return given as ModelMessage[];
  throw new TroupeError({
    code: 'INVALID_INPUT',
    message: 'the filter must return a list of messages, each with its content',
  });
}
