import { type ReactNode, useCallback, useLayoutEffect, useRef, useState } from 'react';
import { RowHeights } from './row-heights.js';

const BEYOND = 400;
const NEAR_END = 48;

export interface VirtualListProps {
  readonly count: number;
  /** Height of a row that was not measured yet, px. */
  readonly estimate: number;
  readonly keyOf: (index: number) => string;
  readonly row: (index: number) => ReactNode;
  readonly label: string;
  /** Stays at the end while it grows, as long as whoever reads is there. */
  readonly follows: boolean;
}

/** A long list of which only the rows in sight exist. Rows are as high as what is in them. */
export function VirtualList({ count, estimate, keyOf, row, label, follows }: VirtualListProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const [heights] = useState(() => new RowHeights(estimate));
  const isAtEnd = useRef(true);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [, redraw] = useState(0);
  heights.resize(count);

  const observer = useRef<ResizeObserver>(undefined);
  observer.current ??= new ResizeObserver((entries) => {
    let grownAbove = 0;
    let isChanged = false;
    const top = frame.current?.scrollTop ?? 0;
    for (const { target, borderBoxSize } of entries) {
      const index = Number((target as HTMLElement).dataset.index);
      const height = borderBoxSize[0]?.blockSize ?? 0;
      if (!target.isConnected || height === 0) continue;
      const isAbove = heights.offsetOf(index) < top;
      const grown = heights.set(index, height);
      if (grown !== 0) isChanged = true;
      if (isAbove) grownAbove += grown;
    }
    if (!isChanged) return;
    if (frame.current !== null && grownAbove !== 0 && !isAtEnd.current) frame.current.scrollTop += grownAbove;
    redraw((times) => times + 1);
  });
  const measure = useCallback((element: HTMLLIElement | null) => {
    if (element === null) return;
    observer.current?.observe(element);
    return () => observer.current?.unobserve(element);
  }, []);

  const look = useCallback(() => {
    const element = frame.current;
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    setView({ top: element.scrollTop, height: element.clientHeight });
  }, []);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const resized = new ResizeObserver(look);
    resized.observe(element);
    return () => resized.disconnect();
  }, [look]);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element !== null && follows && isAtEnd.current) element.scrollTop = element.scrollHeight;
  });

  const first = heights.indexAt(Math.max(0, view.top - BEYOND));
  const last = Math.min(count - 1, heights.indexAt(view.top + view.height + BEYOND));
  const rows: ReactNode[] = [];
  for (let index = first; index <= last; index++)
    rows.push(
      <li
        key={keyOf(index)}
        ref={measure}
        data-index={index}
        className="virtual-row"
        aria-setsize={count}
        aria-posinset={index + 1}
        style={{ transform: `translateY(${heights.offsetOf(index)}px)` }}
      >
        {row(index)}
      </li>,
    );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div ref={frame} className="virtual" onScroll={look} tabIndex={0}>
      <ul className="virtual-all" aria-label={label} style={{ height: heights.total }}>
        {rows}
      </ul>
    </div>
  );
}
