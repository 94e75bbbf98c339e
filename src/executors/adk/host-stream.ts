import type { LlmResponse } from '@google/adk';
import type {
  ContentPart,
  ModelInterface,
  ModelRequest,
  ModelResponse,
  ModelToolCall,
  ModelUsage,
} from '../../contracts/index.js';
import { appendPart } from '../../kernel/content.js';
import { nextRound, STEPS_PER_ROUND } from '../../kernel/next-round.js';
import { toLlmResponse } from './translate.js';

/**
 * An answer of a host's model in ADK's form: pieces of text as they come when `stream`, then the whole, with its calls.
 * Rejects as the model does.
 */
export async function* streamHostModel(
  model: ModelInterface,
  request: ModelRequest,
  stream: boolean,
): AsyncGenerator<LlmResponse, void> {
  if (!stream) {
    yield toLlmResponse({ finishReason: 'stop', ...(await model.generate(request)) }, false);
    return;
  }
  const content: ContentPart[] = [];
  const toolCalls: ModelToolCall[] = [];
  let usage: ModelUsage | undefined;
  let finishReason: ModelResponse['finishReason'];
  let steps = 0;
  for await (const increment of model.generateStream(request)) {
    if (++steps % STEPS_PER_ROUND === 0) await nextRound();
    for (const part of increment.content) appendPart(content, part);
    toolCalls.push(...(increment.toolCalls ?? []));
    if (increment.usage !== undefined) usage = { ...usage, ...increment.usage };
    finishReason = increment.finishReason ?? finishReason;
    if (increment.content.length > 0) yield toLlmResponse({ content: increment.content }, true);
  }
  yield toLlmResponse(
    { content, toolCalls, ...(usage !== undefined && { usage }), finishReason: finishReason ?? 'stop' },
    false,
  );
}
