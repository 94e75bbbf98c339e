import type { BaseTool } from '@google/adk';

/** Names that ADK keeps for itself: what the host has in their place, or what they are called here. */
const RENAMED: Readonly<Record<string, string>> = { adk_request_input: 'request_input' };
/** The host gives these to agents itself. */
const HOSTS: ReadonlySet<string> = new Set([
  'exit_loop',
  'transfer_to_agent',
  'complete_task',
  'finish_task',
  'set_model_response',
]);

/** Whether the host has a tool of its own in its place. */
export const isHostTool = (tool: BaseTool): boolean => HOSTS.has(tool.name);

/** The name that the model and the host know a tool by. */
export const ownName = (tool: BaseTool): string => RENAMED[tool.name] ?? tool.name;
