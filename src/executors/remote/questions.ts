import type { Part } from '@a2a-js/sdk';
import type { AgentEventDraft, SessionStreamData } from '../../contracts/index.js';
import { cutText } from '../../kernel/text.js';
import { answerPart, type PendingCall, questionOf } from './adk-parts.js';
import { dataPart, toWire } from './parts.js';
import type { Need, TaskReader } from './task-reader.js';

/** A text, or whatever else the peer's `details` ask for. */
const ANSWER = { type: 'object', properties: { answer: { type: 'string', title: 'Answer' } } } as const;

const CREDENTIAL = {
  type: 'object',
  properties: { credential: { type: 'string', title: 'Credential' } },
  required: ['credential'],
} as const;

export type AnswerData = Extract<SessionStreamData, { kind: 'elicitation_response' }>;

const LONGEST_ID = 200;
const LONGEST_QUESTION = 20_000;

/** What the host asks: one question; where it stands for calls of the peer, one for each. */
export function questionsOf(need: Need, remote: string, taskId: string): AgentEventDraft<'elicitation_request'>[] {
  const ask = (requestId: string, kind: string, message: string, details: unknown) => ({
    type: 'elicitation_request' as const,
    requestId,
    kind,
    message: cutText(message, LONGEST_QUESTION),
    ...(kind !== 'tool_confirmation' && { requestedSchema: kind === 'auth_required' ? CREDENTIAL : ANSWER }),
    context: { remote, taskId: cutText(taskId, LONGEST_ID), ...(details !== undefined && { details }) },
  });
  if (need.calls.length === 0) return [ask(taskId, need.kind, need.message, need.details)];
  return need.calls.map((call) => {
    const { kind, message = need.message } = questionOf(call);
    return ask(idOf(taskId, call), kind, message, call);
  });
}

const MARK = '#call=';
const idOf = (taskId: string, { id }: PendingCall): string => `${taskId}${MARK}${id}`;
/** Which task a question is about. */
export const taskIdIn = (requestId: string): string => requestId.split(MARK, 1)[0] ?? '';

/** What ends the task. A call that may not go on is told so. */
export function refusalIn({ need }: TaskReader, answers: readonly AnswerData[]): string | undefined {
  const isRefusal = ({ requestId, response: { action } }: AnswerData) => {
    const call = need?.calls.find(({ id }) => requestId.endsWith(`${MARK}${id}`));
    if (action === 'accept') return false;
    return action !== 'decline' || call === undefined || questionOf(call).kind !== 'tool_confirmation';
  };
  return answers.find(isRefusal)?.response.action;
}

/** What answers a question, as the peer takes it. */
export function answerParts({ need }: TaskReader, answers: readonly AnswerData[]): Part[] {
  const calls = need?.calls ?? [];
  if (calls.length > 0) {
    return calls.flatMap((call) => {
      const given = answers.find(({ requestId }) => requestId.endsWith(`${MARK}${call.id}`));
      return given === undefined ? [] : [answerPart(call, given.response)];
    });
  }
  const { content = {} } = answers[0]?.response ?? {};
  const { answer, credential, ...others } = content;
  const given = answer ?? credential;
  if (typeof given === 'string' && Object.keys(others).length === 0) return toWire([{ type: 'text', text: given }]);
  return [dataPart({ action: 'accept', content })];
}
