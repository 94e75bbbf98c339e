import type { Totals } from './run-thread.js';

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

/** `12s`, `3m 4s`; nothing below a second, and for what is no number. */
export function elapsed(ms: number): string {
  if (!Number.isFinite(ms) || ms < 1_000) return '';
  const seconds = Math.floor(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}
