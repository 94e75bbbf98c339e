import { compactJson, visibleLine } from './plain-text.js';
import type { RunView, ThreadView, Totals } from './run-view.js';
import type { Style, StyleName } from './style.js';
import { cutToWidth, cutToWidthFromEnd, displayWidth } from './text-width.js';

export interface TreeOptions {
  /** Columns and lines at most. */
  width: number;
  height: number;
  style: Style;
  unicode: boolean;
  /** Epoch ms, for the time that a live thread has taken. */
  now: number;
}

/** How much is shown: everything; finished threads counted instead of listed; live threads only. */
type Detail = 'full' | 'folded' | 'live';

interface Row {
  /** Drawn before the text: the branches of the tree. */
  indent: string;
  symbol: string;
  text: string;
  tone: StyleName | undefined;
  /** Cut at its beginning where it is too long. */
  endsMatter?: boolean;
  /** A second column of figures, dropped first when there is no room. */
  figures: string;
}

const glyphs = {
  unicode: {
    running: '●',
    starting: '○',
    asking: '?',
    done: '✓',
    failed: '✗',
    stopped: '■',
    tool: '→',
    bar: '│',
    tee: '├',
    end: '└',
    dash: '─',
  },
  ascii: {
    running: '*',
    starting: 'o',
    asking: '?',
    done: '+',
    failed: 'x',
    stopped: '#',
    tool: '>',
    bar: '|',
    tee: '|',
    end: '`',
    dash: '-',
  },
} as const;

/** The tree of threads as lines of a terminal, none wider than `width`. What came from events is neutralised. */
export function treeLines(view: RunView, options: TreeOptions): string[] {
  const root = view.threads.get('');
  if (root === undefined) return [];
  const footer = [options.style('dim', cutToWidth(totalsLine(view, options.now), options.width))];
  const room = Math.max(1, options.height - footer.length);
  for (const detail of ['full', 'folded', 'live'] as const) {
    const rows = threadRows(view, root, { detail, indent: '', isLast: true, isRoot: true }, options);
    if (rows.length <= room) return [...rows.map((row) => draw(row, options)), ...footer];
    if (detail === 'live') {
      const shown = rows.slice(0, Math.max(1, room - 1));
      const left = options.style('dim', cutToWidth(`… ${rows.length - shown.length} more lines`, options.width));
      return [...shown.map((row) => draw(row, options)), ...(room > 1 ? [left] : []), ...footer];
    }
  }
  return footer;
}

interface Place {
  detail: Detail;
  indent: string;
  isLast: boolean;
  isRoot: boolean;
}

function threadRows(view: RunView, thread: ThreadView, place: Place, options: TreeOptions): Row[] {
  const glyph = options.unicode ? glyphs.unicode : glyphs.ascii;
  const branch = place.isRoot ? '' : `${place.isLast ? glyph.end : glyph.tee}${glyph.dash} `;
  const below = place.isRoot ? '' : place.indent + (place.isLast ? '   ' : `${glyph.bar}  `);
  const rows: Row[] = [
    {
      indent: place.indent + branch,
      ...statusMark(thread, options.unicode),
      text: `${nameOf(view, thread)}  ${statusText(thread)}`,
      figures: figuresOf(thread.usage, thread, options.now),
    },
  ];
  const children = thread.children.flatMap((id) => view.threads.get(id) ?? []);
  const listed = place.detail === 'full' ? children : children.filter((child) => isLive(view, child));
  const folded = children.filter((child) => !listed.includes(child));
  const inner = listed.length + folded.length > 0 ? `${below}${glyph.bar}  ` : `${below}   `;
  for (const detail of detailRows(view, thread, place.detail, options)) rows.push({ ...detail, indent: inner });
  if (folded.length > 0 && place.detail === 'folded')
    rows.push({
      indent: `${below}${listed.length === 0 ? glyph.end : glyph.tee}${glyph.dash} `,
      symbol: '…',
      text: foldedText(folded),
      tone: 'dim',
      figures: '',
    });
  listed.forEach((child, index) => {
    const isLast = index === listed.length - 1;
    rows.push(...threadRows(view, child, { detail: place.detail, indent: below, isLast, isRoot: false }, options));
  });
  return rows;
}

