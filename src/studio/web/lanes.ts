import type { AgentEvent } from '../../contracts/index.js';

export type SpanKind = 'model' | 'tool' | 'wait' | 'end';

/** What a thread did for a while. Times are epoch ms. */
export interface Span {
  readonly kind: SpanKind;
  readonly start: number;
  /** Undefined while it goes on. */
  end: number | undefined;
  readonly label: string;
  readonly seq: number;
  failed: boolean;
}

export interface Lane {
  readonly threadId: string;
  readonly spans: Span[];
  /** The longest span so far: whoever looks for what reaches into a moment starts so much earlier. */
  longest: number;
  isOver: boolean;
}

interface OpenLane extends Lane {
  /** When a model's turn could begin: undefined while none can. */
  turnFrom: number | undefined;
  turn: Span | undefined;
  open: Map<string, Span>;
}

/** Lanes per thread over time, folded from the events of a run in their order. */
export class Lanes {
  readonly #lanes = new Map<string, OpenLane>();
  /** Of the whole run. */
  from = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;

  lane(threadId: string): Lane | undefined {
    return this.#lanes.get(threadId);
  }

  add(event: AgentEvent): void {
    const now = Date.parse(event.timestamp);
    if (!Number.isFinite(now)) return;
    this.from = Math.min(this.from, now);
    this.until = Math.max(this.until, now);
    const lane = this.#laneOf(event.threadId ?? '');
    switch (event.type) {
      case 'message':
        if (event.role === 'user') {
          lane.turnFrom ??= now;
          lane.isOver = false;
        } else this.#turn(lane, now, event.seq, '');
        break;
      case 'usage':
        this.#turn(lane, now, event.seq, event.model ?? '');
        break;
      case 'tool_request':
        this.#turn(lane, now, event.seq, '');
        this.#endTurn(lane, now);
        this.#begin(lane, `t${event.requestId}`, {
          kind: 'tool',
          start: now,
          end: undefined,
          label: event.displayName ?? event.name,
          seq: event.seq,
          failed: false,
        });
        break;
      case 'tool_response':
        this.#end(lane, `t${event.requestId}`, now, event.isError === true);
        if (lane.open.size === 0) lane.turnFrom = now;
        break;
      case 'elicitation_request':
        this.#begin(lane, `q${event.requestId}`, {
          kind: 'wait',
          start: now,
          end: undefined,
          label: event.title ?? event.message,
          seq: event.seq,
          failed: false,
        });
        break;
      case 'elicitation_response':
        this.#end(lane, `q${event.requestId}`, now, false);
        break;
      case 'stream_end': {
        this.#endTurn(lane, now);
        for (const key of [...lane.open.keys()]) this.#end(lane, key, now, true);
        lane.turnFrom = undefined;
        lane.isOver = true;
        const failed = event.reason !== 'completed';
        lane.spans.push({ kind: 'end', start: now, end: now, label: event.reason, seq: event.seq, failed });
        break;
      }
      default:
    }
  }

  #laneOf(threadId: string): OpenLane {
    let lane = this.#lanes.get(threadId);
    if (lane === undefined) {
      lane = {
        threadId,
        spans: [],
        longest: 0,
        isOver: false,
        turnFrom: undefined,
        turn: undefined,
        open: new Map(),
      };
      this.#lanes.set(threadId, lane);
    }
    return lane;
  }

  /** A sign of life of the model: its turn reaches at least up to here. */
  #turn(lane: OpenLane, now: number, seq: number, label: string): void {
    if (lane.turn !== undefined) {
      lane.turn.end = now;
      lane.longest = Math.max(lane.longest, now - lane.turn.start);
      return;
    }
    const start = lane.turnFrom ?? now;
    lane.turn = { kind: 'model', start, end: now, label: label || 'model', seq, failed: false };
    lane.turnFrom = undefined;
    lane.longest = Math.max(lane.longest, now - start);
    lane.spans.push(lane.turn);
  }

  #endTurn(lane: OpenLane, now: number): void {
    if (lane.turn !== undefined) lane.turn.end = Math.max(lane.turn.end ?? now, lane.turn.start);
    lane.turn = undefined;
  }

  #begin(lane: OpenLane, key: string, span: Span): void {
    if (lane.open.has(key)) return;
    lane.open.set(key, span);
    lane.spans.push(span);
  }

  #end(lane: OpenLane, key: string, now: number, failed: boolean): void {
    const span = lane.open.get(key);
    if (span === undefined) return;
    span.end = now;
    span.failed = failed;
    lane.longest = Math.max(lane.longest, now - span.start);
    lane.open.delete(key);
  }
}

/** The spans of a lane that reach into a stretch of time, in order of their beginning. */
export function spansIn(lane: Lane, from: number, until: number, now: number): Span[] {
  const reach = lane.isOver ? lane.longest : Math.max(lane.longest, now - (lane.spans[0]?.start ?? now));
  let low = 0;
  let high = lane.spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lane.spans[middle]?.start ?? 0) < from - reach) low = middle + 1;
    else high = middle;
  }
  const found: Span[] = [];
  for (let at = low; at < lane.spans.length; at++) {
    const span = lane.spans[at];
    if (span === undefined || span.start > until) break;
    if ((span.end ?? now) >= from) found.push(span);
  }
  return found;
}
