import type { Bag, HookResult, ModelRequest, ModelResponse, TurnContext } from '../contracts/index.js';
import { appendPart } from './content.js';

/** Fires a point; nothing where no hook listens. */
type Fire = Pick<TurnContext, 'fireHook'>;

/** What hooks make of a model call before it is made: the request to send, an answer in its place, or a block. */
export type Prepared =
  | { readonly request: ModelRequest }
  | { readonly response: ModelResponse }
  | { readonly blocked: string };

/**
 * `before_model`, then, where there are tools to choose from, `before_tool_selection`. A request that a hook put
 * together itself keeps the signal of the first. Never rejects.
 */
export async function askBeforeModel(context: Fire, first: ModelRequest): Promise<Prepared> {
  const said = await context.fireHook('before_model', { request: first });
  const block = blockIn(said, 'a hook blocked the model call');
  if (block !== undefined) return block;
  const { request: changed, response } = changesIn(said);
  if (response !== undefined) return { response };
  const request = changed === undefined ? first : withSignalOf(first, changed);
  if (request.tools === undefined || request.tools.length === 0 || request.toolMode === 'none') return { request };
  const selected = await context.fireHook('before_tool_selection', { request });
  const refusal = blockIn(selected, 'a hook blocked the choice of tools');
  if (refusal !== undefined) return refusal;
  const { toolMode, allowedTools } = selected?.modifications ?? {};
  if (toolMode === undefined && allowedTools === undefined) return { request };
  return {
    request: withSignalOf(first, {
      ...request,
      ...(toolMode !== undefined && { toolMode }),
      ...(allowedTools !== undefined && { allowedTools }),
    } as ModelRequest),
  };
}

/** `after_model`: the answer as the hooks leave it. Nothing: as it is. Never rejects. */
export async function askAfterModel(
  context: Fire,
  request: ModelRequest,
  response: ModelResponse,
): Promise<{ readonly response: ModelResponse } | { readonly blocked: string } | undefined> {
  const said = await context.fireHook('after_model', { request, response });
  const block = blockIn(said, 'a hook withholds the answer of the model');
  if (block !== undefined) return block;
  const { response: changed } = changesIn(said);
  return changed === undefined ? undefined : { response: changed };
}

/** `on_model_error`: an answer in place of the one that failed. Nothing: the failure stands. Never rejects. */
export async function askOnModelError(
  context: Fire,
  request: ModelRequest,
  error: Bag,
): Promise<ModelResponse | undefined> {
  const said = await context.fireHook('on_model_error', { request, error });
  return said === undefined || said.action !== 'proceed' ? undefined : changesIn(said).response;
}

/** What increments come to: contents and calls in order, the last usage and the last reason. */
export function wholeResponse(increments: readonly ModelResponse[]): ModelResponse {
  const whole: ModelResponse = { content: [] };
  for (const { content, toolCalls, usage, finishReason } of increments) {
    for (const part of content) appendPart(whole.content, part);
    if (toolCalls !== undefined && toolCalls.length > 0) whole.toolCalls = [...(whole.toolCalls ?? []), ...toolCalls];
    if (usage !== undefined) whole.usage = { ...whole.usage, ...usage };
    if (finishReason !== undefined) whole.finishReason = finishReason;
  }
  return whole;
}

function blockIn(said: HookResult | undefined, otherwise: string): { blocked: string } | undefined {
  return said === undefined || said.action === 'proceed' ? undefined : { blocked: said.reason ?? otherwise };
}

const changesIn = (said: HookResult | undefined) =>
  (said?.modifications ?? {}) as { request?: ModelRequest; response?: ModelResponse };

function withSignalOf({ signal }: ModelRequest, request: ModelRequest): ModelRequest {
  return signal === undefined ? request : { ...request, signal };
}
