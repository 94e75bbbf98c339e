import type { AgentDefinition, JsonSchema } from '../contracts/index.js';
import { checkDefinition } from '../kernel/definition.js';
import type { Problem } from '../kernel/errors.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { graphPlan } from '../kernel/graph-plan.js';
import { DEFAULT_INPUT_SCHEMA, isDefaultInputSchema } from '../kernel/schema.js';
import { didYouMean } from '../kernel/text.js';
import { type ModelPrices, reachableMembers, type WorstCase, worstCaseOf } from './worst-case.js';

/** What the host would have. */
export interface HostInventory {
  /** Names of its tools. */
  readonly hostTools: readonly string[];
  /** Names of its executors; absent: they are not looked at. */
  readonly executors?: readonly string[];
  /** Prices of every model that an agent's choice may end with; undefined among them: one is not known. */
  readonly prices?: ModelPrices;
}

export interface TeamAnalysis {
  problems: Problem[];
  worstCase: WorstCase;
}

/** Tools that the host has by itself, or gives to those who need them. */
const builtInTools = ['ask_user', 'transfer_to_agent', 'exit_loop', 'complete_task', 'activate_skill'];

/**
 * What would go wrong when `definition` is run, without running it: the faults of the definition itself, names of tools
 * that neither the host nor the agent has, members of a transfer that nobody can hand over to, neighbours whose output
 * and input do not fit, executors that are not registered, and what has no bound.
 */
export function analyseTeam(definition: AgentDefinition, host: HostInventory): TeamAnalysis {
  const problems = checkDefinition(definition).map(namedBound);
  if (!isTree(definition, [])) return { problems, worstCase: { modelCalls: undefined, assumptions: [] } };
  visit(definition, definition.name, host, problems);
  problems.push(
    ...flowFaults(definition, definition.name, { schema: DEFAULT_INPUT_SCHEMA, from: 'the prompt' }).problems,
  );
  return { problems, worstCase: worstCaseOf(definition, host.prices) };
}

/** Whether it can be walked: agents all the way down, and none that holds itself. `checkDefinition` says what is wrong. */
function isTree(definition: AgentDefinition | undefined, above: readonly AgentDefinition[]): boolean {
  if (definition?.kind !== 'agent' || typeof definition.descriptor !== 'object' || above.includes(definition))
    return false;
  const inner = [...above, definition];
  if (definition.leader !== undefined && !isTree(definition.leader, inner)) return false;
  return Array.isArray(definition.tools) && (definition.children ?? []).every((child) => isTree(child, inner));
}

/** A bound that is not there gets a code of its own. */
function namedBound(problem: Problem): Problem {
  const key = problem.path?.slice(problem.path.lastIndexOf('.') + 1);
  if (key === 'maxSteps') return { ...problem, code: 'UNBOUNDED_GRAPH' };
  if (key === 'maxIterations') return { ...problem, code: 'UNBOUNDED_LOOP' };
  return key === 'maxTransfers' ? { ...problem, code: 'UNBOUNDED_TRANSFER' } : problem;
}

function visit(definition: AgentDefinition, path: string, host: HostInventory, problems: Problem[]): void {
  const { leader, children = [] } = definition;
  problems.push(
    ...missingTools(definition, path, host.hostTools),
    ...unknownExecutor(definition, path, host),
    ...unreachableMembers(definition, path),
  );
  for (const child of children) visit(child, `${path}/${child.name}`, host, problems);
  if (leader !== undefined) visit(leader, `${path}/${leader.name}`, host, problems);
}

function unknownExecutor({ descriptor }: AgentDefinition, path: string, { executors }: HostInventory): Problem[] {
  const { executor, composition } = descriptor;
  // The host runs functions itself.
  if (
    executors === undefined ||
    composition !== undefined ||
    isFunctionAgent(descriptor) ||
    executors.includes(executor)
  )
    return [];
  const message = `no executor "${executor}"${didYouMean(executor, executors)}; registered: ${executors.join(', ')}`;
  return [{ code: 'UNKNOWN_EXECUTOR', path: `${path}.executor`, message }];
}

function missingTools(definition: AgentDefinition, path: string, hostTools: readonly string[]): Problem[] {
  const own = definition.tools.flatMap((tool) => (typeof tool === 'string' ? [] : [tool.name]));
  const known = [...hostTools, ...builtInTools, ...own];
  const named = [
    ...definition.tools.map((tool, index) => ({ name: tool, key: `tools[${index}]` })),
    ...(definition.descriptor.requiredTools ?? []).map((name) => ({ name, key: 'requiredTools' })),
  ];
  const said = new Set<string>();
  return named.flatMap(({ name, key }) => {
    // What an extension brings is known once it is trusted.
    if (typeof name !== 'string' || known.includes(name) || name.startsWith('ext:') || said.has(name)) return [];
    said.add(name);
    const message = `no tool "${name}"${didYouMean(name, known)}; the host has ${hostTools.join(', ') || 'none'}`;
    return [{ code: 'UNKNOWN_TOOL', path: `${path}.${key}`, message }];
  });
}

function unreachableMembers(definition: AgentDefinition, path: string): Problem[] {
  const { composition } = definition.descriptor;
  if (composition?.pattern !== 'transfer') return [];
  const reached = reachableMembers(definition);
  return composition.children
    .filter((name) => !reached.has(name))
    .map((name) => ({
      code: 'UNREACHABLE_MEMBER',
      path: `${path}/${name}`,
      message: `no member that "${composition.start}" leads to may hand over to "${name}": add it to targets, or leave it out`,
    }));
}

