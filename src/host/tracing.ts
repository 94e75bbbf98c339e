import type {
  AgentEventDraft,
  Bag,
  ModelCallOutcome,
  ModelCallRecord,
  StreamEndReason,
  TelemetryBridge,
  TelemetrySpan,
  TraceContext,
  TracedModelCall,
} from '../contracts/index.js';
import { isHostsTool } from '../kernel/agent-check.js';
import { describeError } from '../kernel/errors.js';
import { cutText } from '../kernel/text.js';
import { visibleLine } from '../kernel/visible-text.js';
import type { AgentTools } from './agent-tools.js';
import type { Thread } from './thread.js';

/**
 * What a host tells its telemetry: a span per run of a thread, below it one per tool call and one per model call, in
 * the terms of OpenTelemetry's conventions for generative AI. It reads the events as they are published, so that every
 * executor is traced alike. A bridge that throws is left alone from then on, and harms no run.
 */
export class Tracing {
  readonly #runs = new Map<Thread, RunTrace>();
  #isBroken = false;

  constructor(
    private readonly bridge: TelemetryBridge,
    private readonly now: () => number,
    private readonly onBroken: (message: string) => void,
  ) {}

  /** Takes note of an event before it goes out. */
  see(thread: Thread, draft: AgentEventDraft): void {
    if (this.#isBroken) return;
    try {
      this.#note(thread, draft);
    } catch (thrown) {
      this.#break(thrown);
    }
  }

  beginModelCall(thread: Thread, call: TracedModelCall): ModelCallRecord | undefined {
    const trace = this.#runs.get(thread);
    if (this.#isBroken || trace === undefined) return undefined;
    try {
      const record = trace.beginModelCall(call);
      return {
        end: (outcome) => {
          try {
            record.end(outcome);
          } catch (thrown) {
            this.#break(thrown);
          }
        },
      };
    } catch (thrown) {
      this.#break(thrown);
      return undefined;
    }
  }

  /** What a model call or a tool of this thread may hand on to the outside. */
  contextOf(thread: Thread): TraceContext | undefined {
    try {
      return this.#runs.get(thread)?.span.getContext() ?? thread.tree.traceContext;
    } catch (thrown) {
      this.#break(thrown);
      return undefined;
    }
  }

  #note(thread: Thread, draft: AgentEventDraft): void {
    const trace = this.#runs.get(thread);
    if (trace === undefined) {
      // Whatever a run begins with stands on the stream after its session's `initialize`.
      if (thread.run !== undefined && draft.type !== 'initialize') {
        this.#begin(thread).note(draft);
      }
      return;
    }
    if (draft.type !== 'stream_end') return trace.note(draft);
    this.#runs.delete(thread);
    trace.end(draft.reason, draft.data ?? {});
  }

  #begin(thread: Thread): RunTrace {
    const { parent, tree, projectsTo } = thread;
    const above = parent === undefined ? undefined : this.#runs.get(parent);
    const calling = projectsTo === undefined ? undefined : above?.spanOf(projectsTo.requestId);
    const context = parent === undefined ? tree.traceContext : (calling ?? above?.span)?.getContext();
    const attributes: Bag = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': thread.agentId,
      'gen_ai.agent.description': thread.agent.descriptor.description,
      'gen_ai.conversation.id': tree.sessionId,
      'troupe.executor': thread.agent.descriptor.executor,
      'troupe.principal_path': thread.principalPath,
    };
    if (thread.threadId !== undefined) attributes['troupe.thread_id'] = thread.threadId;
    const span = this.bridge.startAgentSpan(thread.agentId, attributes, context);
    const trace = new RunTrace(this.bridge, span, this.now, thread);
    this.#runs.set(thread, trace);
    return trace;
  }

  #break(thrown: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#runs.clear();
    this.onBroken(describeError(thrown).message);
  }
}

const LONGEST_NAME = 64;

/** What a model said where a name belongs. */
const shortLine = (said: string): string => cutText(visibleLine(cutText(String(said), LONGEST_NAME)), LONGEST_NAME);

/** Of each compiled agent that was traced. */
const registered = new WeakMap<AgentTools, ReadonlySet<string>>();

/** The names that events have for the tools of an agent. */
function registeredIn(tools: AgentTools): ReadonlySet<string> {
  const known = registered.get(tools);
  if (known !== undefined) return known;
  const names = new Set([...tools.byModelName.values()].map((entry) => entry.registered));
  registered.set(tools, names);
  return names;
}

