import type { BaseAgent, BaseNode, BasePlugin, BaseTool } from '@google/adk';
import type { AgentDefinition, StandardSchema, ToolDefinition } from '../../contracts/index.js';
import { DEFAULT_INPUT_SCHEMA, isDefaultInputSchema } from '../../kernel/schema.js';
import { type AdkBinding, OpaqueBinding } from './binding.js';
import { ownTool } from './own-tools.js';
import { toJsonSchema } from './schema.js';
import { isHostTool } from './tool-names.js';

/** A definition with nothing said, for an agent below another. */
export const emptyDefinition = (name: string, description: string): AgentDefinition => ({
  kind: 'agent',
  name,
  descriptor: { name, description: description || name, executor: 'adk', inputSchema: DEFAULT_INPUT_SCHEMA },
  tools: [],
});

/** The definition of one LlmAgent: what it says of itself stands where the definition says nothing. */
export function llmDefinition(
  given: AgentDefinition,
  binding: AdkBinding,
  tools: readonly BaseTool[],
  note: string | undefined,
): AgentDefinition {
  const { agent } = binding;
  const own = tools
    .filter((tool) => !isHostTool(tool))
    .map((tool) => ownTool(binding, tool))
    .filter((tool): tool is ToolDefinition => tool !== undefined);
  const { descriptor } = given;
  const outputSchema = descriptor.outputSchema ?? (agent.outputSchema && toJsonSchema(agent.outputSchema));
  const outputValidator =
    given.outputValidator ?? (descriptor.outputSchema === undefined ? standard(agent.outputSchemaSource) : undefined);
  const takesInput = agent.inputSchema !== undefined && isDefaultInputSchema(descriptor.inputSchema);
  const outputKey = given.outputKey ?? agent.outputKey;
  const ownTools = [...(descriptor.ownTools ?? []), ...own.map((tool) => tool.descriptor)];
  return Object.freeze({
    ...given,
    descriptor: Object.freeze({
      ...descriptor,
      ...(descriptor.description === given.name && agent.description && { description: agent.description }),
      ...(takesInput && { inputSchema: toJsonSchema(agent.inputSchema) }),
      ...(outputSchema !== undefined && { outputSchema }),
      ...(ownTools.length > 0 && { ownTools }),
    }),
    tools: [...given.tools, ...own],
    opensState: true,
    backend: binding,
    ...(note !== undefined && { instruction: withNote(given.instruction, note) }),
    ...(outputKey !== undefined && { outputKey }),
    ...(outputValidator !== undefined && { outputValidator }),
    ...(agent.includeContents === 'none' && given.includeHistory === undefined && { includeHistory: false }),
  });
}

/** What ADK runs by itself: it declares that its tools are its own. */
export function opaqueDefinition(
  given: AgentDefinition,
  agent: BaseNode | BaseAgent,
  make: (() => unknown) | undefined,
  plugins: readonly BasePlugin[],
): AgentDefinition {
  const { descriptor } = given;
  const capabilities = (descriptor.capabilities ?? OPAQUE).filter((one) => one !== 'host_tool_execution');
  const takesName = descriptor.description === given.name && agent.description;
  return Object.freeze({
    ...given,
    descriptor: Object.freeze({
      ...descriptor,
      capabilities,
      ...(takesName && { description: agent.description }),
    }),
    backend: new OpaqueBinding(agent, make, plugins),
  });
}

const OPAQUE = ['streaming', 'elicitation', 'pause_resume', 'cancellation', 'multi_turn', 'stream_end_events'];

function withNote(instruction: AgentDefinition['instruction'], note: string): AgentDefinition['instruction'] {
  if (typeof instruction !== 'function') return instruction === undefined ? note : `${instruction}\n\n${note}`;
  return async (context) => `${await instruction(context)}\n\n${note}`;
}

function standard(schema: unknown): StandardSchema<unknown, unknown> | undefined {
  return typeof schema === 'object' && schema !== null && '~standard' in schema
    ? (schema as StandardSchema<unknown, unknown>)
    : undefined;
}
