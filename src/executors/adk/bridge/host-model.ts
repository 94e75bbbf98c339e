import type { ModelInterface, ModelRequest, ModelResponse, ResolvedModel } from '../../../contracts/index.js';
import { describeError, TroupeError } from '../../../kernel/errors.js';
import { streamHostModel } from '../host-stream.js';
import { applyChanges, providedTools, requestWithProvided } from '../provided.js';
import { fromLlmResponse, toLlmResponse } from '../translate.js';
import { type BridgeHost, decide, fire, type Principal, portsOf } from './ports.js';
import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from './sdk.js';

export interface HostModelOptions extends Principal {
  /** A name that the host knows, or a model. Default: what the host takes where nothing is chosen. */
  model?: string | ModelInterface;
  /** What it is asked for: a router may tell them apart. Default `turn`. Thoughts are left out of a `summary`. */
  purpose?: 'turn' | 'summary';
  /** Absent: `model` is a model, no hooks are fired, and tools of the provider are nobody's affair but the agent's. */
  host?: BridgeHost<'modelConfig' | 'hookSystem', 'policyEngine'>;
}

/**
 * A model of the host as a model of ADK: names, routing and whatever else the host does on the way to a model, and its
 * `before_model` and `after_model` hooks. Tools that the provider runs (`GOOGLE_SEARCH`) reach the model as `provider:`
 * tools where the host's policy allows each of them; otherwise the call fails, and says which. A failure is thrown as ADK
 * reads it: its code becomes the event's `errorCode`.
 */
export class HostModel extends BaseLlm {
  readonly #options: HostModelOptions;

  constructor(options: HostModelOptions) {
    const { model, host } = options;
    if (host === undefined && (typeof model !== 'object' || model === null)) {
      throw new TroupeError({ code: 'INVALID_OPTION', message: 'without a host, HostModel needs a model object' });
    }
    // ADK knows models of Gemini by their bare names, and offers some of its tools to no other.
    super({ model: typeof model === 'string' ? model.replace(/^gemini\//, '') : 'troupe' });
    this.#options = options;
  }

  override async *generateContentAsync(
    asked: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { agent = 'adk', sessionId, purpose = 'turn' } = this.#options;
    const ports = this.#options.host && portsOf(this.#options.host);
    const _meta = { agent, purpose, ...(sessionId !== undefined && { sessionId }) };
    const requestOf = (): ModelRequest =>
      requestWithProvided(asked, { ...(signal !== undefined && { signal }), _meta });
    await this.#police(asked);
    const { model } = await this.#resolve(agent);
    const said = await fire(ports?.hookSystem, 'before_model', this.#options, { request: requestOf() });
    if (said !== undefined) {
      if (said.action !== 'proceed') throw asAdk('HOOK_BLOCKED', said.reason ?? 'a hook blocked the model call');
      const changed = said.modifications as { request?: ModelRequest; response?: ModelResponse } | undefined;
      if (changed?.response !== undefined)
        return yield toLlmResponse({ finishReason: 'stop', ...changed.response }, false);
      if (changed?.request !== undefined) applyChanges(asked, changed.request);
    }
    // What a hook may still change is not said in pieces.
    const mayChange = ports?.hookSystem.supportedHookPoints().includes('after_model') === true;
    try {
      for await (const response of streamHostModel(model, requestOf(), stream && !mayChange)) {
        if (signal?.aborted) return;
        if (purpose === 'summary') withoutThoughts(response);
        yield response.partial ? response : await this.#afterModel(requestOf(), response);
      }
    } catch (thrown) {
      if (signal?.aborted) return;
      const { code, message } = describeError(thrown, 'MODEL_FAILED');
      throw asAdk(code, message, thrown);
    }
  }

  /** Live audio is out of scope: there is no such connection. */
  override connect(_asked: LlmRequest): Promise<BaseLlmConnection> {
    const message = 'HostModel answers requests; live connections (runLive) are not supported';
    return Promise.reject(new TroupeError({ code: 'UNIMPLEMENTED', message }));
  }

  /** A call of them is never seen, so that policy decides here; it cannot ask about what the provider runs. */
  async #police({ config }: LlmRequest): Promise<void> {
    const { host } = this.#options;
    const provided = providedTools(config);
    if (host === undefined || provided.length === 0) return;
    const { policyEngine } = portsOf(host);
    for (const { name, annotations } of provided) {
      if (policyEngine === undefined)
        throw asAdk(
          'PERMISSION_DENIED',
          `${name} needs the host’s policy: give HostModel the host, or its policyEngine`,
        );
      const decision = await decide(policyEngine, this.#options, { tool: name, args: {}, annotations });
      if (decision.outcome === 'allow') continue;
      const { reason } = decision as { reason?: unknown };
      const why = typeof reason === 'string' ? reason : `policy said "${decision.outcome}": a rule has to allow it`;
      throw asAdk('PERMISSION_DENIED', `${name} is not offered to the model: ${why}`);
    }
  }

  async #resolve(agent: string): Promise<Pick<ResolvedModel, 'model'>> {
    const { host, model } = this.#options;
    if (host === undefined) return { model: model as ModelInterface };
    return portsOf(host).modelConfig.resolve({ agent, requested: model, purpose: this.#options.purpose ?? 'turn' });
  }

  async #afterModel(request: ModelRequest, response: LlmResponse): Promise<LlmResponse> {
    const { host } = this.#options;
    const hookSystem = host && portsOf(host).hookSystem;
    const said = await fire(hookSystem, 'after_model', this.#options, { request, response: fromLlmResponse(response) });
    if (said === undefined) return response;
    if (said.action !== 'proceed') throw asAdk('HOOK_BLOCKED', said.reason ?? 'a hook withheld the answer');
    const changed = said.modifications as { response?: ModelResponse } | undefined;
    return changed?.response === undefined
      ? response
      : toLlmResponse({ finishReason: 'stop', ...changed.response }, false);
  }
}

/** A summary is its first part, to ADK. */
function withoutThoughts({ content }: LlmResponse): void {
  if (content?.parts !== undefined) content.parts = content.parts.filter(({ thought }) => thought !== true);
}

/** ADK reads `error.code` out of a message that is JSON; anything else is `UNKNOWN_ERROR` to it. */
const asAdk = (code: string, message: string, cause?: unknown): Error =>
  new Error(JSON.stringify({ error: { code, message } }), cause === undefined ? undefined : { cause });
