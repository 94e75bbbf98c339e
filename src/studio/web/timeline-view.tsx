import { type PointerEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { RunModel } from '../../kernel/run-model.js';
import { oneLine } from './clipped.js';
import { durationText } from './figures.js';
import { type Span, spansIn } from './lanes.js';
import type { SessionFeed } from './session-feed.js';
import { moved, type Stretch, zoomed } from './time-scale.js';
import { type Colours, LANE, NAMES, type Painting, paint, RULER } from './timeline-paint.js';
import { treeRows } from './tree-rows.js';

export interface TimelineViewProps {
  readonly feed: SessionFeed;
  readonly model: RunModel;
  readonly threadId: string;
  /** A moment of the past. */
  readonly seq: number | undefined;
  /** Epoch ms, for what still runs. */
  readonly now: number;
  readonly onThread: (threadId: string) => void;
}

interface Hover {
  readonly span: Span;
  readonly name: string;
  readonly x: number;
  readonly y: number;
}

const NOTHING_FOLDED: ReadonlySet<string> = new Set();
const KINDS: Readonly<Record<Span['kind'], string>> = {
  model: 'model',
  tool: 'tool',
  wait: 'waits for a person',
  end: 'ended',
};

/** Lanes per thread over time. */
export function TimelineView({ feed, model, threadId, seq, now, onThread }: TimelineViewProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const legend = useRef<HTMLDivElement>(null);
  const painted = useRef<Painting>(undefined);
  const grabbed = useRef<{ readonly x: number; readonly stretch: Stretch }>(undefined);
  const [chosen, setChosen] = useState<Stretch>();
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [scrollTop, setScrollTop] = useState(0);
  const [hover, setHover] = useState<Hover>();

  const from = Number.isFinite(feed.lanes.from) ? feed.lanes.from : 0;
  const isOver = model.reason !== undefined;
  const end = Math.max(isOver || !Number.isFinite(now) ? feed.lanes.until : now, from + 1);
  const whole = { from, until: from + (end - from) * 1.02 };
  const stretch = chosen ?? whole;
  const rows = treeRows(model, NOTHING_FOLDED, '');
  const lost = feed.plan?.gaps.length ?? 0;

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const resized = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, event.clientX - element.getBoundingClientRect().left);
    };
    // React listens in a way that cannot keep the page from zooming.
    element.addEventListener('wheel', wheel, { passive: false });
    element.addEventListener('keydown', pressed);
    return () => {
      element.removeEventListener('wheel', wheel);
      element.removeEventListener('keydown', pressed);
    };
  });
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || size.width === 0 || legend.current === null) return;
    const ratio = devicePixelRatio;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const cursor = seq === undefined ? undefined : Date.parse(feed.eventAt(seq)?.timestamp ?? '');
    painted.current = {
      lanes: rows.map(({ thread, depth }) => ({
        lane: feed.lanes.lane(thread.threadId),
        threadId: thread.threadId,
        name: thread.ordinal > 1 ? `${thread.agentName} #${thread.ordinal}` : thread.agentName,
        depth,
      })),
      stretch,
      origin: from,
      now: end,
      ...size,
      scrollTop,
      selected: threadId,
      hovered: hover?.span,
      cursor: Number.isFinite(cursor) ? cursor : undefined,
      gaps: gapsIn(feed, from),
      colours: coloursOf(legend.current),
    };
    paint(context, painted.current);
  });

  const zoom = (factor: number, x = (size.width + NAMES) / 2) => {
    const share = Math.max(0, (x - NAMES) / Math.max(1, size.width - NAMES));
    const next = zoomed(stretch, whole, stretch.from + share * (stretch.until - stretch.from), factor);
    setChosen(next.until - next.from >= whole.until - whole.from ? undefined : next);
  };
  const move = (share: number) => setChosen(moved(stretch, whole, share * (stretch.until - stretch.from)));
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') move(event.key === 'ArrowLeft' ? -0.15 : 0.15);
    else if (event.key === '+' || event.key === '=') zoom(0.7);
    else if (event.key === '-') zoom(1.4);
    else if (event.key === '0') setChosen(undefined);
    else return;
    event.preventDefault();
  };
  const pointed = (event: PointerEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    if (grabbed.current !== undefined && event.buttons === 1) {
      const length = grabbed.current.stretch.until - grabbed.current.stretch.from;
      const by = ((grabbed.current.x - x) / Math.max(1, size.width - NAMES)) * length;
      if (Math.abs(grabbed.current.x - x) > 3) setChosen(moved(grabbed.current.stretch, whole, by));
      return;
    }
    setHover(painted.current === undefined ? undefined : hitIn(painted.current, x, y));
  };
  const click = (event: PointerEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    const start = grabbed.current;
    grabbed.current = undefined;
    if (start === undefined || Math.abs(start.x - (event.clientX - bounds.left)) > 3) return;
    const row = rows[Math.floor((event.clientY - bounds.top - RULER + scrollTop) / LANE)];
    if (row !== undefined && event.clientY - bounds.top > RULER) onThread(row.thread.threadId);
  };

  return (
    <div className="timeline">
      <div className="view-tools" ref={legend}>
        <span className="swatch model" /> model <span className="swatch tool" /> tool <span className="swatch wait" />{' '}
        waits for you <span className="swatch ok" /> <span className="swatch bad" /> end{' '}
        {lost > 0 && `, and across all: a part of the log is lost (${lost})`}
        <span className="swatch select" />
        <span className="grow" />
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1.4)}>
          −
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(0.7)}>
          +
        </button>
        <button type="button" aria-pressed={chosen === undefined} onClick={() => setChosen(undefined)}>
          Whole run
        </button>
      </div>
      <div
        ref={frame}
        className="timeline-frame"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget }) => {
          setScrollTop(currentTarget.scrollTop);
          setHover(undefined);
        }}
      >
        <div style={{ height: rows.length * LANE + RULER }}>
          <canvas
            ref={canvas}
            role="img"
            aria-label={`Timeline of ${rows.length} threads over ${durationText(end - from)}; figures of each are in the tree`}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              grabbed.current = { x: event.clientX - event.currentTarget.getBoundingClientRect().left, stretch };
            }}
            onPointerMove={pointed}
            onPointerUp={click}
            onPointerLeave={() => setHover(undefined)}
            onDoubleClick={() => setChosen(undefined)}
          />
        </div>
      </div>
      {hover !== undefined && <Hint hover={hover} width={size.width} now={end} />}
    </div>
  );
}

