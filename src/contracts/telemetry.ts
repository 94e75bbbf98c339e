import type { Bag, Open } from './open.js';

/** Passed by hand, never through async context. */
export interface TraceContext {
  traceId: string;
  parentSpanId?: string;
  baggage?: Record<string, string>;
}

export interface TelemetrySpan {
  createChild(name: string, attributes?: Bag): TelemetrySpan;
  end(status: Open<'ok' | 'error' | 'aborted'>): void;
  getContext(): TraceContext;
}

/** In OpenTelemetry's terms, with no import of it. Never user content or tool arguments unless asked for. */
export interface TelemetryBridge {
  startAgentSpan(agentName: string, attributes?: Bag, parent?: TraceContext): TelemetrySpan;
  recordToolCall(span: TelemetrySpan, attributes: Bag): void;
  recordModelCall(span: TelemetrySpan, attributes: Bag): void;
  recordError(span: TelemetrySpan, error: { code: string; message: string }): void;
}
