import type { BaseAgent, BaseTool, BaseToolset, LlmAgent } from '@google/adk';

/** ADK marks its classes with registered symbols: what somebody made can be told apart before ADK is loaded here. */
const marked =
  <T>(name: string) =>
  (value: unknown): value is T =>
    typeof value === 'object' &&
    value !== null &&
    (value as Record<symbol, unknown>)[Symbol.for(`google.adk.${name}`)] === true;

export const isAdkAgent = marked<BaseAgent>('baseAgent');
export const isAdkLlmAgent = marked<LlmAgent>('llmAgent');
export const isAdkTool = marked<BaseTool>('baseTool');
export const isAdkToolset = marked<BaseToolset>('baseToolset');
