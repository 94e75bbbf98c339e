import { elapsed, usageText } from '../kernel/run-figures.js';
import type { RunModel } from '../kernel/run-model.js';
import type { ThreadModel } from '../kernel/run-thread.js';

/** Tool calls, tokens, cost and time of one thread. */
export function figuresOf(thread: ThreadModel, now: number): string {
  const until = thread.endedAt === undefined ? now : Date.parse(thread.endedAt);
  const tools = thread.toolCalls === 0 ? '' : plural(thread.toolCalls, 'tool call');
  return [tools, usageText(thread.usage), elapsed(until - Date.parse(thread.startedAt))]
    .filter((part) => part !== '')
    .join(' · ');
}

/** The same of the whole run, on one line. */
export function totalsLine(view: RunModel, now: number): string {
  const { totals } = view;
  const until = view.reason === undefined ? now : Date.parse(view.lastAt ?? '');
  return [
    view.reason ?? 'running',
    plural(view.threadCount, 'thread'),
    usageText(totals),
    elapsed(until - Date.parse(view.firstAt ?? '')),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** `1 thread`, `2 threads`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
