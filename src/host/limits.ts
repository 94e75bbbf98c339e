import type { ModelUsage } from '../contracts/index.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { countDown, stopRun } from './end-run.js';
import { lastTextOf } from './last-text.js';
import { enter, leave } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';
import { cancelCalls } from './tool-call.js';

/** The end that a limit makes of a run, with the best that it has. */
export const limitEnd = (run: RunRecord, reason: string, limit: string, used: number): RunEnd => ({
  reason,
  data: { limit, used, ...(lastTextOf(run) === '' ? {} : { result: lastTextOf(run) }) },
});

/**
 * Counts one model call, here and in every run above: a composition's limit is for all below it. Where a limit has been
 * reached nothing is counted; then whose it is, and how that run ends. A grace turn is made although its own limit has
 * been reached.
 */
export function countModelCall(from: Thread, isGrace = false): { thread: Thread; end: RunEnd } | undefined {
  for (let thread: Thread | undefined = from; thread !== undefined; thread = thread.parent) {
    const { run } = thread;
    const { maxLlmCalls } = thread.agent.limits;
    if (run === undefined) continue;
    const isOwn = thread === from;
    if (run.llmCalls >= maxLlmCalls && !(isOwn && isGrace)) {
      return { thread, end: limitEnd(run, 'max_turns', 'maxLlmCalls', run.llmCalls) };
    }
    // Its own budget an agent looks at before each turn.
    const spent = isOwn ? undefined : spentEnd(thread, run);
    if (spent !== undefined) return { thread, end: spent };
  }
  for (let thread: Thread | undefined = from; thread !== undefined; thread = thread.parent) {
    if (thread.run !== undefined) thread.run.llmCalls++;
  }
  return undefined;
}

/**
 * Counts one turn in every run above: what a composition that leads nothing sets as `maxTurns` is for all below it. Where
 * one has had its turns nothing is counted; then whose it is, and how that run ends. Code has no turns.
 */
export function countTurn(from: Thread): { thread: Thread; end: RunEnd } | undefined {
  if (isFunctionAgent(from.agent.driver.descriptor)) return undefined;
  for (let thread = from.parent; thread !== undefined; thread = thread.parent) {
    const { run, agent } = thread;
    if (run === undefined || agent.behaviour === 'turn' || run.turnsBelow < agent.limits.maxTurns) continue;
    return { thread, end: limitEnd(run, 'max_turns', 'maxTurns', run.turnsBelow) };
  }
  addTurns(from, 1);
  for (let thread = from.parent; thread !== undefined; thread = thread.parent) {
    if (thread.run !== undefined) thread.run.turnsOpen++;
  }
  return undefined;
}

/**
 * A turn that was counted is over. With the last of them those go on for which there was no room, once what it came to has
 * been taken in: what was within the limit is not cut off by what was not.
 */
export function endTurn(from: Thread): void {
  for (let { parent } = from; parent !== undefined; parent = parent.parent) {
    const { run, tree } = parent;
    if (run === undefined || run.turnsOpen === 0) continue;
    run.turnsOpen--;
    const held = run.heldTurns;
    if (run.turnsOpen > 0 || held === undefined) continue;
    run.heldTurns = undefined;
    enter(tree);
    setImmediate(() => {
      for (const goOn of held) goOn();
      leave(tree);
    });
  }
}

/** A turn that came to no model call, or is made again, was none. */
export function takeBackTurn(from: Thread): void {
  if (from.tree.root.agent.limitsTurns && !isFunctionAgent(from.agent.driver.descriptor)) addTurns(from, -1);
}

function addTurns(from: Thread, by: 1 | -1): void {
  for (let { parent } = from; parent !== undefined; parent = parent.parent) {
    if (parent.run !== undefined) parent.run.turnsBelow += by;
  }
}

/** What a session may spend: for the root also what the tree may. */
export function budgetOf({ agent, parent, tree }: Thread): number {
  const { maxBudgetUsd } = agent.limits;
  return parent === undefined ? Math.min(maxBudgetUsd, tree.settings.maxBudgetUsd) : maxBudgetUsd;
}

/** What a session may use, input and output together: for the root also what the tree may. */
export function tokensOf({ agent, parent, tree }: Thread): number {
  const { maxTokens } = agent.limits;
  return parent === undefined ? Math.min(maxTokens, tree.settings.maxTokens) : maxTokens;
}

/** The end of a run whose session has nothing left to spend; undefined while it has. */
export function spentEnd(thread: Thread, run: RunRecord): RunEnd | undefined {
  if (thread.spentUsd >= budgetOf(thread)) return budgetEnd(thread, run, 'maxBudgetUsd');
  // Tokens are counted where some session has a limit on them.
  if (thread.tree.budget === undefined || thread.spentTokens < tokensOf(thread)) return undefined;
  return budgetEnd(thread, run, 'maxTokens');
}

export const budgetEnd = (thread: Thread, run: RunRecord, limit: 'maxBudgetUsd' | 'maxTokens'): RunEnd =>
  limitEnd(run, 'max_budget', limit, limit === 'maxTokens' ? thread.spentTokens : thread.spentUsd);

/** Tokens of a model call, here and above, where budgets are kept. */
export function addTokens(thread: Thread, tokens: number): void {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) at.spentTokens += tokens;
}

/** All that a call was paid for; undefined where its provider did not say both sides. */
export function tokensIn(usage: ModelUsage, thoughtsWithin: boolean): number | undefined {
  const { inputTokens, outputTokens, thoughtTokens = 0 } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  return inputTokens + outputTokens + (thoughtsWithin ? 0 : thoughtTokens);
}

/** What a model call cost, here and above. */
export function addCost(thread: Thread, usd: number | undefined): void {
  if (usd === undefined || !Number.isFinite(usd)) return;
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) at.spentUsd += usd;
}

/** A model call or a host-run tool of this thread is in flight: time counts, here and in every timed thread above. */
export function beginWork(thread: Thread): void {
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) {
    const { run } = at;
    if (run === undefined || run.working++ > 0) continue;
    const { maxTimeMs } = at.agent.limits;
    if (maxTimeMs === Number.POSITIVE_INFINITY) continue;
    const { clock, lateTimer } = at.tree.host;
    run.workSince = clock.now();
    const timed = at;
    run.cancelWorkTimer = lateTimer(() => timeOut(timed, run), Math.max(0, maxTimeMs - run.workUsedMs));
  }
}

/** It has ended. Nothing where the run that it was part of is over: what that had in flight went with it. */
export function endWork(thread: Thread, run: RunRecord | undefined = thread.run): void {
  if (run === undefined || thread.run !== run) return;
  for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) countDown(at, 1);
}

/** A limit on time is reached: the run ends, or has its grace turn once what is in flight was cut. */
function timeOut(thread: Thread, run: RunRecord): void {
  if (thread.run !== run || run.reached !== undefined) return;
  const used = run.workUsedMs + thread.tree.host.clock.now() - run.workSince;
  const end = limitEnd(run, 'max_time', 'maxTimeMinutes', used / 60_000);
  if (!thread.agent.limits.graceTurn || thread.agent.behaviour !== 'turn') return stopRun(thread, end);
  run.reached = end;
  if (run.cutTurn !== undefined) run.cutTurn('interrupt');
  else cancelCalls(thread, 'the time is up');
}
