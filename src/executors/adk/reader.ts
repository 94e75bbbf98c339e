import type { BaseTool, LlmAgent, ReadonlyContext } from '@google/adk';
import type {
  AgentDefinition,
  BackendReader,
  BackendReading,
  StandardSchema,
  ToolDefinition,
} from '../../contracts/index.js';
import { describeError, TroupeError } from '../../kernel/errors.js';
import { isDefaultInputSchema } from '../../kernel/schema.js';
import { AdkBinding } from './binding.js';
import { isAdkAgent, isAdkLlmAgent, isAdkTool, isAdkToolset } from './brands.js';
import { ownTool } from './own-tools.js';
import { toJsonSchema } from './schema.js';
import { isHostTool } from './tool-names.js';

/** Reads agents of ADK: their tools become own tools of the definition, their schemas its schemas. */
export function adkReader(): BackendReader {
  const known = new WeakMap<AgentDefinition, Backend>();
  const opened = new Set<Backend>();
  return {
    read(definition) {
      let backend = known.get(definition);
      if (backend === undefined) {
        backend = new Backend(definition);
        known.set(definition, backend);
      }
      if (backend.isComplete) return { definition: backend.definition };
      const complete = async () => {
        opened.add(backend);
        await backend.complete();
      };
      return { definition: backend.definition, complete };
    },
    async close() {
      await Promise.all([...opened].map((backend) => backend.close()));
    },
  } satisfies BackendReader & { read(definition: AgentDefinition): BackendReading };
}

const invalid = (name: string, message: string) =>
  new TroupeError({ code: 'INVALID_DEFINITION', message: `${name}: ${message}` });

class Backend {
  definition: AgentDefinition;
  isComplete = false;
  readonly #given: AgentDefinition;
  readonly #make: (() => unknown) | undefined;
  #agent: LlmAgent | undefined;
  #completing: Promise<void> | undefined;

  constructor(given: AgentDefinition) {
    this.#given = given;
    this.definition = given;
    const agent = (given.backend as { agent?: unknown } | null)?.agent;
    if (typeof agent === 'function') this.#make = agent as () => unknown;
    else this.#take(agent);
  }

  #take(agent: unknown): void {
    const { name } = this.#given;
    if (!isAdkAgent(agent))
      throw invalid(name, 'backend.agent is no agent of @google/adk, and no function that makes one');
    if (!isAdkLlmAgent(agent)) throw invalid(name, 'only an LlmAgent can be driven');
    this.#agent = agent;
    this.#read([]);
    this.isComplete = !agent.tools.some(isAdkToolset);
  }

  #read(more: readonly BaseTool[]): void {
    this.definition = definitionOf(this.#given, new AdkBinding(this.#agent as LlmAgent, this.#make), more);
  }

  /** Asks the factory and the toolsets; what fails is asked again by the next run. */
  complete(): Promise<void> {
    this.#completing ??= this.#find().catch((thrown: unknown) => {
      this.#completing = undefined;
      throw thrown;
    });
    return this.#completing;
  }

  async #find(): Promise<void> {
    if (this.#agent === undefined) this.#take(await (this.#make as () => unknown)());
    if (this.isComplete) return;
    const found: BaseTool[] = [];
    for (const toolset of (this.#agent as unknown as LlmAgent).tools.filter(isAdkToolset)) {
      try {
        found.push(...(await toolset.getTools(undefined as unknown as ReadonlyContext)));
      } catch (thrown) {
        const { message } = describeError(thrown);
        throw new TroupeError({
          code: 'UNKNOWN_TOOL',
          message: `${this.#given.name}: a toolset cannot be opened: ${message}`,
          cause: thrown,
        });
      }
    }
    this.#read(found);
    this.isComplete = true;
  }

  async close(): Promise<void> {
    for (const toolset of this.#agent?.tools.filter(isAdkToolset) ?? []) {
      try {
        await toolset.close();
      } catch {
        // It was the agent's own: what it could not close is its own, too.
      }
    }
  }
}

/** The definition of one agent, with what the agent says of itself where the definition says nothing. */
function definitionOf(given: AgentDefinition, binding: AdkBinding, more: readonly BaseTool[]): AgentDefinition {
  const { agent } = binding;
  const own = [...agent.tools.filter(isAdkTool), ...more]
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
    ...(outputKey !== undefined && { outputKey }),
    ...(outputValidator !== undefined && { outputValidator }),
    ...(agent.includeContents === 'none' && given.includeHistory === undefined && { includeHistory: false }),
  });
}

function standard(schema: unknown): StandardSchema<unknown, unknown> | undefined {
  return typeof schema === 'object' && schema !== null && '~standard' in schema
    ? (schema as StandardSchema<unknown, unknown>)
    : undefined;
}
