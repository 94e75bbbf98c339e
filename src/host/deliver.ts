import type {
  ElicitationAnswer,
  SessionStreamData,
  SessionUpdateData,
  SteerData,
  ToolResultData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { toToolResult } from '../kernel/tool-result.js';
import { assertMode } from './open-session.js';
import { checkAnswer, settle } from './questions.js';
import { notice, publish, threadsFrom } from './session-tree.js';
import type { Thread, Tree } from './thread.js';
import { cancelCall } from './tool-call.js';

export type Delivery = Exclude<SessionStreamData, { kind: 'message' }>;

/**
 * Hands answers to what asked for them. Throws (or rejects) with `UNKNOWN_REQUEST` or `INVALID_ANSWER`, and then
 * nothing has changed.
 */
export function deliver(tree: Tree, data: Delivery): undefined | Promise<void> {
  if (data.kind === 'elicitation_response') return answer(tree, data.requestId, data.response);
  const results = data.kind === 'tool_result' ? [data] : data.results;
  const seen = new Set<string>();
  const found = results.map(({ requestId, result }) => {
    const call = tree.consumerCalls.get(requestId);
    if (call === undefined || seen.has(requestId)) throw unknownRequest(tree, requestId);
    seen.add(requestId);
    if (typeof result !== 'object' || result === null || !Array.isArray(result.llmContent)) {
      throw new TroupeError({
        code: 'INVALID_ANSWER',
        message: `the result of ${requestId} needs llmContent, a list of parts`,
      });
    }
    return { call, result };
  });
  for (const { call, result } of found) call.answer?.(result);
  return undefined;
}

export function answer(tree: Tree, requestId: string, response: ElicitationAnswer): undefined | Promise<void> {
  const question = tree.questions.get(requestId);
  if (question === undefined) throw unknownRequest(tree, requestId);
  const checked = checkAnswer(question, response);
  if (checked === undefined) settle(question, { ...response, requestId });
  else {
    return checked.then(() => {
      if (question.settled) throw unknownRequest(tree, requestId);
      settle(question, { ...response, requestId });
    });
  }
  return undefined;
}

/** `run.respond`: an answer to a question, or the result of a consumer's tool. */
export function respondTo(
  tree: Tree,
  requestId: string,
  given: ElicitationAnswer | { result: ToolResultData | string | object },
): void {
  if (tree.consumerCalls.has(requestId)) {
    if (typeof given !== 'object' || given === null || !('result' in given)) {
      throw new TroupeError({ code: 'INVALID_ANSWER', message: `${requestId} is a tool call: answer with { result }` });
    }
    deliver(tree, { kind: 'tool_result', requestId, result: toToolResult(given.result) });
    return;
  }
  // Only while the validator is still loading; a refusal is told where a person sees it.
  answer(tree, requestId, given as ElicitationAnswer)?.catch((thrown: Error) =>
    notice(tree.root, 'ANSWER_REFUSED', 'warning', thrown.message),
  );
}

function unknownRequest(tree: Tree, requestId: unknown): TroupeError {
  const open = [...tree.questions.keys(), ...tree.consumerCalls.keys()].join(', ') || 'none';
  return new TroupeError({
    code: 'UNKNOWN_REQUEST',
    message: `no open request "${String(requestId)}" in this session (answered, withdrawn or never asked); open: ${open}`,
  });
}

/** Takes effect at once for what the host decides, at the next model request for what the request carries. */
export function applyUpdate(tree: Tree, update: SessionUpdateData): void {
  const { permissionMode, model, title, config } = update;
  if (permissionMode !== undefined) assertMode(permissionMode);
  if (model !== undefined) {
    const fault = tree.host.models.fault(model);
    if (fault !== undefined) throw new TroupeError({ code: 'UNKNOWN_MODEL', message: fault });
    tree.settings.model = model;
  }
  if (permissionMode !== undefined) tree.settings.permissionMode = narrowPermissionMode(permissionMode);
  publish(tree.root, {
    type: 'session_update',
    ...(permissionMode !== undefined && { permissionMode: tree.settings.permissionMode }),
    ...(typeof model === 'string' && { model }),
    ...(title !== undefined && { title }),
    ...(config !== undefined && { config }),
    source: 'user',
  });
}

/** Steers one thread, or every live one (`'*'`). A composition hands it on to its live children. */
export function steerTree(tree: Tree, steer: SteerData, threadId: string | undefined): void {
  const all = [...threadsFrom(tree.root)];
  if (threadId === '*') {
    for (const thread of all) if (thread.agent.behaviour === 'turn') steerThread(thread, steer);
    return;
  }
  const target = all.find((thread) => thread.threadId === threadId);
  if (target === undefined) {
    const live = all.map((thread) => thread.threadId ?? 'the root').join(', ');
    throw new TroupeError({ code: 'UNKNOWN_THREAD', message: `no live thread "${threadId}"; live: ${live}` });
  }
  steerThread(target, steer);
}

function steerThread(thread: Thread, steer: SteerData): void {
  if (thread.agent.behaviour !== 'turn') {
    const live = [...(thread.children ?? [])];
    if (live.length > 0) for (const child of live) steerThread(child, steer);
    else if (steer.message !== undefined) thread.steers.push(steer);
    return;
  }
  if (steer.message !== undefined) thread.steers.push({ message: steer.message });
  switch (steer.action) {
    case undefined:
      break;
    case 'interrupt':
      if (thread.run?.cutTurn !== undefined && thread.run.stop === undefined) {
        thread.run.interrupted = true;
        thread.run.cutTurn(false);
      }
      break;
    case 'pause':
      thread.isPaused = true;
      break;
    case 'resume':
      thread.isPaused = false;
      thread.resumeTurn?.();
      break;
    case 'background':
      thread.tree.onDetach?.();
      break;
    default:
      notice(
        thread,
        'UNKNOWN_STEER_ACTION',
        'warning',
        `"${steer.action}" is no action of this executor; nothing was done`,
      );
  }
}

/** Ends one call of a turn, wherever it is in the tree. */
export function cancelRequest(tree: Tree, requestId: string, reason: string): void {
  for (const thread of threadsFrom(tree.root)) {
    const call = thread.run?.calls.find((one) => one.requestId === requestId && one.stage !== 'done');
    if (call !== undefined) return cancelCall(call, reason);
  }
  throw unknownRequest(tree, requestId);
}
