import { fileURLToPath } from 'node:url';
import type {
  AgentConstraints,
  AgentDefinition,
  AgentMetadata,
  Capability,
  ContextBudget,
  ExecutorType,
  GenerationConfig,
  InstructionContext,
  ModelInterface,
  SchemaInput,
  SessionToolset,
  ToolDefinition,
  ToolFactory,
} from '../contracts/index.js';
import { checkDefinition } from '../kernel/definition.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { DEFAULT_INPUT_SCHEMA, readSchema } from '../kernel/schema.js';
import { assertOptions, plainOption, unknownKeys } from './author-options.js';
import type { AgentInput, AgentOutput, WrittenState } from './infer.js';

export interface AgentOptions<
  Name extends string,
  Input extends SchemaInput | undefined,
  Output extends SchemaInput | undefined,
  OutputKey extends string,
> {
  /** `^[A-Za-z_][A-Za-z0-9_-]*$`, at most 64 characters, unique in its tree. */
  name: Name;
  displayName?: string;
  /** What others read to decide whether to call it. Default: its name. */
  description?: string;
  /** `provider/name`, an alias, or a model. Default: the run's. */
  model?: string | ModelInterface;
  instruction?: string | ((context: InstructionContext) => string | Promise<string>);
  /** Own tools (policed as `agentName.toolName`), what makes some for each session, and names of host tools. */
  tools?: readonly (ToolDefinition | ToolFactory | SessionToolset | string)[];
  /** All tools that the parent or host has, beside `tools`. */
  inheritTools?: boolean;
  /** Folders with a `SKILL.md`: paths, relative to the current directory, or file URLs. Read before the first run. */
  skills?: readonly (string | URL)[];
  /** Names of host tools without which no session is made, beside those in `tools`. */
  requiredTools?: readonly string[];
  /** Of an object. Default: `{ prompt: string }`, for which plain text stands too. */
  inputSchema?: Input;
  /** With it the agent ends with data, otherwise with its final text. */
  outputSchema?: Output;
  constraints?: AgentConstraints;
  /** Default `local`. */
  executor?: ExecutorType;
  /** What the executor drives: an ADK agent, a remote's address, a command. */
  backend?: unknown;
  /** The state key that takes the output. */
  outputKey?: OutputKey;
  generation?: GenerationConfig;
  contextBudget?: ContextBudget;
  capabilities?: readonly Capability[];
  metadata?: AgentMetadata;
  /** Default true. False: a model call sees only the run that it belongs to. */
  includeHistory?: boolean;
  /** Path of a script for the scripted model. */
  script?: string;
}

const KNOWN: readonly (keyof AgentOptions<string, undefined, undefined, string>)[] = [
  'name',
  'displayName',
  'description',
  'model',
  'instruction',
  'tools',
  'inheritTools',
  'skills',
  'requiredTools',
  'inputSchema',
  'outputSchema',
  'constraints',
  'executor',
  'backend',
  'outputKey',
  'generation',
  'contextBudget',
  'capabilities',
  'metadata',
  'includeHistory',
  'script',
];

/** One agent. Throws `INVALID_DEFINITION` with every fault found. */
export function agent<
  const Name extends string,
  Input extends SchemaInput | undefined = undefined,
  Output extends SchemaInput | undefined = undefined,
  const OutputKey extends string = never,
