import type {
  ElicitationAnswer,
  SessionStreamData,
  SessionUpdateData,
  SteerData,
  ToolResultData,
} from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { narrowPermissionMode } from '../kernel/narrow.js';
import { parseThreadId } from '../kernel/thread-id.js';
import { resultFault, toToolResult } from '../kernel/tool-result.js';
import { compileAgent } from './compile-agent.js';
import { isBeingStopped } from './end-run.js';
import { dataFault } from './given-data.js';
import { assertDescriptors, assertMode, compilingHost } from './open-session.js';
import { checkAnswer, type Question, settle } from './questions.js';
import { livingAt } from './run-hooks.js';
import { notice, publish, threadsFrom } from './session-tree.js';
import type { Thread, Tree } from './thread.js';
import { cancelCall } from './tool-call.js';
import { keepWords, type Words } from './words.js';

export type Delivery = Exclude<SessionStreamData, { kind: 'message' }>;

/** Throws with `UNKNOWN_REQUEST` or `INVALID_ANSWER` what cannot be delivered. Changes nothing. */
export function checkDelivery(tree: Tree, data: Delivery): void {
  if (data.kind === 'elicitation_response') {
    const question = tree.questions.get(data.requestId);
    if (question === undefined || isBeingStopped(question.thread)) throw unknownRequest(tree, data.requestId);
    return checkAnswer(question, data.response);
  }
  const { kind } = data;
  if (kind !== 'tool_result' && kind !== 'tool_results') {
    const message = `stream() takes no kind "${String(kind)}": it is message, tool_result, tool_results or elicitation_response`;
    throw new TroupeError({ code: 'INVALID_ANSWER', message });
  }
  const results = kind === 'tool_result' ? [data] : data.results;
  if (!Array.isArray(results) || results.length === 0) {
    throw new TroupeError({ code: 'INVALID_ANSWER', message: 'tool_results needs results, a list with at least one' });
  }
  const seen = new Set<string>();
  for (const given of results) {
    const { requestId, result } = Object(given) as typeof given;
    const call = tree.consumerCalls.get(requestId);
    if (call === undefined || isBeingStopped(call.thread) || seen.has(requestId)) throw unknownRequest(tree, requestId);
    seen.add(requestId);
    const fault = resultFault(result);
    if (fault === undefined) continue;
    throw new TroupeError({ code: 'INVALID_ANSWER', message: `the result of ${requestId}: ${fault}` });
  }
}

/** Hands answers to what asked for them; all of them or, when it throws as `checkDelivery` does, none. */
export function deliver(tree: Tree, data: Delivery): void {
  checkDelivery(tree, data);
  if (data.kind === 'elicitation_response') {
    const { requestId, response } = data;
    settle(tree.questions.get(requestId) as Question, { ...response, requestId });
    return;
  }
  const results = data.kind === 'tool_result' ? [data] : data.results;
  for (const { requestId, result } of results) tree.consumerCalls.get(requestId)?.answer?.(result);
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
    deliver(tree, { kind: 'tool_result', requestId, result: resultOf(requestId, given.result) });
    return;
  }
  deliver(tree, { kind: 'elicitation_response', requestId, response: given as ElicitationAnswer });
}

/** What is given as a result, as one: text and data too, as from a tool. Throws `INVALID_ANSWER` for what is none. */
function resultOf(requestId: string, given: unknown): ToolResultData {
  const isObject = typeof given === 'object' && given !== null && !(given instanceof Error);
  const fault = given === undefined || given instanceof Error ? undefined : dataFault(given);
  if (fault !== undefined) {
    throw new TroupeError({ code: 'INVALID_ANSWER', message: `the result of ${requestId}${fault}, which is no JSON` });
  }
  // Whole results are looked at where they are delivered.
  return isObject && 'llmContent' in given ? (given as ToolResultData) : toToolResult(given);
}

function unknownRequest(tree: Tree, requestId: unknown): TroupeError {
  const open = [...tree.questions.keys(), ...tree.consumerCalls.keys()].join(', ') || 'none';
  return new TroupeError({
    code: 'UNKNOWN_REQUEST',
    message: `no open request "${String(requestId)}" in this session (answered, withdrawn or never asked); open: ${open}`,
  });
}

