import type { AgentEvent } from '../../contracts/index.js';
import { textOf } from '../../kernel/content.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import type { CompiledAgent } from '../thread.js';

/** The input of a run, from the message that began it: text where the agent takes text, else the data that it shows. */
export function inputOf(agent: CompiledAgent, { content }: AgentEvent<'message'>): unknown {
  const text = textOf(content);
  if (isDefaultInputSchema(agent.descriptor.inputSchema)) return { prompt: text };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Parts, or plain text.
  }
  return { prompt: text };
}
