import type { AgentEvent, ContentPart, HookResult, ModelRequest, ModelResponse } from '../../../contracts/index.js';
import { toParts } from '../../../kernel/content.js';
import { describeError } from '../../../kernel/errors.js';
import { toToolResult } from '../../../kernel/tool-result.js';
import { createWireNames } from '../../../kernel/wire-names.js';
import { fromContents, toContents } from '../parts.js';
import { applyModelRequest, fromLlmResponse, toDescriptor, toLlmResponse, toModelRequest } from '../translate.js';
import { type BridgeHost, fire, portsOf } from './ports.js';
import {
  BasePlugin,
  type BaseTool,
  type Content,
  type Context,
  ContextCompactionTrigger,
  createEvent,
  type Event,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
} from './sdk.js';

export interface InterceptorPluginOptions {
  host: BridgeHost<'hookSystem'>;
  /** Default `troupe`. */
  name?: string;
}

type Args = Record<string, unknown>;
type Tools = Readonly<Record<string, BaseTool>>;

const NAMES = createWireNames([]);

/**
 * Fires the host's hooks from inside ADK's runner. A hook that blocks blocks, one that fails blocks too, and none throws
 * into ADK. `before_agent` and `after_agent` are not fired: ADK 2.0.0 calls its plugins at neither.
 */
export class InterceptorPlugin extends BasePlugin {
  readonly #host: InterceptorPluginOptions['host'];
  /** The request of the call under way, by invocation and agent. */
  readonly #asked = new Map<string, ModelRequest>();

  constructor({ host, name = 'troupe' }: InterceptorPluginOptions) {
    super(name);
    this.#host = host;
  }

