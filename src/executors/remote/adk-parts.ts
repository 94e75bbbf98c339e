import type { Part } from '@a2a-js/sdk';
import type { ContentPart, ElicitationAnswer } from '../../contracts/index.js';

/** A peer that is an agent of ADK marks what its parts are: `toA2a` puts its calls and their results among them. */
const TYPE_KEY = 'adk_type';
const THOUGHT_KEY = 'adk_thought';

/** A call that a peer waits with until somebody has answered it. */
export interface PendingCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a peer did, to be shown: it is no word of its answer. */
export interface PeerStep {
  readonly kind: 'remote_call' | 'remote_result';
  readonly data: unknown;
}

/** A part as ADK means it; undefined where it is none of ADK's. */
export function adkContent({ content, metadata }: Part): ContentPart | 'step' | undefined {
  if (metadata === undefined) return undefined;
  if (metadata[THOUGHT_KEY] === true && content?.$case === 'text') return { type: 'thought', thought: content.value };
  if (content?.$case !== 'data') return undefined;
  const { language, code, output, outcome } = bagOf(content.value);
  switch (metadata[TYPE_KEY]) {
    case 'function_call':
    case 'function_response':
      return 'step';
    case 'executable_code':
      return { type: 'code', language: String(language ?? '').toLowerCase(), code: String(code ?? '') };
    case 'code_execution_result':
      return {
        type: 'code_result',
        output: String(output ?? ''),
        ...(outcome !== undefined && { exitCode: outcome === 'OUTCOME_OK' ? 0 : 1 }),
      };
    default:
      return undefined;
  }
}

export function stepsIn(parts: readonly Part[] | undefined): PeerStep[] {
  return (parts ?? []).flatMap((part): PeerStep[] => {
    if (adkContent(part) !== 'step') return [];
    const kind = part.metadata?.[TYPE_KEY] === 'function_call' ? 'remote_call' : 'remote_result';
    return [{ kind, data: part.content?.value }];
  });
}

/** The calls that a question stands for. */
export function pendingCalls(parts: readonly Part[]): PendingCall[] {
  return stepsIn(parts).flatMap(({ kind, data }) => {
    const { id, name, args } = bagOf(data);
    if (kind !== 'remote_call' || typeof id !== 'string' || typeof name !== 'string') return [];
    return [{ id, name, args: bagOf(args) }];
  });
}

/** What is asked by a call, in the words of the host. */
export function questionOf({ name, args }: PendingCall): {
  kind: 'clarification' | 'auth_required' | 'tool_confirmation';
  message: string | undefined;
} {
  switch (name) {
    case 'adk_request_confirmation': {
      const { hint } = bagOf(args.toolConfirmation);
      const { name: tool } = bagOf(args.originalFunctionCall);
      return { kind: 'tool_confirmation', message: textOr(hint, `May ${textOr(tool, 'it')} go on?`) };
    }
    case 'adk_request_credential':
      return { kind: 'auth_required', message: textOr(args.message, undefined) };
    default:
      return { kind: 'clarification', message: textOr(args.message, `${name} waits for its result`) };
  }
}

/** What answers a call. */
export function answerPart({ id, name, args }: PendingCall, { action, content = {} }: ElicitationAnswer): Part {
  const data = { id, name, response: responseTo(name, args, action === 'accept', content) };
  return {
    content: { $case: 'data', value: data },
    metadata: { [TYPE_KEY]: 'function_response' },
    filename: '',
    mediaType: '',
  };
}

function responseTo(name: string, args: PendingCall['args'], isAccepted: boolean, content: Record<string, unknown>) {
  if (name === 'adk_request_confirmation') return { confirmed: isAccepted && content.confirmed !== false };
  if (name !== 'adk_request_credential') return 'answer' in content ? { result: content.answer } : content;
  const { credential = content } = content;
  const exchanged = typeof credential === 'string' ? { authType: 'apiKey', apiKey: credential } : credential;
  return { ...bagOf(args.auth_config ?? args.authConfig), exchangedAuthCredential: exchanged };
}

const bagOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

const textOr = <T>(value: unknown, otherwise: T): string | T =>
  typeof value === 'string' && value.trim() !== '' ? value : otherwise;
