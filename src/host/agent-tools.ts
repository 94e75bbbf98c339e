import type { AgentDefinition, JsonSchema, ToolDefinition, ToolDescriptor } from '../contracts/index.js';
import type { Problem } from '../kernel/errors.js';
import { DEFAULT_INPUT_SCHEMA } from '../kernel/schema.js';
import { didYouMean } from '../kernel/text.js';
import type { HostCore } from './host-core.js';
import { PROVIDER_PREFIX, providerTool } from './provider-tools.js';
import type { AgentSkills } from './skills.js';
import type { Toolsets } from './toolsets.js';

export type BuiltinName = 'exit_loop' | 'transfer_to_agent' | 'complete_task' | 'ask_user' | 'exit_plan_mode';

/** One thing that an agent may call. */
export interface ToolEntry {
  /** What the model sees and says. */
  readonly modelName: string;
  /** What events, policy and log carry. */
  readonly registered: string;
  readonly descriptor: ToolDescriptor;
  readonly tool?: ToolDefinition | undefined;
  /** Index of the child that it delegates to. */
  readonly childIndex?: number | undefined;
  readonly builtin?: BuiltinName | undefined;
  /** The consumer runs it. */
  readonly isConsumers?: boolean | undefined;
  /** The host runs it, also where its consumer runs all other tools. */
  readonly isHosts?: boolean | undefined;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
}

export interface AgentTools {
  readonly byModelName: ReadonlyMap<string, ToolEntry>;
  /** In the one stable order: own, host, children, built-in. */
  readonly descriptors: readonly ToolDescriptor[];
  /** What the provider of the model runs itself: declared to it, and never called through the host. */
  readonly providers: readonly ToolDescriptor[];
}

/** What an agent's place in the tree gives it beside its own tools. */
export interface ToolSurroundings {
  readonly path: string;
  readonly hostTools: ReadonlyMap<string, ToolDefinition>;
  readonly toolsets: Pick<Toolsets, 'mayHave'> | undefined;
  readonly ownTools: HostCore['ownTools'];
  /** Given with a run: code for the host, descriptors for the consumer. */
  readonly runTools: readonly (ToolDefinition | ToolDescriptor)[];
  readonly takesRunTools: boolean;
  readonly inLoop: boolean;
  readonly transferTargets: readonly string[] | undefined;
  readonly children: readonly { name: string; description: string; inputSchema: JsonSchema; readOnly: boolean }[];
  readonly outputSchema: JsonSchema | undefined;
  /** Nothing: it has none, or they are not read yet. */
  readonly skills: AgentSkills | undefined;
}

const isCode = (tool: ToolDefinition | ToolDescriptor): tool is ToolDefinition =>
  'kind' in tool && tool.kind === 'tool';

/** Most agents of a team of thousands have no tools: they share this. */
const NO_TOOLS: AgentTools = { byModelName: new Map(), descriptors: [], providers: [] };

const hasNone = (
  { tools, toolSources, descriptor, inheritTools }: AgentDefinition,
  around: ToolSurroundings,
): boolean =>
  tools.length === 0 &&
  toolSources === undefined &&
  descriptor.requiredTools === undefined &&
  !inheritTools &&
  !around.inLoop &&
  around.children.length === 0 &&
  (around.transferTargets === undefined || around.transferTargets.length === 0) &&
  around.outputSchema === undefined &&
  around.skills === undefined &&
  (!around.takesRunTools || around.runTools.length === 0);

