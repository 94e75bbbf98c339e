import { BaseLlm, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import type { ScriptEntry } from '../../../src/testing/index.js';

/** A model of ADK that says its script, one entry per call, in process. */
export class ScriptedLlm extends BaseLlm {
  readonly requests: LlmRequest[] = [];

  constructor(
    private readonly script: readonly ScriptEntry[],
    private readonly hangs = false,
  ) {
    super({ model: 'scripted-llm' });
  }

  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const entry = this.script[this.requests.length];
    this.requests.push({ ...request, contents: structuredClone(request.contents), config: { ...request.config } });
    if (this.hangs) await new Promise((resolve) => signal?.addEventListener('abort', resolve));
    if (signal?.aborted) return;
    if (entry === undefined) throw new Error(`nothing scripted for call ${this.requests.length}`);
    if (entry.error !== undefined) {
      const { code, message, retryAfterMs } = entry.error;
      const details =
        retryAfterMs === undefined
          ? []
          : [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterMs / 1000}s` }];
      throw new Error(JSON.stringify({ error: { status: code, message, details } }));
    }
    const { text = [], toolCalls = [], usage } = entry;
    const texts = typeof text === 'string' ? [text] : text;
    const usageMetadata = usage && { promptTokenCount: usage.inputTokens, candidatesTokenCount: usage.outputTokens };
    if (stream)
      for (const piece of texts)
        yield { content: { role: 'model', parts: [{ text: piece }] }, partial: true, usageMetadata };
    const parts = [
      ...(texts.length > 0 ? [{ text: texts.join('') }] : []),
      ...toolCalls.map(({ id, name, args, thoughtSignature }) => ({
        functionCall: { ...(id !== undefined && { id }), name, args: args as Record<string, unknown> },
        ...(thoughtSignature !== undefined && { thoughtSignature }),
      })),
    ];
    yield { content: { role: 'model', parts }, usageMetadata, turnComplete: true };
  }

  override connect(): Promise<BaseLlmConnection> {
    return Promise.reject(new Error('no live connection'));
  }
}
