import type { RunModel } from '../kernel/run-model.js';
import { visibleLine } from './plain-text.js';
import type { Style } from './style.js';
import { cutToWidth, cutToWidthFromEnd, displayWidth } from './text-width.js';
import { plural, totalsLine } from './tree-figures.js';
import { liveThreads, type Row, treeRows } from './tree-rows.js';

export interface TreeOptions {
  /** Columns and lines at most. */
  width: number;
  height: number;
  style: Style;
  unicode: boolean;
  /** Epoch ms, for the time that a live thread has taken. */
  now: number;
}

/** The tree of threads as lines of a terminal, none wider than `width`. What came from events is neutralised. */
export function treeLines(view: RunModel, options: TreeOptions): string[] {
  const { style, width, unicode, now } = options;
  const root = view.threads[''];
  if (root === undefined) return [];
  const footer = style('dim', cutToWidth(totalsLine(view, now), width));
  const room = Math.max(1, options.height - 1);
  for (const detail of ['full', 'folded'] as const) {
    const rows = treeRows(view, root, { detail, unicode, now, limit: room });
    if (rows.length <= room) return [...rows.map((row) => draw(row, options)), footer];
  }
  const rows = treeRows(view, root, { detail: 'live', unicode, now, limit: room });
  if (rows.length <= room) return [...rows.map((row) => draw(row, options)), footer];
  const shown = rows.slice(0, room - 1);
  const missing = liveThreads(view).size - shown.filter(({ isThread }) => isThread === true).length;
  const more = style('dim', cutToWidth(missing > 0 ? `… and ${plural(missing, 'more live thread')}` : '…', width));
  return [...shown.map((row) => draw(row, options)), more, footer];
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
