import type { Totals } from '../../kernel/run-thread.js';

/** `1.2k`, `3.4M`; a dash for nothing. */
export function countText(count: number): string {
  if (count === 0) return '–';
  if (count < 1_000) return String(count);
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

/** Dollars as far as they are known: `≥` where some call had no price. */
export function costText({ usd, costIncomplete }: Totals): string {
  if (usd === undefined || (usd === 0 && costIncomplete)) return '–';
  return `${costIncomplete ? '≥ ' : ''}$${usd < 1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

/** `340 ms`, `4.2 s`, `3 m 04 s`, `2 h 05 m`. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3_600)} h ${two(Math.floor(seconds / 60) % 60)} m`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** `just now`, `5 min ago`, `3 h ago`, else the day. */
export function agoText(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  if (!Number.isFinite(ms)) return '';
  if (ms < 60_000) return 'just now';
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  return iso.slice(0, 10);
}

/** The time of day in an ISO stamp, in the zone of whoever looks. */
export function clockText(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}

const STATES: Readonly<Record<string, string>> = {
  starting: 'starting',
  running: 'running',
  awaiting_tool: 'in a tool',
  awaiting_elicitation: 'asks you',
};

export type Tone = 'run' | 'wait' | 'ok' | 'bad' | 'off';

/** How a thread stands, in words and as a colour. */
export function standingOf(status: string, reason: string | undefined): { readonly text: string; readonly tone: Tone } {
  if (status === 'awaiting_elicitation') return { text: STATES[status] ?? status, tone: 'wait' };
  if (status !== 'ended') return { text: STATES[status] ?? status, tone: 'run' };
  if (reason === 'completed') return { text: 'completed', tone: 'ok' };
  if (reason === 'failed') return { text: 'failed', tone: 'bad' };
  return { text: (reason ?? 'ended').replaceAll('_', ' ').slice(0, 40), tone: reason === 'aborted' ? 'off' : 'bad' };
}
