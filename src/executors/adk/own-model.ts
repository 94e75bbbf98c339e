import type { LlmAgent } from '@google/adk';
import { isAdkLlmAgent } from './brands.js';

/** The agent that an agent of ADK has its model from: itself, or one above it; undefined: it was given none. */
export function modelHolder(agent: LlmAgent): LlmAgent | undefined {
  for (let at: LlmAgent['parentAgent'] = agent; at !== undefined; at = at.parentAgent) {
    if (isAdkLlmAgent(at) && at.model) return at;
  }
  return undefined;
}

/** The name of its own model by which the host knows a price. */
export function ownModelName(agent: LlmAgent): string | undefined {
  const { model } = modelHolder(agent) ?? {};
  const name: unknown = typeof model === 'object' ? model.model : model;
  return typeof name === 'string' && name !== '' ? pricedName(name) : undefined;
}

export const isGemini = (model: string): boolean => /(^|\/)gemini/.test(model);

/** As the host names models: those of Gemini stand behind its name. */
export const pricedName = (model: string): string =>
  isGemini(model) && !model.includes('/') ? `gemini/${model}` : model;
