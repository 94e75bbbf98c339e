import type { ModelMessage } from '../contracts/index.js';

/** The tools that the history speaks of; some may no longer be offered. */
export function namesInHistory(messages: readonly ModelMessage[]): string[] {
  const names: string[] = [];
  for (const { content } of messages) {
    for (const part of content)
      if (part.type === 'function_call' || part.type === 'function_response') names.push(part.name);
  }
  return names;
}
