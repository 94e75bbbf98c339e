import type { RunView } from './run-view.js';
import type { ThreadView, Totals } from './thread-view.js';

/** Tool calls, tokens, cost and time of one thread. */
export function figuresOf(thread: ThreadView, now: number): string {
  const until = thread.endedAt === undefined ? now : Date.parse(thread.endedAt);
  const tools = thread.toolCalls === 0 ? '' : plural(thread.toolCalls, 'tool call');
  return [tools, usageText(thread.usage), elapsed(until - Date.parse(thread.startedAt))]
    .filter((part) => part !== '')
    .join(' · ');
}

/** The same of the whole run, on one line. */
export function totalsLine(view: RunView, now: number): string {
  const { totals } = view;
  const until = view.reason === undefined ? now : Date.parse(view.lastAt ?? '');
  return [
    view.reason ?? 'running',
    plural(view.threads.size, 'thread'),
    usageText(totals),
    elapsed(until - Date.parse(view.firstAt ?? '')),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** Tokens and cost as far as they are known: `1.2k in 340 out · $0.0123`; `≥` where some call had no price. */
export function usageText(usage: Totals): string {
  const tokens =
    usage.inputTokens + usage.outputTokens === 0
      ? ''
      : `${short(usage.inputTokens)} in ${short(usage.outputTokens)} out`;
  const cost = usage.usd === undefined ? '' : `${usage.costIncomplete ? '≥ ' : ''}$${usage.usd.toFixed(4)}`;
  return [tokens, cost].filter((part) => part !== '').join(' · ');
}

function short(count: number): string {
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

function elapsed(ms: number): string {
  if (!Number.isFinite(ms) || ms < 1_000) return '';
  const seconds = Math.floor(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** `1 thread`, `2 threads`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