  #fire(point: string, where: { agent?: string; sessionId?: string }, payload: Args): Promise<HookResult | undefined> {
    return fire(portsOf(this.#host).hookSystem, point, where, payload);
  }

  override async onUserMessageCallback({
    invocationContext,
    userMessage,
  }: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    const content = fromContents([userMessage])[0]?.content ?? [];
    const said = await this.#fire('on_user_message', placeOf(invocationContext), { content });
    if (said === undefined) return undefined;
    if (said.action !== 'proceed')
      return { role: 'user', parts: [{ text: `[withheld: ${said.reason ?? 'by a hook'}]` }] };
    const changed = said.modifications?.content as ContentPart[] | undefined;
    return changed === undefined ? undefined : contentOf('user', changed);
  }

  override async beforeRunCallback({
    invocationContext,
  }: {
    invocationContext: InvocationContext;
  }): Promise<Content | undefined> {
    const { userContent } = invocationContext;
    const prompt = userContent === undefined ? [] : (fromContents([userContent])[0]?.content ?? []);
    const said = await this.#fire('before_run', placeOf(invocationContext), { prompt });
    if (said === undefined) return undefined;
    if (said.action !== 'proceed') return contentOf('model', toParts(said.reason ?? 'a hook blocked the run'));
    const response = said.modifications?.response;
    return typeof response === 'string' ? contentOf('model', toParts(response)) : undefined;
  }

  override async afterRunCallback({ invocationContext }: { invocationContext: InvocationContext }): Promise<void> {
    this.#asked.clear();
    await this.#fire('after_run', placeOf(invocationContext), { reason: 'completed' });
  }

  override async onEventCallback({
    invocationContext,
    event,
  }: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    const shown = shownEvent(event);
    if (shown !== undefined) await this.#fire('on_event', placeOf(invocationContext), { event: shown });
    return undefined;
  }

  override async beforeToolSelection({
    callbackContext,
    tools,
  }: {
    callbackContext: Context;
    tools: Tools;
  }): Promise<Tools | undefined> {
    const descriptors = Object.values(tools).flatMap((tool) => {
      const declaration = tool._getDeclaration();
      return declaration === undefined ? [] : [toDescriptor(declaration)];
    });
    const request: ModelRequest = { messages: [], tools: descriptors };
    const said = await this.#fire('before_tool_selection', whereIs(callbackContext), { request });
    if (said === undefined) return undefined;
    const { toolMode, allowedTools } = (said.modifications ?? {}) as { toolMode?: string; allowedTools?: string[] };
    if (said.action !== 'proceed' || toolMode === 'none') return {};
    if (allowedTools === undefined) return undefined;
    return Object.fromEntries(Object.entries(tools).filter(([name]) => allowedTools.includes(name)));
  }

  override async beforeModelCallback({
    callbackContext,
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    const request = toModelRequest(llmRequest);
    this.#asked.set(keyOf(callbackContext), request);
    const said = await this.#fire('before_model', whereIs(callbackContext), { request });
    if (said === undefined) return undefined;
    if (said.action !== 'proceed') return blocked(said, 'a hook blocked the model call');
    const changed = said.modifications as { request?: ModelRequest; response?: ModelResponse } | undefined;
    if (changed?.response !== undefined) return toLlmResponse({ finishReason: 'stop', ...changed.response }, false);
    if (changed?.request !== undefined) applyModelRequest(llmRequest, changed.request);
    return undefined;
  }

  override async afterModelCallback({
    callbackContext,
    llmResponse,
  }: {
    callbackContext: Context;
    llmResponse: LlmResponse;
  }): Promise<LlmResponse | undefined> {
    // A piece is no answer yet.
    if (llmResponse.partial) return undefined;
    const request = this.#asked.get(keyOf(callbackContext)) ?? { messages: [] };
    const response = fromLlmResponse(llmResponse);
    const said = await this.#fire('after_model', whereIs(callbackContext), { request, response });
    if (said === undefined) return undefined;
    if (said.action !== 'proceed') return blocked(said, 'a hook withheld the answer');
    const changed = said.modifications as { response?: ModelResponse } | undefined;
    return changed?.response === undefined
      ? undefined
      : toLlmResponse({ finishReason: 'stop', ...changed.response }, false);
  }

  override async onModelErrorCallback({
    callbackContext,
    llmRequest,
    error,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
    error: Error;
  }): Promise<LlmResponse | undefined> {
    const request = toModelRequest(llmRequest);
    const said = await this.#fire('on_model_error', whereIs(callbackContext), { request, error: describeError(error) });
    const changed = said?.modifications as { response?: ModelResponse } | undefined;
    if (changed?.response === undefined) return undefined;
    // ADK passes it on as it is, and reads an event's fields of it.
    const { invocationId, agentName: author } = callbackContext;
    return createEvent({
      ...toLlmResponse({ finishReason: 'stop', ...changed.response }, false),
      invocationId,
      author,
    });
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
    toolContext,
  }: {
    tool: BaseTool;
    toolArgs: Args;
    toolContext: Context;
  }): Promise<Args | undefined> {
    // A copy: what is changed in it would change the call in ADK's history.
    const args = structuredClone(toolArgs);
    const requestId = toolContext.functionCallId ?? '';
    const said = await this.#fire('before_tool', whereIs(toolContext), { tool: tool.name, args, requestId });
    if (said === undefined) return undefined;
    if (said.action !== 'proceed') {
      const word = said.action === 'ask' ? 'needs approval, and ADK has nobody to ask here' : 'no reason given';
      return { error: `denied by a hook: ${said.reason ?? word}` };
    }
    const changed = said.modifications?.args;
    if (changed === undefined) return undefined;
    // Run here with the changed arguments: ADK would run it with those of the call.
    try {
      const result: unknown = await tool.runAsync({ args: structuredClone(changed) as Args, toolContext });
      return objectOf(result);
    } catch (thrown) {
      return { error: describeError(thrown).message };
    }
  }

  override async afterToolCallback({
    tool,
    toolArgs,
    toolContext,
    result,
  }: {
    tool: BaseTool;
    toolArgs: Args;
    toolContext: Context;
    result: Args;
  }): Promise<Args | undefined> {
    const payload = {
      tool: tool.name,
      args: structuredClone(toolArgs),
      requestId: toolContext.functionCallId ?? '',
      result: toToolResult(result),
    };
    const said = await this.#fire('after_tool', whereIs(toolContext), payload);
    if (said === undefined) return undefined;
    if (said.action !== 'proceed') return { error: `withheld by a hook: ${said.reason ?? 'no reason given'}` };
    const more = said.modifications?.additionalContext;
    return typeof more === 'string' ? { ...objectOf(result), additionalContext: more } : undefined;
  }

  override async onToolErrorCallback({
    tool,
    toolArgs,
    toolContext,
    error,
  }: {
    tool: BaseTool;
    toolArgs: Args;
    toolContext: Context;
    error: Error;
  }): Promise<Args | undefined> {
    const payload = { tool: tool.name, args: structuredClone(toolArgs), error: toToolResult(error) };
    const said = await this.#fire('on_tool_error', whereIs(toolContext), payload);
    const result = (said?.modifications as { result?: { llmContent: ContentPart[] } } | undefined)?.result;
    return result === undefined ? undefined : { result: result.llmContent };
  }

  override async beforeContextCompaction({
    invocationContext,
    trigger,
  }: {
    invocationContext: InvocationContext;
    trigger: ContextCompactionTrigger;
  }): Promise<void> {
    const word = trigger === ContextCompactionTrigger.Manual ? 'manual' : 'auto';
    await this.#fire('pre_compress', placeOf(invocationContext), { trigger: word });
  }
}

const placeOf = ({ agent, session }: InvocationContext) => ({ agent: agent?.name ?? 'adk', sessionId: session.id });
const whereIs = (context: Context) => ({ agent: context.agentName, sessionId: context.sessionId });
const keyOf = (context: Context): string => `${context.invocationId} ${context.agentName}`;

const contentOf = (role: 'user' | 'model', content: ContentPart[]): Content =>
  toContents([{ role, content }], NAMES)[0] ?? { role, parts: [] };

const blocked = ({ reason }: HookResult, otherwise: string): LlmResponse => ({
  errorCode: 'HOOK_BLOCKED',
  errorMessage: reason ?? otherwise,
});

const objectOf = (value: unknown): Args =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Args) : { result: value ?? '' };

/** What of an event a hook is shown: what was said. */
function shownEvent({ id, author = '', content, timestamp, partial }: Event): AgentEvent<'message'> | undefined {
  const parts = content === undefined || partial ? [] : (fromContents([content])[0]?.content ?? []);
  const said = parts.filter(({ type }) => type !== 'function_call' && type !== 'function_response');
  if (said.length === 0) return undefined;
  return {
    type: 'message',
    id,
    messageId: id,
    seq: 0,
    role: author === 'user' ? 'user' : 'agent',
    agentId: author,
    timestamp: new Date(timestamp).toISOString(),
    content: said,
  };
}
