import { TroupeError } from '../../../kernel/errors.js';
import { HostModel, type HostModelOptions } from './host-model.js';
import { fire, portsOf } from './ports.js';
import {
  type BaseContextCompactor,
  ContextCompactionTrigger,
  type InvocationContext,
  LlmSummarizer,
  TokenBasedContextCompactor,
} from './sdk.js';

export interface HostContextCompactorOptions extends HostModelOptions {
  /** Of the prompt, as the model counted it last, or a quarter of its characters: above it the past is summarised. */
  maxTokens: number;
  /** Events that stay as they are, at least 1. Default 6. */
  keep?: number;
}

/**
 * Sums up the past of an ADK session with a model of the host, once it is too long. A `pre_compress` hook may put it off.
 */
export class HostContextCompactor implements BaseContextCompactor {
  readonly trigger: ContextCompactionTrigger = ContextCompactionTrigger.Auto;
  readonly #options: HostContextCompactorOptions;
  readonly #inner: TokenBasedContextCompactor;

  constructor(options: HostContextCompactorOptions) {
    const { maxTokens, keep = 6, ...model } = options;
    if (!(Number.isFinite(maxTokens) && maxTokens > 0) || !(Number.isInteger(keep) && keep >= 1)) {
      throw new TroupeError({
        code: 'INVALID_OPTION',
        message: 'maxTokens must be a number above 0, keep a whole number from 1',
      });
    }
    this.#options = options;
    this.#inner = new TokenBasedContextCompactor({
      tokenThreshold: maxTokens,
      eventRetentionSize: keep,
      summarizer: new LlmSummarizer({ llm: new HostModel({ ...model, purpose: 'summary' }) }),
    });
  }

  async shouldCompact(invocationContext: InvocationContext): Promise<boolean> {
    if (!this.#inner.shouldCompact(invocationContext)) return false;
    const { host, agent } = this.#options;
    if (host === undefined) return true;
    const where = { agent: agent ?? invocationContext.agent?.name, sessionId: invocationContext.session.id };
    const said = await fire(portsOf(host).hookSystem, 'pre_compress', where, { trigger: 'auto' });
    return said === undefined || (said.action === 'proceed' && said.modifications?.suppress !== true);
  }

  /** A summary that fails leaves the past as it is: the run goes on with the long one. */
  async compact(invocationContext: InvocationContext): Promise<void> {
    try {
      await this.#inner.compact(invocationContext);
    } catch {
      // Tried again before the next request.
    }
  }
}