/** What flows from one agent to the next; no schema: it cannot be said. */
interface Flow {
  schema: JsonSchema | undefined;
  from: string;
}

/** Faults of what `definition` is given and of what flows below it, and what it gives itself. */
function flowFaults(definition: AgentDefinition, path: string, given: Flow): { problems: Problem[]; output: Flow } {
  const { inputSchema, composition } = definition.descriptor;
  const takesAnything = isDefaultInputSchema(inputSchema);
  const faults = takesAnything ? [] : mismatches(given, inputSchema);
  const problems: Problem[] = faults.map((message) => ({
    code: 'SCHEMA_MISMATCH',
    path: `${path}.inputSchema`,
    message,
  }));
  const own: Flow = {
    schema: isFunctionAgent(definition.descriptor) ? undefined : (definition.descriptor.outputSchema ?? textSchema),
    from: `"${definition.name}"`,
  };
  if (composition === undefined) return { problems, output: own };

  const entered = takesAnything ? given : { schema: inputSchema, from: `the input of "${definition.name}"` };
  const reshapes = definition.behaviour?.mapInput !== undefined;
  const unknown: Flow = { schema: undefined, from: '' };
  const enter = (child: AgentDefinition, flow: Flow) => {
    const inner = flowFaults(child, `${path}/${child.name}`, reshapes ? unknown : flow);
    problems.push(...inner.problems);
    return inner.output;
  };
  const children = definition.children ?? [];
  switch (composition.pattern) {
    case 'sequential':
    case 'loop': {
      let flow = entered;
      for (const child of children) flow = enter(child, flow);
      const [first] = children;
      // The second iteration begins with what the first one ended with.
      if (composition.pattern === 'loop' && first !== undefined && (composition.maxIterations ?? 0) > 1 && !reshapes) {
        const again = flowFaults(first, `${path}/${first.name}`, flow).problems;
        problems.push(...again.filter((fault) => !problems.some((known) => sameProblem(known, fault))));
      }
      return { problems, output: flow };
    }
    case 'parallel': {
      const outputs = children.map((child) => [child.name, enter(child, entered).schema ?? {}] as const);
      return {
        problems,
        output: { schema: { type: 'object', properties: Object.fromEntries(outputs) }, from: own.from },
      };
    }
    case 'graph': {
      const outputs = new Map<number, Flow>();
      const plan = graphPlan(composition);
      // Those that stand before a node come first: what reaches it from one of them is known, what several bring is not.
      const order = [...children.keys()].sort(
        (one, other) => (plan.before[one]?.length ?? 0) - (plan.before[other]?.length ?? 0),
      );
      for (const index of order) {
        const into = plan.edges.filter(({ to }) => to === index);
        const [only] = into;
        const flow =
          into.length !== 1 || only === undefined ? unknown : only.from < 0 ? entered : outputs.get(only.from);
        outputs.set(index, enter(children[index] as AgentDefinition, flow ?? unknown));
      }
      const [end, ...others] = plan.ends;
      return { problems, output: end === undefined || others.length > 0 ? unknown : (outputs.get(end) ?? unknown) };
    }
    case 'hierarchical': {
      const { leader } = definition;
      // A leader calls its children with arguments that fit their input: their schemas are the tools' parameters.
      for (const child of children) enter(child, unknown);
      return { problems, output: leader === undefined ? unknown : enter(leader, entered) };
    }
    default:
      // A member that takes over is given the conversation; other patterns say themselves what flows.
      for (const child of children) enter(child, child.name === composition.start ? entered : unknown);
      return { problems, output: unknown };
  }
}

const textSchema: JsonSchema = { type: 'string' };

/** Why `given` cannot be what `wanted` asks for, one sentence each. */
function mismatches({ schema: given, from }: Flow, wanted: JsonSchema): string[] {
  if (given === undefined) return [];
  const wantedProperties = propertiesOf(wanted);
  const required = Array.isArray(wanted.required) ? (wanted.required as string[]) : [];
  // Text arrives as the prompt.
  const offered = given.type === 'object' ? propertiesOf(given) : { prompt: textSchema };
  if (given.type === 'object' && Object.keys(offered).length === 0 && given.additionalProperties !== false) return [];
  const absent = required.filter((key) => !(key in offered));
  const faults =
    absent.length === 0
      ? []
      : [
          `needs ${absent.map((key) => `"${key}"`).join(', ')}, which ${from} does not give (${keysOf(given, offered)})`,
        ];
  for (const [key, schema] of Object.entries(wantedProperties)) {
    const one = typeOf(offered[key]);
    const other = typeOf(schema);
    if (one === undefined || other === undefined || one === other || (one === 'integer' && other === 'number'))
      continue;
    faults.push(`needs "${key}" as ${other}, but ${from} gives ${one}`);
  }
  return faults;
}

function keysOf(given: JsonSchema, offered: Record<string, unknown>): string {
  return given.type === 'object'
    ? `it gives ${
        Object.keys(offered)
          .map((key) => `"${key}"`)
          .join(', ') || 'nothing'
      }`
    : 'it gives text';
}

function propertiesOf(schema: JsonSchema): Record<string, JsonSchema> {
  return typeof schema.properties === 'object' && schema.properties !== null
    ? (schema.properties as Record<string, JsonSchema>)
    : {};
}

function typeOf(schema: unknown): string | undefined {
  const type = typeof schema === 'object' && schema !== null ? (schema as JsonSchema).type : undefined;
  return typeof type === 'string' ? type : undefined;
}

function sameProblem(one: Problem, other: Problem): boolean {
  return one.path === other.path && one.message === other.message;
}
