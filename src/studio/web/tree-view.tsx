import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { RunModel } from '../../kernel/run-model.js';
import { oneLine } from './clipped.js';
import { costText, countText, durationText, standingOf } from './figures.js';
import type { SessionFeed } from './session-feed.js';
import { executorsOf, type TreeRow, treeRows } from './tree-rows.js';

const ROW = 30;

export interface TreeViewProps {
  readonly feed: SessionFeed;
  readonly model: RunModel;
  readonly selected: string;
  /** Epoch ms, for what still runs. */
  readonly now: number;
  readonly onSelect: (threadId: string) => void;
}

/** The threads of a run as a tree: who, what by, how it stands, tokens, cost, time. */
export function TreeView({ feed, model, selected, now, onSelect }: TreeViewProps): ReactNode {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [filter, setFilter] = useState('');
  const [view, setView] = useState({ top: 0, height: 600 });
  const frame = useRef<HTMLDivElement>(null);
  const executors = useMemo(() => executorsOf(feed.plan?.descriptor), [feed.plan]);
  const rows = treeRows(model, folded, filter);
  const place = rows.findIndex(({ thread }) => thread.threadId === selected);

  const look = () => {
    const element = frame.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const resized = new ResizeObserver(() => setView({ top: element.scrollTop, height: element.clientHeight }));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    const element = frame.current;
    if (element === null || place < 0) return;
    if (place * ROW < element.scrollTop) element.scrollTop = place * ROW;
    else if ((place + 1) * ROW > element.scrollTop + element.clientHeight)
      element.scrollTop = (place + 1) * ROW - element.clientHeight;
  }, [place]);

  const fold = (threadId: string, isFolded: boolean) => {
    const next = new Set(folded);
    if (isFolded) next.add(threadId);
    else next.delete(threadId);
    setFolded(next);
  };
  const goTo = (index: number) => {
    const row = rows[Math.max(0, Math.min(index, rows.length - 1))];
    if (row !== undefined) onSelect(row.thread.threadId);
  };
  const pressed = (event: KeyboardEvent) => {
    const row = rows[place];
    const page = Math.max(1, Math.floor(view.height / ROW) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: place + 1,
      ArrowUp: place - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: place + page,
      PageUp: place - page,
    };
    const move = moves[event.key];
    if (move !== undefined) goTo(move);
    else if (event.key === 'ArrowLeft' && row !== undefined) {
      if (row.thread.children.length > 0 && !row.isFolded) fold(row.thread.threadId, true);
      else if (row.thread.parentId !== undefined) onSelect(row.thread.parentId);
    } else if (event.key === 'ArrowRight' && row !== undefined) {
      if (row.isFolded) fold(row.thread.threadId, false);
      else if (row.thread.children.length > 0) goTo(place + 1);
    } else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(view.top / ROW) - 8);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + 8);
  return (
    <section className="tree-panel" aria-label="Threads">
      <div className="tree-tools">
        <input
          id="filter"
          type="search"
          placeholder="Filter threads  /"
          aria-label="Filter threads by agent, id or state"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
        <span className="quiet">
          {rows.length === model.threadCount ? model.threadCount : `${rows.length} of ${model.threadCount}`}
        </span>
      </div>
      <div className="tree-head" aria-hidden="true">
        <span>Agent</span>
        <span>State</span>
        <span className="num">Tokens</span>
        <span className="num">Cost</span>
        <span className="num">Time</span>
      </div>
      <div
        ref={frame}
        id="tree"
        className="tree"
        role="tree"
        tabIndex={0}
        aria-label="Tree of threads"
        aria-activedescendant={place < 0 ? undefined : `thread-${selected}`}
        onKeyDown={pressed}
        onScroll={look}
      >
        <div style={{ height: rows.length * ROW }} className="virtual-all" role="presentation">
          {rows.slice(first, last).map((row, at) => (
            <Row
              key={row.thread.threadId}
              row={row}
              top={(first + at) * ROW}
              place={first + at + 1}
              count={rows.length}
              executor={executors.get(row.thread.agentName)}
              isOpaque={feed.opaque.has(row.thread.agentName)}
              isSelected={row.thread.threadId === selected}
              now={now}
              onSelect={onSelect}
              onFold={fold}
            />
          ))}
        </div>
        {rows.length === 0 && (
          <p className="empty">{model.threadCount === 0 ? 'Nothing has begun yet.' : 'No thread is called that.'}</p>
        )}
      </div>
    </section>
  );
}

interface RowProps {
  readonly row: TreeRow;
  readonly top: number;
  readonly place: number;
  readonly count: number;
  readonly executor: string | undefined;
  readonly isOpaque: boolean;
  readonly isSelected: boolean;
  readonly now: number;
  readonly onSelect: (threadId: string) => void;
  readonly onFold: (threadId: string, isFolded: boolean) => void;
}

function Row({ row, top, place, count, executor, isOpaque, isSelected, now, onSelect, onFold }: RowProps): ReactNode {
  const { thread, depth, isFolded } = row;
  const { text, tone } = standingOf(thread.status, thread.reason);
  const until = thread.endedAt === undefined ? now : Date.parse(thread.endedAt);
  const { inputTokens, outputTokens } = thread.usage;
  const hasChildren = thread.children.length > 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus
    <div
      id={`thread-${thread.threadId}`}
      role="treeitem"
      className={`tree-row tone-${tone}${isSelected ? ' is-selected' : ''}`}
      aria-level={depth + 1}
      aria-selected={isSelected}
      aria-expanded={hasChildren ? !isFolded : undefined}
      aria-setsize={count}
      aria-posinset={place}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(thread.threadId)}
      title={`${thread.threadId === '' ? 'root' : thread.threadId}${thread.model === undefined ? '' : ` · ${thread.model}`}`}
    >
      <span className="who" style={{ paddingInlineStart: Math.min(depth, 12) * 16 }}>
        {hasChildren ? (
          <span
            className="fold"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation();
              onFold(thread.threadId, !isFolded);
            }}
          >
            {isFolded ? '▸' : '▾'}
          </span>
        ) : (
          <span className="fold" />
        )}
        <span className="dot" />
        <span className="name">{oneLine(thread.agentName, 80)}</span>
        {thread.ordinal > 1 && <span className="quiet">#{thread.ordinal}</span>}
        {executor !== undefined && executor !== 'local' && <span className="kind">{oneLine(executor, 24)}</span>}
        {isOpaque && (
          <span className="kind warn" title="Runs its own tools: policy and approvals do not apply to them">
            opaque
          </span>
        )}
        {thread.loop !== undefined && (
          <span className="quiet">
            {thread.loop.iteration}/{thread.loop.maxIterations}
          </span>
        )}
      </span>
      <span className="state">{text}</span>
      <span className="num">{countText(inputTokens + outputTokens)}</span>
      <span className="num">{costText(thread.usage)}</span>
      <span className="num">{durationText(until - Date.parse(thread.startedAt))}</span>
    </div>
  );
}
