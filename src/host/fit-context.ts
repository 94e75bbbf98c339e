import type { Bag, ContextBudget } from '../contracts/index.js';
import { COMPACT_AT, type Compaction, compacted, cutHistory, keptShare } from '../kernel/compaction.js';
import { estimateMessage, estimateTokens } from '../kernel/tokens.js';
import { countHistory, isCountDue } from './count-history.js';
import { fireHook } from './fire-hook.js';
import { withSkills } from './instruction.js';
import { publish } from './session-tree.js';
import { summarise } from './summarise.js';
import type { RunRecord, Thread } from './thread.js';
import { visibleTools } from './tool-policy.js';

/** How a compaction ended. */
type Outcome = { compaction: Compaction } | { reason: string };

const MAX_SUMMARIES = 2;
/** Below this share of what starts a compaction no provider is asked how much it is: estimates are not that far off. */
const COUNT_AT = 0.6;
/** After a compaction that came to nothing the history must have grown by so much before the next is tried. */
const GROWTH = 1.3;

/**
 * Makes what a thread would send fit its context budget, before a turn: once it has more than 0.7 of it, the older part
 * of the outgoing history is left out. The log and the history stay whole. Undefined: there is nothing to do.
 * Never rejects.
 */
export function fitContext(thread: Thread, signal: () => AbortSignal): undefined | Promise<void> {
  const budget = thread.tree.settings.contextBudget ?? thread.agent.driver.contextBudget;
  const { run } = thread;
  if (budget === undefined || run === undefined) return undefined;
  const start = startOf(thread, run);
  const fixed = fixedTokens(thread);
  const estimated = thread.history.outgoingTokens(start);
  const limit = budget.maxTokens * COMPACT_AT;
  const { counted } = thread;
  if (fixed + estimated * (counted?.ratio ?? 1) <= limit * COUNT_AT) return undefined;
  const compactIfDue = () => {
    const ratio = thread.counted?.ratio ?? 1;
    const before = fixed + estimated * ratio;
    if (before <= limit || before < thread.compactAgainAt) return undefined;
    return compact(thread, run, { budget, start, fixed, ratio, before, limit }, signal);
  };
  if (!isCountDue(counted, estimated)) return compactIfDue();
  return countHistory(thread, { start, estimated }, signal).then(() =>
    thread.run === run ? compactIfDue() : undefined,
  );
}

interface Size {
  readonly budget: ContextBudget;
  /** Where the history that goes out begins. */
  readonly start: number;
  /** Tokens of what is no history. */
  readonly fixed: number;
  /** Tokens of the history for each that is estimated. */
  readonly ratio: number;
  readonly before: number;
  readonly limit: number;
}

/** Where the messages begin that a model of this thread sees. */
export const startOf = (thread: Thread, run: RunRecord): number =>
  thread.agent.driver.includeHistory === false ? run.historyFrom : 0;

async function compact(thread: Thread, run: RunRecord, size: Size, signal: () => AbortSignal): Promise<void> {
  const { before, fixed, ratio, start } = size;
  const { strategy = 'summarize' } = size.budget;
  const outcome = await attempt(thread, run, size, signal);
  if (thread.run !== run) return;
  const base: Bag = { strategy, tokensBefore: Math.round(before) };
  if ('reason' in outcome) {
    thread.compactAgainAt = before * GROWTH;
    return tell(thread, { ...base, status: outcome.reason === VETO ? 'vetoed' : 'dropped', reason: outcome.reason });
  }
  const { compaction } = outcome;
  thread.history.compact(compaction);
  thread.compactAgainAt = 0;
  const tokensAfter = Math.round(fixed + thread.history.outgoingTokens(start) * ratio);
  // What cannot be made small enough is not tried at every turn.
  if (tokensAfter > size.limit) thread.compactAgainAt = tokensAfter * GROWTH;
  tell(thread, { ...base, status: 'compacted', tokensAfter, ...compaction });
}

const VETO = 'a hook said no';

async function attempt(thread: Thread, run: RunRecord, size: Size, signal: () => AbortSignal): Promise<Outcome> {
  const veto = await fireHook(thread, 'pre_compress', { trigger: 'auto' });
  const { suppress } = (veto?.modifications ?? {}) as { suppress?: boolean };
  if (veto !== undefined && (veto.action !== 'proceed' || suppress === true)) return { reason: VETO };
  const { strategy = 'summarize' } = size.budget;
  const { history } = thread;
  const messages = history.messages();
  // The history is cut by estimates.
  const room = Math.max(0, size.limit - size.fixed) / size.ratio;
  const total = (size.before - size.fixed) / size.ratio;
  const keepTokens = strategy === 'sliding_window' ? room : Math.min(room, keptShare(total));
  const cut = cutHistory(messages, history.tokens(), { keepTokens, start: size.start, runFrom: run.historyFrom });
  if (cut === undefined) return { reason: 'the last exchange alone is larger than the budget' };
  if (strategy === 'truncate' || strategy === 'sliding_window') return { compaction: cut };
  // What an earlier summary stands for is summarised again from it, not from all that was ever said.
  const old = history.outgoing(size.start);
  const stays = messages.length - cut.upTo;
  const toSummarise = old.slice(0, Math.max(0, old.length - stays));
  for (let tries = 1; tries <= MAX_SUMMARIES; tries++) {
    const said = await summarise(thread, toSummarise, signal, 'the history goes out whole');
    if (thread.run !== run || run.stop !== undefined) return { reason: 'the run was stopped' };
    if (said === undefined) return { reason: 'there is no summary' };
    const compaction = { ...cut, summary: said };
    const [front] = compacted(messages, compaction);
    if (front !== undefined && estimateMessage(front) < sumOf(toSummarise)) return { compaction };
  }
  return { reason: 'the summary is no shorter than what it stands for' };
}

const sumOf = (messages: Parameters<typeof compacted>[0]): number =>
  messages.reduce((sum, message) => sum + estimateMessage(message), 0);

function fixedTokens(thread: Thread): number {
  let tokens = estimateTokens(withSkills(thread));
  for (const tool of visibleTools(thread)) tokens += toolTokens(tool);
  return tokens;
}

const counted = new WeakMap<object, number>();

/** Counted once per descriptor: they stand in every request as they are. */
function toolTokens(tool: { name: string; description: string; parametersSchema: unknown }): number {
  let tokens = counted.get(tool);
  if (tokens === undefined) {
    tokens = estimateTokens(`${tool.name} ${tool.description} ${JSON.stringify(tool.parametersSchema)}`);
    counted.set(tool, tokens);
  }
  return tokens;
}

function tell(thread: Thread, data: Bag): void {
  publish(thread, { type: 'custom', kind: 'compact_boundary', data, source: 'host' });
}
