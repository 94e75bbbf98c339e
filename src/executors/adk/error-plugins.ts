import { BasePlugin, type Context, type LlmRequest, type LlmResponse } from '@google/adk';
import { describeError, ModelError } from '../../kernel/errors.js';
import type { AdkFailure } from './failure.js';

/**
 * Asks plugins for an answer in the place of a model that failed. ADK would pass what they say on as it is, without its
 * own marks, and break on it; said by the model, it is an answer like any other.
 */
export class ErrorPlugins extends BasePlugin {
  readonly #asked: readonly BasePlugin[];
  #context: Context | undefined;

  constructor(plugins: readonly BasePlugin[]) {
    super('troupe_errors');
    const { onModelErrorCallback } = BasePlugin.prototype;
    this.#asked = plugins.filter((plugin) => plugin.onModelErrorCallback !== onModelErrorCallback);
  }

  get isNeeded(): boolean {
    return this.#asked.length > 0;
  }

  override beforeModelCallback({ callbackContext }: { callbackContext: Context; llmRequest: LlmRequest }) {
    this.#context = callbackContext;
    return Promise.resolve(undefined);
  }

  /** The first answer that one of them has; how one of them failed; undefined: none has any. */
  async recover(llmRequest: LlmRequest, failure: AdkFailure): Promise<LlmResponse | AdkFailure | undefined> {
    const callbackContext = this.#context;
    if (callbackContext === undefined) return undefined;
    const { code, message, retryable } = failure;
    for (const plugin of this.#asked) {
      try {
        const error = new ModelError({ code, message, retryable });
        const response = await plugin.onModelErrorCallback({ callbackContext, llmRequest, error });
        if (response !== undefined && response !== null) return response;
      } catch (thrown) {
        const text = `Error in plugin '${plugin.name}' during 'onModelErrorCallback' callback: ${describeError(thrown).message}`;
        return { code: 'EXECUTOR_FAILED', message: text, retryable: false };
      }
    }
    return undefined;
  }
}
