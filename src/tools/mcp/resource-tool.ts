import type { ToolContext, ToolDefinition, ToolResultData } from '../../contracts/index.js';
import { plainWords } from './plain-words.js';
import { registeredName } from './tool-names.js';

const PARAMETERS = Object.freeze({
  type: 'object',
  properties: { uri: { type: 'string', description: 'As the server gave it.' } },
  required: ['uri'],
});

/** Reads what the tools of a server link to. A server has it when it has resources, and no tool of that name. */
export function resourceTool(
  server: { readonly name: string; readonly trust?: boolean | undefined; readonly timeoutMs: number | undefined },
  read: (uri: string, context: ToolContext) => Promise<ToolResultData>,
): ToolDefinition {
  const name = registeredName(server.name, 'read_resource');
  return {
    kind: 'tool',
    name,
    mcp: { server: server.name, tool: 'resources/read' },
    descriptor: {
      name,
      description: `Reads a resource of the MCP server ${plainWords(server.name, 200)} by its URI, such as one that its tools refer to.`,
      parametersSchema: PARAMETERS,
      annotations: { category: 'read', ...(server.trust === true && { readOnly: true }) },
    },
    ...(server.timeoutMs !== undefined && { timeoutMs: server.timeoutMs }),
    execute: ({ uri }: { uri: string }, context) => read(uri, context),
  };
}
