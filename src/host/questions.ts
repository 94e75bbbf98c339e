import type { Bag, ElicitationAnswer, ElicitationRequest, ElicitationResponse } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { narrowElicitationAction } from '../kernel/narrow.js';
import { validateJson } from '../kernel/schema.js';
import { noteOutsideWait } from './outside-wait.js';
import { enter, leave, notice, publish, settled } from './session-tree.js';
import type { Thread, Tree } from './thread.js';

/** One open request for a person's input. */
export interface Question {
  readonly requestId: string;
  readonly thread: Thread;
  readonly request: ElicitationRequest;
  readonly resolve: (response: ElicitationResponse) => void;
  /** Withdraws a question that a callback is answering. */
  readonly controller: AbortController | undefined;
  /** The callback's part in the tree's activity has ended. */
  settled: boolean;
}

export type QuestionDraft = Omit<ElicitationRequest, 'requestId'>;

/** Why nobody can be asked right now; undefined when somebody can. */
export function nobodyToAsk(tree: Tree): string | undefined {
  const { elicitation } = tree.host;
  if (elicitation === 'deny') return 'there is nobody to ask (elicitation is off)';
  if (elicitation === 'respond' && !tree.merge.watched) {
    return 'there is nobody to ask: nobody iterates or observes this run';
  }
  return undefined;
}

/**
 * Asks in the name of a thread. Resolves with the answer; `cancel` on expiry, abort, or when there is nobody to ask
 * (then with `_meta.reason`). Never rejects.
 */
export function ask(thread: Thread, draft: QuestionDraft): Promise<ElicitationResponse> {
  const { tree } = thread;
  const requestId = newRequestId(tree, 'q');
  const reason = nobodyToAsk(tree);
  if (reason !== undefined) {
    notice(thread, 'NOBODY_TO_ASK', 'warning', `"${draft.message}" was not asked: ${reason}`);
    return Promise.resolve({ requestId, action: 'cancel', _meta: { reason } });
  }
  if (thread.run?.stop !== undefined || thread.hasEnded) {
    return Promise.resolve({ requestId, action: 'cancel', _meta: { reason: 'the run is being stopped' } });
  }
  return new Promise((resolve) => {
    const request = { ...draft, requestId };
    const { elicitation } = tree.host;
    const isCallback = typeof elicitation === 'function';
    const question: Question = {
      requestId,
      thread,
      request,
      resolve,
      controller: isCallback ? new AbortController() : undefined,
      settled: false,
    };
    tree.questions.set(requestId, question);
    thread.questions ??= new Set();
    thread.questions.add(question);
    publish(thread, { type: 'elicitation_request', ...request });
    thread.actor.send({ type: 'question.asked', requestId, expiresAt: expiryOf(request) });
    noteOutsideWait(thread, 1);
    if (isCallback) void answerByCallback(question, elicitation);
  });
}

const expiryOf = ({ expiresAt }: ElicitationRequest): number | null => {
  const at = expiresAt === undefined ? Number.NaN : Date.parse(expiresAt);
  return Number.isNaN(at) ? null : at;
};

async function answerByCallback(
  question: Question,
  callback: Exclude<Tree['host']['elicitation'], string>,
): Promise<void> {
  const { thread, request, controller } = question;
  const { tree } = thread;
  enter(tree);
  let answer: ElicitationAnswer;
  try {
    await settled(tree);
    const asked = { ...request, agentId: thread.agentId };
    answer = await callback(thread.threadId === undefined ? asked : { ...asked, threadId: thread.threadId }, {
      signal: (controller as AbortController).signal,
    });
    if (!question.settled) await checkAnswer(question, answer);
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    if (!question.settled)
      notice(thread, 'ELICITATION_FAILED', 'warning', `the answer to "${request.message}" failed: ${text}`);
    answer = { action: 'cancel', _meta: { reason: text } };
  }
  if (!question.settled) settle(question, { ...answer, requestId: question.requestId });
  leave(tree);
}

/** Throws `INVALID_ANSWER` with the schema's errors; nothing has changed then. */
export function checkAnswer(question: Question, answer: ElicitationAnswer): undefined | Promise<void> {
  if (typeof answer !== 'object' || answer === null || typeof answer.action !== 'string') {
    throw invalidAnswer(question, ['an answer is { action: "accept" | "decline" | "cancel", content? }']);
  }
  const { requestedSchema } = question.request;
  if (answer.action !== 'accept' || requestedSchema === undefined) return undefined;
  const check = (errors: string[]) => {
    if (errors.length > 0) throw invalidAnswer(question, errors);
  };
  const errors = validateJson(requestedSchema, answer.content ?? {});
  if (errors instanceof Promise) return errors.then(check);
  check(errors);
  return undefined;
}

const invalidAnswer = (question: Question, errors: string[]) =>
  new TroupeError({
    code: 'INVALID_ANSWER',
    message: `the answer to ${question.requestId} ("${question.request.message}") does not fit: ${errors.join('; ')}; the question stays open`,
  });

/** Publishes the one response of a question and lets the asker go on once it is durable. */
export function settle(question: Question, answer: ElicitationResponse, by: 'user' | 'host' = 'user'): void {
  if (question.settled) return;
  question.settled = true;
  const { thread, requestId } = question;
  const { tree } = thread;
  tree.questions.delete(requestId);
  thread.questions?.delete(question);
  noteOutsideWait(thread, -1);
  const action = narrowElicitationAction(answer.action);
  const response: ElicitationResponse = { ...answer, requestId, action };
  publish(thread, { type: 'elicitation_response', ...withoutSecrets(question, response), source: by });
  enter(tree);
  const goOn = () => {
    thread.actor.send({ type: 'question.settled', requestId, answered: action !== 'cancel' });
    question.resolve(response);
    if (by === 'host') question.controller?.abort();
    leave(tree);
  };
  const durable = settled(tree);
  if (durable === undefined) goOn();
  else void durable.then(goOn);
}

/** A credential goes to who asked for it, never into the log. */
function withoutSecrets(question: Question, response: ElicitationResponse): ElicitationResponse {
  if (question.request.kind !== 'auth_required' || response.content === undefined) return response;
  return { ...response, content: { withheld: true } as Bag };
}

/** Closes a question without an answer. */
export function cancelQuestion(question: Question, reason: string): void {
  settle(question, { requestId: question.requestId, action: 'cancel', _meta: { reason } }, 'host');
}

/** `q1`, `c2` …: unique in the session tree, and told apart from every id that a provider has used. */
export function newRequestId(tree: Tree, kind: 'q' | 'c'): string {
  let requestId: string;
  do requestId = `${kind}${++tree.requestCount}`;
  while (tree.requestIds.has(requestId));
  tree.requestIds.add(requestId);
  return requestId;
}
