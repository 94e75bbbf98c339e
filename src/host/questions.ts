import type {
  AgentEvent,
  Bag,
  ElicitationAnswer,
  ElicitationRequest,
  ElicitationResponse,
  Json,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { narrowElicitationAction } from '../kernel/narrow.js';
import { schemaCompileFault, validateJson } from '../kernel/schema.js';
import { shortHash } from '../kernel/text.js';
import { type Activity, beginWait, endWait } from './activity.js';
import { dataFault } from './given-data.js';
import { noteOutsideWait } from './outside-wait.js';
import type { Restored } from './recovery/recovery.js';
import { enter, leave, notice, publish, settled } from './session-tree.js';
import type { Thread, Tree } from './thread.js';

/** One open request for a person's input. */
export interface Question {
  readonly requestId: string;
  readonly thread: Thread;
  readonly request: ElicitationRequest;
  readonly resolve: (response: ElicitationResponse) => void;
  /** What is wrong with an answer that its schema has no words for. */
  faults: ((answer: ElicitationAnswer) => readonly string[]) | undefined;
  /** Withdraws a question that a callback is answering. */
  readonly controller: AbortController | undefined;
  /** The callback's part in the tree's activity has ended. */
  settled: boolean;
}

export type QuestionDraft = Omit<ElicitationRequest, 'requestId'>;

export interface AskOptions {
  /** What stands still until the answer comes. Absent: it goes on meanwhile. */
  activity?: Activity;
  /** Who asked it before a process ended, when that asks again. Default: the activity, or else the thread. */
  asker?: object;
  faults?: Question['faults'];
  /** Withdraws the question. */
  signal?: AbortSignal | undefined;
  /** At once when there is a question, before anybody can answer it. */
  onAsked?: (question: Question) => void;
  /** At once when it is settled, before its session goes on. */
  onAnswered?: (response: ElicitationResponse) => void;
}

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
export function ask(thread: Thread, draft: QuestionDraft, options: AskOptions = {}): Promise<ElicitationResponse> {
  const { tree, run } = thread;
  // An answer is judged where it is given: what judges it is there before the question is.
  const fault = draft.requestedSchema === undefined ? undefined : schemaCompileFault(draft.requestedSchema);
  if (!(fault instanceof Promise)) return askNow(thread, run, answerable(thread, draft, fault), options);
  enter(tree);
  return fault.then((said) => {
    const asked = askNow(thread, run, answerable(thread, draft, said), options);
    leave(tree);
    return asked;
  });
}

/** A schema that no answer could fit is left out, visibly. */
function answerable(thread: Thread, draft: QuestionDraft, fault: string | undefined): QuestionDraft {
  if (fault === undefined) return draft;
  notice(thread, 'SCHEMA_UNUSABLE', 'warning', `answers to "${draft.message}" are not checked: ${fault}`);
  const { requestedSchema, ...open } = draft;
  return open;
}

function askNow(
  thread: Thread,
  run: Thread['run'],
  draft: QuestionDraft,
  { activity, asker = activity ?? thread, signal, faults, onAsked, onAnswered }: AskOptions,
): Promise<ElicitationResponse> {
  const { tree } = thread;
  const requestId = newQuestionId(tree);
  if (run === undefined || thread.run !== run || run.stop !== undefined) {
    const reason = run?.stop === undefined ? 'the run has ended' : 'the run is being stopped';
    return Promise.resolve({ requestId, action: 'cancel', _meta: { reason } });
  }
  if (signal?.aborted || activity?.isActive === false) {
    return Promise.resolve({ requestId, action: 'cancel', _meta: { reason: 'what asked has ended' } });
  }
  const restored = tree.recovery?.claim(asker, draft);
  if (restored !== undefined) return takeUp(restored, { activity, signal, faults, onAsked, onAnswered });
  const reason = isSafeguard(draft) && tree.host.elicitation !== 'deny' ? undefined : nobodyToAsk(tree);
  if (reason !== undefined) {
    notice(thread, 'NOBODY_TO_ASK', 'warning', `"${draft.message}" was not asked: ${reason}`);
    return Promise.resolve({ requestId, action: 'cancel', _meta: { reason } });
  }
  return new Promise((resolve) => {
    const request = { ...draft, requestId };
    const withdraw = () => cancelQuestion(question, 'it was withdrawn');
    const settleFor = (response: ElicitationResponse) => {
      signal?.removeEventListener('abort', withdraw);
      if (activity !== undefined) endWait(activity);
      onAnswered?.(response);
      resolve(response);
    };
    const question = newQuestion(thread, request, settleFor);
    question.faults = faults;
    onAsked?.(question);
    publish(thread, { type: 'elicitation_request', ...request });
    awaitAnswer(question);
    signal?.addEventListener('abort', withdraw, { once: true });
    // Last: who waits for nothing else lets the tree pause.
    if (activity !== undefined) beginWait(activity);
  });
}

function newQuestion(thread: Thread, request: ElicitationRequest, resolve: Question['resolve']): Question {
  const { tree } = thread;
  const question: Question = {
    requestId: request.requestId,
    thread,
    request,
    resolve,
    faults: undefined,
    controller: typeof tree.host.elicitation === 'function' ? new AbortController() : undefined,
    settled: false,
  };
  tree.questions.set(request.requestId, question);
  thread.questions ??= new Set();
  thread.questions.add(question);
  return question;
}

/** From here on its session waits for the answer. */
function awaitAnswer(question: Question): void {
  const { thread, request, requestId } = question;
  const { elicitation } = thread.tree.host;
  thread.actor.send({ type: 'question.asked', requestId, expiresAt: expiryOf(request) });
  noteOutsideWait(thread, 1);
  if (typeof elicitation !== 'function') return;
  enter(thread.tree);
  void answerByCallback(question, elicitation);
}

/** Opens a question that the log has without an answer: readers are shown it once more, nothing is logged. */
export function reopen(
  thread: Thread,
  event: AgentEvent<'elicitation_request'>,
  resolve: Question['resolve'],
): Question {
  const { requestId, kind, message, title, display, requestedSchema, context, expiresAt, followUpTo, _meta } = event;
  const request: ElicitationRequest = {
    requestId,
    kind,
    message,
    ...(title !== undefined && { title }),
    ...(display !== undefined && { display }),
    ...(requestedSchema !== undefined && { requestedSchema }),
    ...(context !== undefined && { context }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(followUpTo !== undefined && { followUpTo }),
    ...(_meta !== undefined && { _meta }),
  };
  const question = newQuestion(thread, request, resolve);
  thread.tree.merge.show(thread, event);
  awaitAnswer(question);
  if (thread.tree.host.elicitation === 'deny') cancelQuestion(question, 'there is nobody to ask (elicitation is off)');
  return question;
}

/** What asks again, for the question that it asked before the process ended. */
function takeUp(
  restored: Restored,
  { activity, signal, faults, onAsked, onAnswered }: AskOptions,
): Promise<ElicitationResponse> {
  const { question, answer } = restored;
  if (answer !== undefined || question === undefined) {
    const response = answer ?? { requestId: restored.requestId, action: 'cancel' };
    if (question !== undefined) onAsked?.(question);
    onAnswered?.(response);
    return Promise.resolve(response);
  }
  question.faults = faults;
  return new Promise((resolve) => {
    const withdraw = () => cancelQuestion(question, 'it was withdrawn');
    const take = (response: ElicitationResponse) => {
      signal?.removeEventListener('abort', withdraw);
      if (activity !== undefined) endWait(activity);
      onAnswered?.(response);
      resolve(response);
    };
    restored.take = take;
    onAsked?.(question);
    signal?.addEventListener('abort', withdraw, { once: true });
    if (activity !== undefined) beginWait(activity);
  });
}

/** Whoever takes a session up again is there to be asked what is to be done. */
const isSafeguard = ({ kind }: QuestionDraft) => kind === 'tool_recovery';

const expiryOf = ({ expiresAt }: ElicitationRequest): number | null => {
  const at = expiresAt === undefined ? Number.NaN : Date.parse(expiresAt);
  return Number.isNaN(at) ? null : at;
};

/** Of an answer that may be given again; who answers by a callback is asked once. */
const STAYS_OPEN = '; the question stays open';

async function answerByCallback(
  question: Question,
  callback: Exclude<Tree['host']['elicitation'], string>,
): Promise<void> {
  const { thread, request, controller } = question;
  const { tree } = thread;
  let answer: ElicitationAnswer;
  try {
    await settled(tree);
    const asked = { ...request, agentId: thread.agentId };
    answer = await callback(thread.threadId === undefined ? asked : { ...asked, threadId: thread.threadId }, {
      signal: (controller as AbortController).signal,
    });
    if (!question.settled) checkAnswer(question, answer);
  } catch (thrown) {
    const said = (thrown instanceof Error ? thrown.message : String(thrown)).replace(STAYS_OPEN, '');
    // What answers for credentials may have one in its words.
    const text = request.kind === 'auth_required' ? 'who answers failed' : said;
    if (!question.settled)
      notice(thread, 'ELICITATION_FAILED', 'warning', `the answer to "${request.message}" failed: ${text}`);
    answer = { action: 'cancel', _meta: { reason: text } };
  }
  if (!question.settled) settle(question, { ...answer, requestId: question.requestId }, 'callback');
}

/** Throws `INVALID_ANSWER` with the schema's errors; nothing has changed then. */
export function checkAnswer(question: Question, answer: ElicitationAnswer): void {
  const shape = answerShape(answer);
  if (shape !== undefined) throw invalidAnswer(question, [shape]);
  const fault = dataFault(answer);
  if (fault !== undefined) throw invalidAnswer(question, [`it is no JSON:${fault}`]);
  const { requestedSchema } = question.request;
  if (answer.action === 'accept' && requestedSchema !== undefined) {
    const errors = validateJson(requestedSchema, answer.content ?? {});
    // It was compiled when the question was asked.
    if (errors instanceof Promise) throw invalidAnswer(question, ['its schema is still being read; answer again']);
    if (errors.length > 0) throw invalidAnswer(question, errors);
  }
  const own = question.faults?.(answer) ?? [];
  if (own.length > 0) throw invalidAnswer(question, own);
}

function answerShape(answer: unknown): string | undefined {
  const isAnswer = isBag(answer) && typeof answer.action === 'string' && answer.action !== '';
  if (!isAnswer) return 'an answer is { action: "accept" | "decline" | "cancel", content? }';
  if (answer.content !== undefined && !isBag(answer.content)) return 'content must be an object';
  return answer._meta === undefined || isBag(answer._meta) ? undefined : '_meta must be an object';
}

const isBag = (value: unknown): value is Bag => typeof value === 'object' && value !== null && !Array.isArray(value);

const invalidAnswer = (question: Question, errors: readonly string[]) =>
  new TroupeError({
    code: 'INVALID_ANSWER',
    message: `the answer to ${question.requestId} ("${question.request.message}") does not fit: ${errors.join('; ')}${STAYS_OPEN}`,
  });

/** Publishes the one response of a question and lets the asker go on once it is durable. */
export function settle(
  question: Question,
  answer: ElicitationResponse,
  by: 'user' | 'host' | 'callback' = 'user',
): void {
  if (question.settled) return;
  question.settled = true;
  const { thread, requestId } = question;
  const { tree } = thread;
  tree.questions.delete(requestId);
  thread.questions?.delete(question);
  noteOutsideWait(thread, -1);
  const action = narrowElicitationAction(answer.action);
  // A copy: who answered keeps nothing of what is acted on.
  const response: ElicitationResponse = { ...(JSON.parse(JSON.stringify(answer)) as object), requestId, action };
  publish(thread, {
    type: 'elicitation_response',
    ...withoutSecrets(question, response),
    source: by === 'host' ? by : 'user',
  });
  enter(tree);
  const goOn = () => {
    question.resolve(response);
    if (!thread.hasEnded) thread.actor.send({ type: 'question.settled', requestId, answered: action !== 'cancel' });
    if (question.controller !== undefined) {
      if (by !== 'callback') question.controller.abort();
      leave(tree);
    }
    leave(tree);
  };
  const durable = settled(tree);
  const kept = question.request.kind === 'auth_required' ? keepCredential(question, response) : undefined;
  if (durable === undefined && kept === undefined) goOn();
  else void Promise.all([durable, kept]).then(goOn);
}

/** It is there for the tools of its user before who asked goes on. Never rejects. */
function keepCredential(
  { thread, request }: Question,
  { action, content }: ElicitationResponse,
): undefined | Promise<void> {
  if (action !== 'accept' || content?.credential === undefined) return undefined;
  const { host, userId } = thread.tree;
  const named = request.context?.provider;
  const provider = typeof named === 'string' && named !== '' ? named : thread.agentId;
  const failed = () =>
    notice(
      thread,
      'CREDENTIAL_NOT_KEPT',
      'warning',
      `the credential for ${provider} could not be kept: it will be asked for again`,
    );
  return (async () => host.credentials.set({ userId, provider }, content.credential as Json))().catch(failed);
}

/** A credential goes to who asked for it, never into the log. */
function withoutSecrets({ request }: Question, response: ElicitationResponse): ElicitationResponse {
  if (request.kind !== 'auth_required') return response;
  const { requestId, action, content, _meta } = response;
  const reason = action === 'cancel' && content === undefined ? _meta?.reason : undefined;
  return {
    requestId,
    action,
    ...(content !== undefined && { content: { withheld: true } }),
    ...(typeof reason === 'string' && { _meta: { reason } }),
  };
}

/** Closes a question without an answer. */
export function cancelQuestion(question: Question, reason: string): void {
  settle(question, { requestId: question.requestId, action: 'cancel', _meta: { reason } }, 'host');
}

/** Of a call, `c2`: unique in the session tree, and told apart from every id that a provider has used. */
export const newCallId = (tree: Tree): string => newRequestId(tree, 'c', '');

/** Of a question, `q1-5f3a09c1`: it says whose it is too, so that an answer meant for another session finds none here. */
const newQuestionId = (tree: Tree): string => newRequestId(tree, 'q', `-${shortHash(tree.sessionId)}`);

function newRequestId(tree: Tree, kind: string, suffix: string): string {
  let requestId: string;
  do requestId = `${kind}${++tree.requestCount}${suffix}`;
  while (tree.requestIds.has(requestId));
  tree.requestIds.add(requestId);
  return requestId;
}