/**
 * Takes effect at once for what the host decides, at the next model request for what the request carries. Throws what
 * is wrong, and then nothing has changed.
 */
export function applyUpdate(tree: Tree, update: SessionUpdateData): void {
  const { permissionMode, model, tools, title, config } = update;
  const { host, settings, root } = tree;
  if (permissionMode !== undefined) assertMode(permissionMode);
  const fault = model === undefined ? undefined : host.models.fault(model);
  if (fault !== undefined) throw new TroupeError({ code: 'UNKNOWN_MODEL', message: fault });
  if (tools !== undefined) {
    // What runs in process stays: an update brings descriptors only.
    assertDescriptors(tools);
    const runTools = [...tree.runTools.filter((tool) => 'kind' in tool), ...tools];
    root.agent = compileAgent(
      compilingHost(host, root.agent.definition, tree.sessionId, tree.userId),
      root.agent.definition,
      {
        runTools,
        model: model ?? settings.model,
      },
    );
    tree.runTools = runTools;
  }
  if (model !== undefined) settings.model = model;
  if (permissionMode !== undefined) settings.permissionMode = narrowPermissionMode(permissionMode);
  // Behind the end of its last run a session says nothing more.
  if (livingAt(root) === undefined) return;
  publish(root, {
    type: 'session_update',
    ...(permissionMode !== undefined && { permissionMode: settings.permissionMode }),
    ...(typeof model === 'string' && { model }),
    ...(tools !== undefined && { tools: [...tools] }),
    ...(title !== undefined && { title }),
    ...(config !== undefined && { config }),
    source: 'user',
  });
}

/** Steers one thread, or every live one (`'*'`). A composition hands it on to its live children. */
export function steerTree(tree: Tree, steer: SteerData, threadId: string | undefined): void {
  const all = [...threadsFrom(tree.root)];
  // One object for all who get it: what is handed on from several of them is taken once.
  const { message } = steer;
  const words = message === undefined ? undefined : { steerId: tree.host.stamp.nextId(), message };
  if (threadId === '*') {
    const hearing = all.filter(({ agent }) => agent.behaviour === 'turn');
    // Between one agent and the next nobody hears: whoever begins next does.
    for (const thread of hearing.length > 0 ? hearing : [tree.root]) steerThread(thread, steer, words);
    return;
  }
  const target = all.find((thread) => thread.threadId === threadId);
  if (target === undefined && threadId !== undefined && hasBeen(tree, threadId)) {
    // It ended a moment ago: words that come too late harm nobody.
    return notice(tree.root, 'THREAD_ENDED', 'warning', `${threadId} has ended; the words for it were not delivered`);
  }
  if (target === undefined) {
    const live = all.map((thread) => thread.threadId ?? 'the root').join(', ');
    throw new TroupeError({ code: 'UNKNOWN_THREAD', message: `no live thread "${threadId}"; live: ${live}` });
  }
  steerThread(target, steer, words);
}

/** Whether there was a thread of that name, as far as its first step tells. */
function hasBeen(tree: Tree, threadId: string): boolean {
  const [first] = parseThreadId(threadId) ?? [];
  return first !== undefined && first.ordinal <= tree.root.spawned;
}

function steerThread(thread: Thread, steer: SteerData, words: Words | undefined): void {
  if (thread.agent.behaviour !== 'turn') {
    const live = [...(thread.children ?? [])];
    if (live.length > 0) for (const child of live) steerThread(child, steer, words);
    // Nobody is there right now: whoever begins next takes it.
    else if (words !== undefined) keepWords(thread, words);
    return;
  }
  if (isFunctionAgent(thread.agent.driver.descriptor)) {
    // A function hears nothing: whoever begins next in its composition takes it.
    const { parent } = thread;
    if (words !== undefined && parent !== undefined) keepWords(parent, words);
    return;
  }
  if (words !== undefined) keepWords(thread, words);
  const { run } = thread;
  switch (steer.action) {
    case undefined:
      break;
    case 'interrupt':
      // A thread that is held has nothing in flight.
      if (run?.stop === undefined && thread.resumeTurn === undefined) run?.cutTurn?.('interrupt');
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
    default: {
      const text = `"${steer.action}" is no action of this executor; nothing was done`;
      notice(thread, 'UNKNOWN_STEER_ACTION', 'warning', text);
    }
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
