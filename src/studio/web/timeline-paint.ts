import { oneLine } from './clipped.js';
import { durationText } from './figures.js';
import { type Lane, type Span, spansIn } from './lanes.js';
import { type Stretch, ticksOf } from './time-scale.js';

export const LANE = 22;
export const RULER = 24;
export const NAMES = 150;

export interface PaintedLane {
  readonly lane: Lane | undefined;
  readonly threadId: string;
  readonly name: string;
  readonly depth: number;
}

export interface Colours {
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly select: string;
  readonly model: string;
  readonly tool: string;
  readonly wait: string;
  readonly ok: string;
  readonly bad: string;
}

export interface Painting {
  readonly lanes: readonly PaintedLane[];
  readonly stretch: Stretch;
  /** When the run began, epoch ms. */
  readonly origin: number;
  readonly now: number;
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly selected: string;
  readonly hovered: Span | undefined;
  /** A moment of the past, epoch ms. */
  readonly cursor: number | undefined;
  /** Where a part of the log is lost, epoch ms of what stands before it. */
  readonly gaps: readonly number[];
  readonly colours: Colours;
}

/** The lanes in sight, from nothing; as many strokes as there is to see, however many spans there are. */
export function paint(context: CanvasRenderingContext2D, painting: Painting): void {
  const { width, height, scrollTop, lanes, colours, stretch, origin } = painting;
  const room = width - NAMES;
  const x = (at: number) => NAMES + ((at - stretch.from) / Math.max(1, stretch.until - stretch.from)) * room;
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  const first = Math.max(0, Math.floor(scrollTop / LANE));
  const last = Math.min(lanes.length, Math.ceil((scrollTop + height - RULER) / LANE));
  const ticks = ticksOf(stretch, origin, room);
  context.fillStyle = colours.line;
  for (const tick of ticks) context.fillRect(Math.round(x(origin + tick)), RULER - 5, 1, height);
  for (let at = first; at < last; at++) {
    const one = lanes[at];
    if (one !== undefined) paintLane(context, painting, one, RULER + at * LANE - scrollTop, x);
  }
  context.fillStyle = colours.bad;
  for (const gap of painting.gaps) if (x(gap) >= NAMES) context.fillRect(Math.round(x(gap)), RULER - 5, 2, height);
  if (painting.cursor !== undefined) {
    context.fillStyle = colours.wait;
    context.fillRect(Math.round(x(painting.cursor)), 0, 2, height);
  }
  context.clearRect(0, 0, width, RULER - 5);
  context.fillStyle = colours.quiet;
  context.textAlign = 'center';
  for (const tick of ticks) context.fillText(durationText(tick), Math.max(NAMES + 18, x(origin + tick)), RULER / 2 - 2);
  context.textAlign = 'start';
}

function paintLane(
  context: CanvasRenderingContext2D,
  { selected, colours, width, stretch, now, hovered }: Painting,
  { lane, threadId, name, depth }: PaintedLane,
  y: number,
  x: (at: number) => number,
): void {
  if (threadId === selected) {
    context.fillStyle = colours.select;
    context.fillRect(0, y, width, LANE);
  }
  context.save();
  context.beginPath();
  context.rect(NAMES, y, width - NAMES, LANE);
  context.clip();
  // What would cover the same pixel is painted once.
  let painted = { kind: '', end: Number.NEGATIVE_INFINITY };
  for (const span of lane === undefined ? [] : spansIn(lane, stretch.from, stretch.until, now)) {
    const start = x(span.start);
    const end = Math.max(start + 2, x(span.end ?? now));
    if (end <= painted.end + 0.5 && painted.kind === span.kind && span !== hovered) continue;
    painted = { kind: span.kind, end };
    paintSpan(context, span, start, end, y, colours);
    if (span === hovered) {
      context.strokeStyle = colours.text;
      context.strokeRect(start - 0.5, y + 2.5, end - start + 1, LANE - 5);
    }
  }
  context.restore();
  context.fillStyle = colours.text;
  const indent = 10 + Math.min(depth, 6) * 8;
  context.fillText(oneLine(name, 60), indent, y + LANE / 2, NAMES - indent - 6);
}

function paintSpan(
  context: CanvasRenderingContext2D,
  { kind, failed, label }: Span,
  start: number,
  end: number,
  y: number,
  colours: Colours,
): void {
  if (kind === 'end') {
    context.fillStyle = failed ? colours.bad : colours.ok;
    context.fillRect(start, y + 3, 2, LANE - 6);
    return;
  }
  context.fillStyle = failed ? colours.bad : colours[kind];
  if (kind === 'wait') context.fillRect(start, y + LANE - 6, end - start, 3);
  else context.fillRect(start, kind === 'tool' ? y + 6 : y + 4, end - start, kind === 'tool' ? LANE - 12 : LANE - 8);
  // A letter or two would say nothing.
  if (kind === 'wait' || end - Math.max(NAMES, start) < 60) return;
  context.save();
  context.beginPath();
  context.rect(Math.max(NAMES, start), y, end - Math.max(NAMES, start) - 4, LANE);
  context.clip();
  context.fillStyle = colours.select;
  context.font = '11px system-ui, sans-serif';
  context.fillText(oneLine(label, 80), Math.max(NAMES, start) + 5, y + LANE / 2);
  context.restore();
}