interface ToolTrace {
  readonly span: TelemetrySpan;
  readonly name: string;
  readonly askedAt: number;
  startedAt: number | undefined;
  approval: string | undefined;
  approvalSince: number | undefined;
  approvalMs: number;
}

type UsageDraft = AgentEventDraft<'usage'>;

/** The spans of one run of one thread. */
class RunTrace {
  readonly #tools = new Map<string, ToolTrace>();
  /** Questions about tool calls, by their own ids. */
  readonly #asking = new Map<string, ToolTrace>();
  readonly #models = new Set<ModelTrace>();

  constructor(
    private readonly bridge: TelemetryBridge,
    readonly span: TelemetrySpan,
    private readonly now: () => number,
    private readonly thread: Thread,
  ) {}

  spanOf(requestId: string): TelemetrySpan | undefined {
    return this.#tools.get(requestId)?.span;
  }

  note(draft: AgentEventDraft): void {
    switch (draft.type) {
      case 'tool_request':
        return this.#beginTool(draft);
      case 'tool_update':
        if (draft.status === 'executing') this.#started(draft.requestId);
        return;
      case 'elicitation_request':
        return this.#asked(draft);
      case 'elicitation_response':
        return this.#answered(draft);
      case 'tool_response':
        return this.#endTool(draft);
      case 'usage': {
        const [call] = this.#models;
        call?.addUsage(draft);
        return;
      }
      case 'error':
        return this.bridge.recordError(this.span, { code: draft.code, message: draft.message });
      case 'message':
        if (this.bridge.captureContent === true && draft.role !== 'agent')
          this.span.setAttributes?.({ 'gen_ai.input.messages': JSON.stringify(draft.content) });
        return;
      case 'custom':
        if (draft.kind === 'compact_boundary') this.#compacted((draft.data ?? {}) as Bag);
        return;
      default:
    }
  }

  beginModelCall({ model, provider, attempt, routing, purpose }: TracedModelCall): ModelTrace {
    const attributes: Bag = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
      'gen_ai.agent.name': this.thread.agentId,
      'troupe.attempt': attempt,
    };
    if (purpose !== undefined) attributes['troupe.purpose'] = purpose;
    // Not the reason: a strategy may put into it what was said.
    if (routing?.by !== undefined) attributes['troupe.routing.by'] = routing.by;
    if (routing?.requested !== undefined) attributes['troupe.routing.requested'] = routing.requested;
    if (routing?.latencyMs !== undefined) attributes['troupe.routing.latency_ms'] = routing.latencyMs;
    const span = this.span.createChild(`chat ${model}`, attributes);
    const call: ModelTrace = new ModelTrace(this.bridge, span, this.now, () => this.#models.delete(call));
    this.#models.add(call);
    return call;
  }

