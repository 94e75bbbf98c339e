import type { ModelMessage } from '../contracts/index.js';

/** Where an outgoing history begins, and what stands in front of it. */
export interface Compaction {
  /** Messages of the whole history that are left out, save those in `kept`. */
  readonly upTo: number;
  /** Indexes below `upTo` that stay: what the user asked for in the run under way. Ascending. */
  readonly kept: readonly number[];
  /** What was said in them, in short. */
  readonly summary?: string | undefined;
}

/** Share of the budget at which a history is compacted, and share of the history that stays as it was said. */
export const COMPACT_AT = 0.7;
const KEEP = 0.3;

/** The request as it is waiting: an answer to calls is none. */
const isAsked = ({ role, content }: ModelMessage): boolean =>
  role === 'user' && !content.some((part) => part.type === 'function_response');

const isAnswer = ({ content }: ModelMessage): boolean => content.some((part) => part.type === 'function_response');

/**
 * Cuts a history so that about `keepTokens` of its newest messages stay: always the last exchange, and never a response
 * without its call. Of the run under way, which began at `runFrom`, the first and the last message of the user stay
 * wherever the cut is. Nothing before `start` goes out anyway. Undefined: there is nothing to leave out.
 */
export function cutHistory(
  messages: readonly ModelMessage[],
  tokens: readonly number[],
  options: { keepTokens: number; start: number; runFrom: number },
): Pick<Compaction, 'upTo' | 'kept'> | undefined {
  const { keepTokens, start, runFrom } = options;
  let upTo = start;
  let sum = 0;
  for (let at = messages.length - 1; at > start; at--) {
    sum += tokens[at] ?? 0;
    if (upTo > start && sum > keepTokens) break;
    if (!isAnswer(messages[at] as ModelMessage)) upTo = at;
  }
  if (upTo === start) return undefined;
  const asked = messages.findLastIndex(isAsked);
  const first = messages.findIndex((message, at) => at >= runFrom && isAsked(message));
  const kept = [...new Set([first, asked])].filter((at) => at >= start && at < upTo).sort((a, b) => a - b);
  return kept.length === upTo - start ? undefined : { upTo, kept };
}

/** How many tokens of the newest messages stay when a history of `total` tokens is cut. */
export const keptShare = (total: number): number => Math.floor(total * KEEP);

const NOTE = 'Earlier parts of this conversation are left out.';

/** A history as it goes out: the summary (or a note that something is missing) and what stayed of the old part in one message of the user. */
export function compacted(messages: readonly ModelMessage[], { upTo, kept, summary }: Compaction): ModelMessage[] {
  const text = summary === undefined ? `[${NOTE}]` : `[${NOTE} In short:]\n${summary}`;
  const content: ModelMessage['content'] = [{ type: 'text', text }];
  for (const at of kept) content.push(...(messages[at]?.content ?? []));
  return [{ role: 'user', content }, ...messages.slice(upTo)];
}

/** What a log says of a compaction; undefined when it is none that holds. */
export function readCompaction(data: unknown): Compaction | undefined {
  const { status, upTo, kept, summary } = (data ?? {}) as Record<string, unknown>;
  if (status !== 'compacted' || !Number.isInteger(upTo) || !Array.isArray(kept)) return undefined;
  if (!kept.every((at) => Number.isInteger(at))) return undefined;
  return { upTo: upTo as number, kept: kept as number[], summary: typeof summary === 'string' ? summary : undefined };
}
