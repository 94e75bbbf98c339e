import type { Span, SpanContext, Tracer } from '@opentelemetry/api';
import type { Bag, TelemetryBridge, TelemetrySpan, TraceContext } from '../contracts/index.js';
import { TroupeError } from '../kernel/errors.js';

type Api = typeof import('@opentelemetry/api');

/** A `Tracer` of `@opentelemetry/api`: named by its shape, so that these types need no package that may be absent. */
export interface OtelTracer {
  startSpan(name: string, options?: object, context?: object): object;
}

export interface OtelOptions {
  /** Default: the tracer `troupe` of the global provider. */
  tracer?: OtelTracer;
  /** True: messages, tool arguments and results become attributes. Default: none of them leaves the process. */
  captureContent?: boolean;
}

/**
 * Spans in OpenTelemetry, by the conventions for generative AI: `invoke_agent` per run of an agent, below it `chat` per
 * model call and `execute_tool` per tool call. Contexts are passed by hand: no async context is switched on. Rejects with
 * `MISSING_PACKAGE` when `@opentelemetry/api` is not installed.
 */
export async function otelTelemetry(options: OtelOptions = {}): Promise<TelemetryBridge> {
  const api = await loadApi();
  const tracer = (options.tracer as Tracer | undefined) ?? api.trace.getTracer('troupe');
  const parentOf = (parent: TraceContext | undefined) =>
    parent?.parentSpanId === undefined
      ? api.ROOT_CONTEXT
      : api.trace.setSpanContext(api.ROOT_CONTEXT, {
          traceId: parent.traceId,
          spanId: parent.parentSpanId,
          traceFlags: parent.traceFlags ?? api.TraceFlags.SAMPLED,
        });
  return {
    captureContent: options.captureContent ?? false,
    startAgentSpan(agentName, attributes = {}, parent) {
      const span = tracer.startSpan(
        `invoke_agent ${agentName}`,
        { kind: api.SpanKind.INTERNAL, attributes: attributesOf(attributes) },
        parentOf(parent),
      );
      return new OtelSpan(api, tracer, span, parent?.baggage);
    },
    recordToolCall: (span, attributes) => span.setAttributes?.(attributes),
    recordModelCall: (span, attributes) => span.setAttributes?.(attributes),
    recordError(span, { code, message }) {
      // A message may quote what was said.
      const attributes: Bag = { 'error.type': code };
      if (options.captureContent) attributes['error.message'] = message;
      span.setAttributes?.(attributes);
    },
  };
}

async function loadApi(): Promise<Api> {
  try {
    return await import('@opentelemetry/api');
  } catch (thrown) {
    throw new TroupeError({
      code: 'MISSING_PACKAGE',
      message: 'telemetry needs the package @opentelemetry/api: npm i @opentelemetry/api',
      cause: thrown,
    });
  }
}

class OtelSpan implements TelemetrySpan {
  readonly #context: SpanContext;

  constructor(
    private readonly api: Api,
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly baggage: TraceContext['baggage'],
  ) {
    this.#context = span.spanContext();
  }

  createChild(name: string, attributes: Bag = {}): TelemetrySpan {
    const { api } = this;
    const kind = name.startsWith('chat ') ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL;
    const parent = api.trace.setSpan(api.ROOT_CONTEXT, this.span);
    const span = this.tracer.startSpan(name, { kind, attributes: attributesOf(attributes) }, parent);
    return new OtelSpan(api, this.tracer, span, this.baggage);
  }

  setAttributes(attributes: Bag): void {
    this.span.setAttributes(attributesOf(attributes));
  }

  end(status: string): void {
    if (status !== 'ok') this.span.setStatus({ code: this.api.SpanStatusCode.ERROR, message: status });
    this.span.end();
  }

  getContext(): TraceContext {
    const { traceId, spanId, traceFlags } = this.#context;
    const context: TraceContext = { traceId, parentSpanId: spanId, traceFlags };
    if (this.baggage !== undefined) context.baggage = this.baggage;
    return context;
  }
}

/** What OpenTelemetry takes: texts, numbers, flags and lists of one of them; anything else as JSON. */
function attributesOf(bag: Bag): Record<string, string | number | boolean | string[]> {
  const attributes: Record<string, string | number | boolean | string[]> = {};
  for (const [key, value] of Object.entries(bag)) {
    if (value === undefined || value === null) continue;
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string');
    attributes[key] = isPlain ? value : isTexts ? (value as string[]) : JSON.stringify(value);
  }
  return attributes;
}