>(
  options: AgentOptions<Name, Input, Output, OutputKey>,
): AgentDefinition<Name, AgentInput<Input>, AgentOutput<Output>, WrittenState<OutputKey, AgentOutput<Output>>> {
  assertOptions(options, 'agent');
  const path = options.name || '(unnamed)';
  const problems: Problem[] = unknownKeys(options, KNOWN, path);
  const read = (schema: SchemaInput | undefined, key: string, objectOnly: boolean) => {
    if (schema === undefined) return undefined;
    const reading = readSchema(schema, { path: `${path}.${key}`, objectOnly });
    problems.push(...reading.problems);
    return reading;
  };
  const input = read(options.inputSchema, 'inputSchema', true);
  const output = read(options.outputSchema, 'outputSchema', false);
  const given = options.tools ?? [];
  const isList = Array.isArray(given);
  const sources = isList ? given.filter(isToolSource) : [];
  const tools = (isList ? given.filter((one) => !isToolSource(one)) : given) as readonly (ToolDefinition | string)[];
  const definition: AgentDefinition = {
    kind: 'agent',
    name: options.name,
    descriptor: {
      name: options.name,
      ...(options.displayName !== undefined && { displayName: options.displayName }),
      description: options.description ?? options.name ?? '',
      executor: options.executor ?? 'local',
      inputSchema: input?.jsonSchema ?? DEFAULT_INPUT_SCHEMA,
      ...(output && { outputSchema: output.jsonSchema }),
      ...(options.capabilities !== undefined && { capabilities: listOf(options.capabilities) }),
      ...ownTools(tools),
      ...requiredTools(tools, options.requiredTools),
      ...plainOption('constraints', options.constraints),
      ...plainOption('metadata', options.metadata),
    },
    tools: Array.isArray(tools) ? Object.freeze([...tools]) : tools,
    ...(sources.length > 0 && { toolSources: sources }),
    ...(options.skills !== undefined && { skills: skillFolders(options.skills) }),
    ...keep(options, [
      'instruction',
      'model',
      'inheritTools',
      'outputKey',
      'generation',
      'contextBudget',
      'includeHistory',
      'backend',
      'script',
    ]),
    ...(input?.validator && { inputValidator: input.validator }),
    ...(output?.validator && { outputValidator: output.validator }),
  };
  // What was checked stays as it was checked.
  Object.freeze(definition.descriptor);
  Object.freeze(definition);
  throwProblems([...problems, ...checkDefinition(definition)]);
  return definition as AgentDefinition<
    Name,
    AgentInput<Input>,
    AgentOutput<Output>,
    WrittenState<OutputKey, AgentOutput<Output>>
  >;
}

/** A copy; what is no list stays as it is for the check. */
const listOf = <T>(list: readonly T[]): T[] => (Array.isArray(list) ? [...list] : list) as T[];

function ownTools(tools: readonly (ToolDefinition | string)[]) {
  if (!Array.isArray(tools)) return {};
  const own = tools.filter((one): one is ToolDefinition => one?.kind === 'tool').map((one) => one.descriptor);
  return own.length > 0 ? { ownTools: own } : {};
}

/** What is no path stays as it is for the check. */
function skillFolders(skills: readonly (string | URL)[]): readonly string[] {
  if (!Array.isArray(skills)) return skills as never;
  return skills.map((one) => (one instanceof URL && one.protocol === 'file:' ? fileURLToPath(one) : (one as string)));
}

/** Names of tools that the host must have: no patterns, and not those that the provider runs. */
function requiredTools(tools: readonly (ToolDefinition | string)[], more: readonly string[] = []) {
  const named = Array.isArray(tools) ? tools.filter((one): one is string => typeof one === 'string') : [];
  const required = named.filter((name) => !name.includes('*') && !name.startsWith('provider:'));
  // What is no list stays as it is for the check.
  if (!Array.isArray(more)) return { requiredTools: more as string[] };
  const all = [...new Set([...required, ...more])];
  return all.length > 0 ? { requiredTools: all } : {};
}

function keep<T extends object, K extends keyof T>(options: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const kept: Partial<Pick<T, K>> = {};
  for (const key of keys) if (options[key] !== undefined) kept[key] = options[key];
  return kept;
}

const isToolSource = (tool: unknown): tool is ToolFactory | SessionToolset =>
  typeof tool === 'function' ||
  (typeof tool === 'object' &&
    tool !== null &&
    !('kind' in tool) &&
    'tools' in tool &&
    typeof tool.tools === 'function');