function detailRows(view: RunView, thread: ThreadView, detail: Detail, options: TreeOptions): Omit<Row, 'indent'>[] {
  const glyph = options.unicode ? glyphs.unicode : glyphs.ascii;
  const rows: Omit<Row, 'indent'>[] = [];
  for (const call of thread.runningTools.values()) {
    const progress = call.progress === undefined ? '' : ` ${Math.round(call.progress * 100)}%`;
    const what = call.title ?? `${call.name} ${compactJson(call.args)}`;
    const status =
      call.status === 'requested' || call.status === 'executing' ? '' : ` (${call.status.replaceAll('_', ' ')})`;
    rows.push({ symbol: glyph.tool, text: `${what}${status}${progress}`, tone: 'cyan', figures: '' });
  }
  for (const question of view.questions.values())
    if (question.threadId === thread.threadId)
      rows.push({ symbol: '?', text: question.request.message, tone: 'yellow', figures: '' });
  if (thread.status === 'ended' && thread.reason !== 'completed' && thread.lastError !== undefined)
    rows.push({ symbol: '!', text: `${thread.lastError.code}: ${thread.lastError.message}`, tone: 'red', figures: '' });
  const text = thread.lastText.trimEnd();
  if (detail === 'full' && thread.status === 'running' && text !== '')
    rows.push({
      symbol: options.unicode ? '“' : '"',
      text: lastLine(text),
      tone: 'dim',
      endsMatter: true,
      figures: '',
    });
  return rows;
}

function draw(row: Row, options: TreeOptions): string {
  const indent = cutToWidth(row.indent, Math.max(0, options.width - 4));
  const room = options.width - displayWidth(indent) - displayWidth(row.symbol) - 1;
  const text = (row.endsMatter === true ? cutToWidthFromEnd : cutToWidth)(visibleLine(row.text), room);
  const figures = visibleLine(row.figures);
  const spare = room - displayWidth(text) - 2;
  const aside = figures !== '' && displayWidth(figures) <= spare ? `  ${options.style('dim', figures)}` : '';
  const mark = row.tone === undefined ? row.symbol : options.style(row.tone, row.symbol);
  const body = row.tone === 'dim' ? options.style('dim', text) : text;
  return `${options.style('dim', indent)}${mark} ${body}${aside}`;
}

function statusMark(thread: ThreadView, unicode: boolean): { symbol: string; tone: StyleName } {
  const glyph = unicode ? glyphs.unicode : glyphs.ascii;
  if (thread.status === 'starting') return { symbol: glyph.starting, tone: 'cyan' };
  if (thread.status === 'awaiting_elicitation') return { symbol: glyph.asking, tone: 'yellow' };
  if (thread.status !== 'ended') return { symbol: glyph.running, tone: 'cyan' };
  if (thread.reason === 'completed') return { symbol: glyph.done, tone: 'green' };
  if (thread.reason === 'failed') return { symbol: glyph.failed, tone: 'red' };
  return { symbol: glyph.stopped, tone: 'yellow' };
}

function statusText(thread: ThreadView): string {
  const loop = thread.loop === undefined ? '' : ` (iteration ${thread.loop.iteration} of ${thread.loop.maxIterations})`;
  if (thread.status === 'ended')
    return `${thread.handoffTarget === undefined ? thread.reason : `handed over to ${thread.handoffTarget}`}${loop}`;
  if (thread.status === 'awaiting_elicitation') return `waiting for an answer${loop}`;
  return `${thread.status === 'starting' ? 'starting' : 'running'}${loop}`;
}

/** The agent's name; from its second thread below the same parent on with a number. */
function nameOf(view: RunView, thread: ThreadView): string {
  const siblings = thread.parentId === undefined ? [] : (view.threads.get(thread.parentId)?.children ?? []);
  const before = siblings.slice(0, siblings.indexOf(thread.threadId));
  const same = before.filter((id) => view.threads.get(id)?.agentName === thread.agentName).length;
  return same === 0 ? thread.agentName : `${thread.agentName} #${same + 1}`;
}

function figuresOf(usage: Totals, thread: ThreadView, now: number): string {
  const until = thread.endedAt === undefined ? now : Date.parse(thread.endedAt);
  const tools = thread.toolCalls === 0 ? '' : plural(thread.toolCalls, 'tool call');
  return [tools, usageText(usage), elapsed(until - Date.parse(thread.startedAt))]
    .filter((part) => part !== '')
    .join(' · ');
}

function totalsLine(view: RunView, now: number): string {
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

function isLive(view: RunView, thread: ThreadView): boolean {
  if (thread.status !== 'ended') return true;
  return thread.children.some((id) => {
    const child = view.threads.get(id);
    return child !== undefined && isLive(view, child);
  });
}

function foldedText(threads: readonly ThreadView[]): string {
  const byReason = new Map<string, number>();
  for (const { reason } of threads) byReason.set(reason ?? 'ended', (byReason.get(reason ?? 'ended') ?? 0) + 1);
  return [...byReason].map(([reason, count]) => `${count} ${reason}`).join(', ');
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
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
