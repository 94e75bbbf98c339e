import type { BaseTool, Context } from '@google/adk';
import type { ToolContext, ToolDefinition } from '../../contracts/index.js';
import type { AdkBinding } from './binding.js';
import { ownName } from './tool-names.js';
import { toDescriptor } from './translate.js';

/** A tool of an ADK agent as one of ours: the host judges and runs it. Nothing for what has no declaration. */
export function ownTool(binding: AdkBinding, tool: BaseTool): ToolDefinition | undefined {
  const declaration = tool._getDeclaration();
  if (declaration === undefined) return undefined;
  const name = ownName(tool);
  const described = toDescriptor({ ...declaration, name });
  return {
    kind: 'tool',
    name,
    descriptor: Object.freeze({ ...described, ...(tool.isLongRunning && { annotations: { longRunning: true } }) }),
    confirm: async (args: never) =>
      (await tool.checkRequireConfirmation(args, undefined as unknown as Context))
        ? 'the agent wants this to be confirmed'
        : false,
    execute: async (args: never, context: ToolContext) => {
      const { runOwnTool } = await import('./tool-run.js');
      return runOwnTool(binding, tool, args, context);
    },
  };
}
