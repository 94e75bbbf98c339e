import type { RunModel } from '../kernel/run-model.js';
import type { ThreadModel } from '../kernel/run-thread.js';
import { compactJson } from './plain-text.js';
import type { StyleName } from './style.js';
import { figuresOf } from './tree-figures.js';

/** One line of a tree, as yet of any width and with what events said in it as they said it. */
export interface Row {
  /** The first row of a thread. */
  isThread?: boolean;
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

/** How much is shown: everything; finished threads counted instead of listed; live threads only. */
export type Detail = 'full' | 'folded' | 'live';

export interface RowOptions {
  detail: Detail;
  unicode: boolean;
  /** Epoch ms. */
  now: number;
  /** Nothing is collected beyond this many rows: a frame must stay cheap, however many threads there are. */
  limit: number;
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
    quote: '“',
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
    quote: '"',
    bar: '|',
    tee: '|',
    end: '`',
    dash: '-',
  },
} as const;

type Glyphs = (typeof glyphs)[keyof typeof glyphs];

/** The rows of a tree, from the root down; more than `limit` of them when not all fit. */
export function treeRows(view: RunModel, root: ThreadModel, options: RowOptions): Row[] {
  const tree: Tree = {
    view,
    options,
    glyph: options.unicode ? glyphs.unicode : glyphs.ascii,
    live: options.detail === 'full' ? undefined : liveThreads(view),
    rows: [],
  };
  addThread(tree, root, { indent: '', branch: '', below: '' });
  return tree.rows;
}

/** Ids of the threads that have not ended, and of all above them. */
export function liveThreads(view: RunModel): ReadonlySet<string> {
  const live = new Set<string>();
  for (const threadId of Object.keys(view.live)) {
    for (let at: ThreadModel | undefined = view.threads[threadId]; at !== undefined && !live.has(at.threadId); ) {
      live.add(at.threadId);
      at = at.parentId === undefined ? undefined : view.threads[at.parentId];
    }
  }
  return live;
}

interface Tree {
  view: RunModel;
  options: RowOptions;
  glyph: Glyphs;
  /** Absent: all are listed. */
  live: ReadonlySet<string> | undefined;
  rows: Row[];
}

interface Place {
  indent: string;
  branch: string;
  /** The indent of what stands below. */
  below: string;
}

function addThread(tree: Tree, thread: ThreadModel, { indent, branch, below }: Place): void {
  const { view, glyph, live, rows } = tree;
  if (rows.length > tree.options.limit) return;
  rows.push({
    isThread: true,
    indent: indent + branch,
    ...statusMark(thread, glyph),
    text: `${thread.ordinal === 1 ? thread.agentName : `${thread.agentName} #${thread.ordinal}`}  ${statusText(thread)}`,
    figures: figuresOf(thread, tree.options.now),
  });
  const children = thread.children.flatMap((id) => view.threads[id] ?? []);
  const listed = live === undefined ? children : children.filter(({ threadId }) => live.has(threadId));
  const foldedCount = children.length - listed.length;
  const inner = children.length > 0 ? `${below}${glyph.bar}  ` : `${below}   `;
  for (const row of detailRows(tree, thread)) rows.push({ ...row, indent: inner });
  if (foldedCount > 0 && tree.options.detail === 'folded') {
    const end = listed.length === 0 ? glyph.end : glyph.tee;
    const folded = children.filter(({ threadId }) => live?.has(threadId) !== true);
    rows.push({
      indent: `${below}${end}${glyph.dash} `,
      symbol: '…',
      text: foldedText(folded),
      tone: 'dim',
      figures: '',
    });
  }
  listed.forEach((child, index) => {
    const isLast = index === listed.length - 1;
    addThread(tree, child, {
      indent: below,
      branch: `${isLast ? glyph.end : glyph.tee}${glyph.dash} `,
      below: `${below}${isLast ? ' ' : glyph.bar}  `,
    });
  });
}

function detailRows({ view, options, glyph }: Tree, thread: ThreadModel): Omit<Row, 'indent'>[] {
  const rows: Omit<Row, 'indent'>[] = [];
  for (const call of Object.values(thread.runningTools)) {
    const progress = call.progress === undefined ? '' : ` ${Math.round(call.progress * 100)}%`;
    const what = call.title ?? `${call.name} ${compactJson(call.args)}`;
    const status =
      call.status === 'requested' || call.status === 'executing' ? '' : ` (${call.status.replaceAll('_', ' ')})`;
    rows.push({ symbol: glyph.tool, text: `${what}${status}${progress}`, tone: 'cyan', figures: '' });
  }
  for (const question of thread.openQuestions === 0 ? [] : Object.values(view.questions))
    if (question.threadId === thread.threadId)
      rows.push({ symbol: '?', text: question.request.message, tone: 'yellow', figures: '' });
  if (thread.status === 'ended' && thread.reason !== 'completed' && thread.lastError !== undefined)
    rows.push({ symbol: '!', text: `${thread.lastError.code}: ${thread.lastError.message}`, tone: 'red', figures: '' });
  const text = thread.lastText.trimEnd();
  if (options.detail === 'full' && thread.status === 'running' && text !== '')
    rows.push({
      symbol: glyph.quote,
      text: lastLine(text),
      tone: 'dim',
      endsMatter: true,
      figures: '',
    });
  return rows;
}

function statusMark(thread: ThreadModel, glyph: Glyphs): { symbol: string; tone: StyleName } {
  if (thread.status === 'starting') return { symbol: glyph.starting, tone: 'cyan' };
  if (thread.status === 'awaiting_elicitation') return { symbol: glyph.asking, tone: 'yellow' };
  if (thread.status !== 'ended') return { symbol: glyph.running, tone: 'cyan' };
  if (thread.reason === 'completed') return { symbol: glyph.done, tone: 'green' };
  if (thread.reason === 'failed') return { symbol: glyph.failed, tone: 'red' };
  return { symbol: glyph.stopped, tone: 'yellow' };
}

function statusText(thread: ThreadModel): string {
  const loop = thread.loop === undefined ? '' : ` (iteration ${thread.loop.iteration} of ${thread.loop.maxIterations})`;
  if (thread.status === 'ended')
    return `${thread.handoffTarget === undefined ? thread.reason : `handed over to ${thread.handoffTarget}`}${loop}`;
  if (thread.status === 'awaiting_elicitation') return `waiting for an answer${loop}`;
  return `${thread.status === 'starting' ? 'starting' : 'running'}${loop}`;
}

function foldedText(threads: readonly ThreadModel[]): string {
  const byReason = new Map<string, number>();
  for (const { reason } of threads) byReason.set(reason ?? 'ended', (byReason.get(reason ?? 'ended') ?? 0) + 1);
  return [...byReason].map(([reason, count]) => `${count} ${reason}`).join(', ');
}

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1);
}