/** The tools of one agent at its place. Faults are added to `problems`. */
export function agentTools(definition: AgentDefinition, around: ToolSurroundings, problems: Problem[]): AgentTools {
  if (hasNone(definition, around)) return NO_TOOLS;
  const byModelName = new Map<string, ToolEntry>();
  const add = (entry: ToolEntry, from: string) => {
    const taken = byModelName.get(entry.modelName);
    if (taken !== undefined && taken.registered === entry.registered && taken.tool === entry.tool) return;
    if (taken !== undefined) {
      problems.push({
        code: 'INVALID_DEFINITION',
        path: `${around.path}.tools`,
        message: `two tools named "${entry.modelName}": ${taken.registered} and ${from}; rename one`,
      });
      return;
    }
    byModelName.set(entry.modelName, entry);
  };
  const addCode = (tool: ToolDefinition, registered: string, isHosts?: true) =>
    add(
      {
        modelName: tool.name,
        registered,
        descriptor: tool.descriptor,
        tool,
        readOnly: tool.descriptor.annotations?.readOnly === true,
        idempotent: tool.descriptor.annotations?.idempotent === true,
        ...(isHosts && { isHosts }),
      },
      registered,
    );
  const runCode = new Map(around.runTools.filter(isCode).map((tool) => [tool.name, tool]));
  const runDescriptors = new Map(
    around.runTools.filter((tool) => !isCode(tool)).map((tool) => [tool.name, tool as ToolDescriptor]),
  );
  const addConsumers = (descriptor: ToolDescriptor) =>
    add(
      {
        modelName: descriptor.name,
        registered: descriptor.name,
        descriptor,
        isConsumers: true,
        readOnly: descriptor.annotations?.readOnly === true,
        idempotent: descriptor.annotations?.idempotent === true,
      },
      descriptor.name,
    );

  /** What is said of one must not be taken as said of the other. */
  const addOwn = (tool: ToolDefinition) => {
    const registered = `${definition.name}.${tool.name}`;
    if (around.hostTools.has(registered) || runCode.has(registered) || runDescriptors.has(registered)) {
      const message = `two tools named "${registered}": one of the host, and ${tool.name} of this agent; rename one`;
      problems.push({ code: 'INVALID_DEFINITION', path: `${around.path}.tools`, message });
    } else addCode(tool, registered);
  };
  for (const tool of definition.tools) if (typeof tool !== 'string') addOwn(tool);
  for (const source of definition.toolSources ?? []) for (const tool of around.ownTools?.(source) ?? []) addOwn(tool);
  const named = new Set(definition.tools.filter((tool) => typeof tool === 'string'));
  for (const required of definition.descriptor.requiredTools ?? []) named.add(required);
  for (const pattern of [...named].filter((name) => name.endsWith('*'))) {
    named.delete(pattern);
    for (const name of around.hostTools.keys()) if (name.startsWith(pattern.slice(0, -1))) named.add(name);
  }
  if (definition.inheritTools) for (const name of around.hostTools.keys()) named.add(name);
  const providers = [...named].filter((name) => name.startsWith(PROVIDER_PREFIX)).map(providerTool);
  for (const name of named) {
    if (BUILTINS.has(name) || name.startsWith(PROVIDER_PREFIX)) continue;
    const tool = around.hostTools.get(name) ?? runCode.get(name);
    const descriptor = runDescriptors.get(name);
    if (tool !== undefined) addCode(tool, name);
    else if (descriptor !== undefined) addConsumers(descriptor);
    else if (!around.children.some((child) => child.name === name) && !around.toolsets?.mayHave(name)) {
      const known = [...around.hostTools.keys(), ...runCode.keys(), ...runDescriptors.keys()];
      problems.push({
        code: 'UNKNOWN_TOOL',
        path: `${around.path}.tools`,
        message: `no tool "${name}"${didYouMean(name, known)}; registered: ${known.join(', ') || 'none'}`,
      });
    }
  }
  if (around.takesRunTools) {
    for (const tool of around.runTools) {
      if (isCode(tool)) addCode(tool, tool.name);
      else addConsumers(tool);
    }
  }
  around.children.forEach((child, index) => {
    const descriptor: ToolDescriptor = {
      name: child.name,
      description: child.description,
      parametersSchema: child.inputSchema ?? DEFAULT_INPUT_SCHEMA,
      annotations: { category: 'agent', readOnly: child.readOnly },
    };
    add(
      {
        modelName: child.name,
        registered: child.name,
        descriptor,
        childIndex: index,
        readOnly: child.readOnly,
        idempotent: false,
      },
      child.name,
    );
  });
  const addBuiltin = (name: BuiltinName, description: string, parametersSchema: JsonSchema) =>
    add(
      {
        modelName: name,
        registered: name,
        descriptor: { name, description, parametersSchema, annotations: { category: 'other', readOnly: true } },
        builtin: name,
        readOnly: name !== 'transfer_to_agent',
        idempotent: true,
      },
      name,
    );
  if (around.inLoop) addBuiltin('exit_loop', 'Ends the loop that you work in, when its goal is reached.', EXIT_SCHEMA);
  if (around.transferTargets !== undefined && around.transferTargets.length > 0) {
    addBuiltin(
      'transfer_to_agent',
      `Hands the conversation over to another agent: ${around.transferTargets.join(', ')}.`,
      transferSchema(around.transferTargets),
    );
  }
  if (named.has('ask_user'))
    addBuiltin('ask_user', 'Asks the person you work for a question and waits for the answer.', ASK_SCHEMA);
  if (around.skills !== undefined) addCode(around.skills.tool, around.skills.tool.name, true);
  if (around.outputSchema !== undefined) {
    addBuiltin('complete_task', 'Ends your task with its result.', wrapOutput(around.outputSchema));
  }
  return { byModelName, descriptors: [...byModelName.values()].map((entry) => entry.descriptor), providers };
}

const BUILTINS: ReadonlySet<string> = new Set([
  'exit_loop',
  'transfer_to_agent',
  'complete_task',
  'ask_user',
  'activate_skill',
]);

const EXIT_SCHEMA: JsonSchema = { type: 'object', properties: { reason: { type: 'string' } } };

const ASK_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    question: { type: 'string' },
    header: { type: 'string' },
    options: { type: 'array', items: { type: 'string' } },
    multiSelect: { type: 'boolean' },
  },
  required: ['question'],
};

const transferSchema = (targets: readonly string[]): JsonSchema => ({
  type: 'object',
  properties: { target: { type: 'string', enum: [...targets] }, reason: { type: 'string' } },
  required: ['target'],
});

/** Tool parameters are an object; any other output stands under `output`. */
export const wrapOutput = (schema: JsonSchema): JsonSchema =>
  schema.type === 'object' ? schema : { type: 'object', properties: { output: schema }, required: ['output'] };