  end(reason: StreamEndReason, data: Bag): void {
    for (const call of [...this.#models]) call.end({});
    for (const { span } of this.#tools.values()) span.end('aborted');
    this.#tools.clear();
    const { usage = {} } = data as { usage?: Record<string, unknown> };
    const attributes: Bag = { 'troupe.end_reason': reason, ...usageAttributes(usage) };
    const { cost } = data as { cost?: { usd?: unknown } };
    if (typeof cost?.usd === 'number') attributes['troupe.cost_usd'] = cost.usd;
    if (typeof data.code === 'string') attributes['error.type'] = data.code;
    if (this.bridge.captureContent === true && data.result !== undefined)
      attributes['gen_ai.output.messages'] = JSON.stringify(data.result);
    this.span.setAttributes?.(attributes);
    this.span.end(reason === 'aborted' ? 'aborted' : reason === 'failed' ? 'error' : 'ok');
  }

  #compacted(data: Bag): void {
    const attributes: Bag = {};
    for (const [key, value] of Object.entries(data)) {
      // Numbers and names of what happened; a reason may quote what was said.
      if (typeof value === 'number' || key === 'status' || key === 'strategy')
        attributes[`troupe.compaction.${key}`] = value;
    }
    this.span.setAttributes?.(attributes);
  }

  #beginTool(draft: AgentEventDraft<'tool_request'>): void {
    const isKnown = isHostsTool(draft.name) || registeredIn(this.thread.agent.tools).has(draft.name);
    const name = isKnown ? draft.name : shortLine(draft.name);
    const attributes: Bag = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': draft.requestId,
      'gen_ai.agent.name': this.thread.agentId,
    };
    if (draft.parentRequestId !== undefined) attributes['troupe.parent_request_id'] = draft.parentRequestId;
    if (this.bridge.captureContent === true) attributes['gen_ai.tool.call.arguments'] = JSON.stringify(draft.args);
    this.#tools.set(draft.requestId, {
      // A name that a model made up is no name of a span: there would be no end of them.
      span: this.span.createChild(`execute_tool ${isKnown ? name : 'unknown'}`, attributes),
      name,
      askedAt: this.now(),
      startedAt: undefined,
      approval: undefined,
      approvalSince: undefined,
      approvalMs: 0,
    });
  }

  #started(requestId: string): void {
    const tool = this.#tools.get(requestId);
    if (tool !== undefined) tool.startedAt ??= this.now();
  }

  #asked({ requestId, kind, context }: AgentEventDraft<'elicitation_request'>): void {
    const about = context?.toolRequestId;
    const tool = kind === 'tool_confirmation' && typeof about === 'string' ? this.#tools.get(about) : undefined;
    if (tool === undefined) return;
    tool.approvalSince = this.now();
    this.#asking.set(requestId, tool);
  }

  #answered({ requestId, action, content }: AgentEventDraft<'elicitation_response'>): void {
    const tool = this.#asking.get(requestId);
    if (tool === undefined) return;
    this.#asking.delete(requestId);
    const outcome = content?.outcome;
    tool.approval = action === 'accept' && typeof outcome === 'string' ? outcome : action;
    if (tool.approvalSince !== undefined) tool.approvalMs += this.now() - tool.approvalSince;
  }

  #endTool(draft: AgentEventDraft<'tool_response'>): void {
    const tool = this.#tools.get(draft.requestId);
    if (tool === undefined) return;
    this.#tools.delete(draft.requestId);
    const { isError, errorType } = draft;
    const attributes: Bag = { 'gen_ai.tool.name': tool.name, 'gen_ai.tool.call.id': draft.requestId };
    if (tool.startedAt !== undefined) attributes['troupe.tool.duration_ms'] = this.now() - tool.startedAt;
    attributes['troupe.tool.total_ms'] = this.now() - tool.askedAt;
    if (tool.approval !== undefined) {
      attributes['troupe.approval.decision'] = tool.approval;
      attributes['troupe.approval.wait_ms'] = tool.approvalMs;
    }
    if (isError) attributes['error.type'] = errorType ?? 'execution_failed';
    if (this.bridge.captureContent === true) attributes['gen_ai.tool.call.result'] = JSON.stringify(draft.llmContent);
    this.bridge.recordToolCall(tool.span, attributes);
    tool.span.end(!isError ? 'ok' : errorType === 'cancelled' ? 'aborted' : 'error');
  }
}

class ModelTrace implements ModelCallRecord {
  readonly #startedAt: number;
  #usage: UsageDraft | undefined;
  #hasEnded = false;

  constructor(
    private readonly bridge: TelemetryBridge,
    private readonly span: TelemetrySpan,
    private readonly now: () => number,
    private readonly onEnd: () => void,
  ) {
    this.#startedAt = now();
  }

  addUsage(usage: UsageDraft): void {
    this.#usage = usage;
  }

  end({ finishReason, error, isAborted }: ModelCallOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.onEnd();
    const attributes: Bag = {
      'troupe.model.duration_ms': this.now() - this.#startedAt,
      ...usageAttributes(this.#usage ?? {}),
    };
    if (this.#usage?.cost?.usd !== undefined) attributes['troupe.cost_usd'] = this.#usage.cost.usd;
    if (finishReason !== undefined) attributes['gen_ai.response.finish_reasons'] = [shortLine(finishReason)];
    if (error !== undefined) {
      attributes['error.type'] = error.code;
      this.bridge.recordError(this.span, error);
    }
    this.bridge.recordModelCall(this.span, attributes);
    this.span.end(error !== undefined ? 'error' : isAborted ? 'aborted' : 'ok');
  }
}

const USAGE: readonly (readonly [string, string])[] = [
  ['inputTokens', 'gen_ai.usage.input_tokens'],
  ['outputTokens', 'gen_ai.usage.output_tokens'],
  ['cachedTokens', 'gen_ai.usage.cache_read.input_tokens'],
  ['thoughtTokens', 'gen_ai.usage.reasoning.output_tokens'],
];

function usageAttributes(usage: object): Bag {
  const attributes: Bag = {};
  for (const [field, attribute] of USAGE) {
    const value = (usage as Record<string, unknown>)[field];
    if (typeof value === 'number') attributes[attribute] = value;
  }
  return attributes;
}
