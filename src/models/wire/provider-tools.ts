import type { ToolDescriptor } from '../../contracts/index.js';
import { ModelError } from '../../kernel/errors.js';

const PREFIX = 'provider:';

/** Parts the tools that the host runs from those that the provider does; the latter by what stands behind `provider:`. */
export function partTools(tools: readonly ToolDescriptor[]): { functions: ToolDescriptor[]; provided: string[] } {
  const functions: ToolDescriptor[] = [];
  const provided: string[] = [];
  for (const tool of tools) {
    if (tool.annotations?.providerExecuted === true) provided.push(tool.name.slice(PREFIX.length));
    else functions.push(tool);
  }
  return { functions, provided };
}

/** Tools of a provider that it does not have, or that cannot be said in its form. */
export const noSuchTool = (name: string, known: readonly string[]): ModelError =>
  new ModelError({
    code: 'INVALID_ARGUMENT',
    message: `the provider of this model runs no tool "${PREFIX}${name}"; it runs: ${known.map((one) => PREFIX + one).join(', ') || 'none'}`,
  });
