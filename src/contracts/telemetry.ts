import type { Bag, Open } from './open.js';

/** Passed by hand, never through async context. */
export interface TraceContext {
  traceId: string;
  parentSpanId?: string;
  /** W3C trace flags; absent: sampled. */
  traceFlags?: number;
  baggage?: Record<string, string>;
}

export interface TelemetrySpan {
  createChild(name: string, attributes?: Bag): TelemetrySpan;
  setAttributes?(attributes: Bag): void;
  /** Once. */
  end(status: Open<'ok' | 'error' | 'aborted'>): void;
  getContext(): TraceContext;
}

/**
 * In OpenTelemetry's terms, with no import of it. Called while the run goes on: it must not wait. One that throws is left
 * alone from then on.
 */
export interface TelemetryBridge {
  /** True: messages, tool arguments and results are recorded too. Default: none of them. */
  readonly captureContent?: boolean;
  /** One per run of a thread, ended at its `stream_end`. No parent: a trace of its own. */
  startAgentSpan(agentName: string, attributes?: Bag, parent?: TraceContext): TelemetrySpan;
  /** When a call has its response; `span` is the call's own. */
  recordToolCall(span: TelemetrySpan, attributes: Bag): void;
  /** When a model has answered or failed; `span` is the call's own. */
  recordModelCall(span: TelemetrySpan, attributes: Bag): void;
  recordError(span: TelemetrySpan, error: { code: string; message: string }): void;
}

/** One request to a model, about to be sent. */
export interface TracedModelCall {
  /** `provider/name`. */
  model: string;
  provider: string;
  /** From 1. */
  attempt: number;
  /** How it came to this model, where more than a name decided. */
  routing?: Bag | undefined;
  /** Of a call of the house: `summary`, `classify`. */
  purpose?: string;
}

export interface ModelCallOutcome {
  finishReason?: string | undefined;
  error?: { code: string; message: string } | undefined;
  isAborted?: boolean;
}

export interface ModelCallRecord {
  /** After the call's `usage` was published. A second time does nothing. */
  end(outcome: ModelCallOutcome): void;
}