function Hint({ hover: { span, name, x, y }, width, now }: { hover: Hover; width: number; now: number }): ReactNode {
  return (
    <div className="hint" role="status" style={{ left: Math.min(x + 12, Math.max(0, width - 270)), top: y + 52 }}>
      <strong>{oneLine(name, 60)}</strong> {KINDS[span.kind]}
      <br />
      {oneLine(span.label, 160)}
      <br />
      <span className="quiet">
        {span.kind === 'end' ? '' : durationText((span.end ?? now) - span.start)}
        {span.end === undefined ? ' so far' : ''} · event {span.seq}
      </span>
    </div>
  );
}

/** Where a part of the log is lost: behind the event before it, or, with none before it, where the run began. */
const gapsIn = (feed: SessionFeed, from: number): number[] =>
  (feed.plan?.gaps ?? []).map(({ afterSeq }) => {
    const at = Date.parse(feed.eventAt(afterSeq)?.timestamp ?? '');
    return Number.isFinite(at) ? at : from;
  });

/** What a point stands on: a wait before a tool before a model, the thinner before the wider. */
function hitIn({ lanes, stretch, now, width, scrollTop }: Painting, x: number, y: number): Hover | undefined {
  const one = lanes[Math.floor((y - RULER + scrollTop) / LANE)];
  if (one?.lane === undefined || y < RULER || x < NAMES) return undefined;
  const perPixel = (stretch.until - stretch.from) / Math.max(1, width - NAMES);
  const at = stretch.from + (x - NAMES) * perPixel;
  const found = spansIn(one.lane, at - 3 * perPixel, at + 3 * perPixel, now);
  const span = found.at(-1);
  return span === undefined ? undefined : { span, name: one.name, x, y };
}

/** As the style has them now, light or dark: a canvas knows no variables. */
function coloursOf(legend: HTMLElement): Colours {
  const of = (name: string) => {
    const swatch = legend.querySelector(`.swatch.${name}`);
    return swatch === null ? 'gray' : getComputedStyle(swatch).backgroundColor;
  };
  const { color, borderBottomColor } = getComputedStyle(legend);
  return {
    text: color,
    quiet: color,
    line: borderBottomColor,
    select: of('select'),
    model: of('model'),
    tool: of('tool'),
    wait: of('wait'),
    ok: of('ok'),
    bad: of('bad'),
  };
}
