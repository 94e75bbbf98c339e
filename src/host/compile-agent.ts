import type { AgentDefinition, ToolDefinition, ToolDescriptor } from '../contracts/index.js';
import { invalid } from '../kernel/agent-check.js';
import type { CrewPlan } from '../kernel/crew.js';
import { checkDefinition } from '../kernel/definition.js';
import { type Problem, throwProblems } from '../kernel/errors.js';
import { isFunctionAgent } from '../kernel/function-executor.js';
import { graphPlan } from '../kernel/graph-plan.js';
import type { StateDeclaration } from '../kernel/state.js';
import { didYouMean } from '../kernel/text.js';
import { agentTools } from './agent-tools.js';
import type { HostCore } from './host-core.js';
import type { AgentLimits, CompiledAgent } from './thread.js';

type RunTools = readonly (ToolDefinition | ToolDescriptor)[];
type CompilingHost = Pick<
  HostCore,
  'backends' | 'ownTools' | 'hostTools' | 'toolsets' | 'skills' | 'executors' | 'patterns' | 'models' | 'compiled'
>;

interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  readonly inLoop: boolean;
  readonly transferTargets: readonly string[] | undefined;
}

/**
 * Checks a whole definition against a host and settles what each agent's place gives it. Throws one `TroupeError` with
 * every problem; nothing has run by then. Kept per host and definition, unless the run brings tools of its own.
 */
export function compileAgent(
  host: CompilingHost,
  definition: AgentDefinition,
  options: { runTools?: RunTools; model?: AgentDefinition['model'] } = {},
): CompiledAgent {
  const { runTools = [], model } = options;
  const isPlain = runTools.length === 0 && model === undefined;
  const known = isPlain ? host.compiled.get(definition) : undefined;
  if (known !== undefined) return known;
  const read = host.backends.read(definition);
  const problems: Problem[] = [...checkDefinition(read.definition)];
  throwProblems(problems);
  // Asked for by the run it counts for every agent: its fault is told once.
  const fault = model === undefined ? undefined : host.models.fault(model);
  if (fault !== undefined) problems.push({ code: 'UNKNOWN_MODEL', path: 'options.model', message: fault });
  const place: Place = { path: definition.name, isRoot: true, inLoop: false, transferTargets: undefined };
  const compiled = compile({ host, runTools, model, problems }, read.definition, place);
  throwProblems(problems);
  if (isPlain && read.isComplete && host.skills.isComplete(definition)) host.compiled.set(definition, compiled);
  return compiled;
}

interface Compiling {
  readonly host: CompilingHost;
  readonly runTools: RunTools;
  /** Asked for by the run: it stands in for every agent's own. */
  readonly model: AgentDefinition['model'];
  readonly problems: Problem[];
}

function compile(compiling: Compiling, definition: AgentDefinition, place: Place): CompiledAgent {
  const { host, problems } = compiling;
  const { descriptor } = definition;
  const { composition } = descriptor;
  const driver = definition.leader ?? definition;
  const leads = definition.leader !== undefined;
  const isComposition = composition !== undefined;
  checkExecutor(compiling, definition, driver, place);

  const childPlace = (child: AgentDefinition): Place => ({
    path: `${place.path}/${child.name}`,
    isRoot: false,
    inLoop: place.inLoop || composition?.pattern === 'loop',
    transferTargets:
      composition?.pattern === 'transfer' ? (composition.transferTargets?.[child.name] ?? []) : undefined,
  });
  const children = definition.children?.map((child) => compile(compiling, child, childPlace(child))) ?? NO_CHILDREN;
  const path = leads ? `${place.path}/${driver.name}` : place.path;
  const skills = driver.skills === undefined ? undefined : host.skills.of(driver, path, problems);
  const tools = agentTools(
    driver,
    {
      path,
      hostTools: host.hostTools,
      toolsets: host.toolsets,
      ownTools: host.ownTools,
      runTools: compiling.runTools,
      takesRunTools: place.isRoot && (leads || !isComposition),
      inLoop: place.inLoop,
      transferTargets: place.transferTargets,
      children: leads
        ? children.map((child) => ({
            name: child.definition.name,
            description: child.descriptor.description,
            inputSchema: child.descriptor.inputSchema,
            readOnly: child.readOnly,
          }))
        : [],
      outputSchema: driver.descriptor.outputSchema,
      skills,
    },
    problems,
  );
  let readOnly = tools.providers.length === 0;
  let opensState = definition.opensState === true || driver.opensState === true;
  for (const entry of tools.byModelName.values()) readOnly &&= entry.readOnly;
  for (const child of children) {
    readOnly &&= child.readOnly;
    opensState ||= child.opensState;
  }
  const limits = limitsOf(definition, place.isRoot);
  return {
    definition,
    descriptor,
    behaviour: isComposition && !leads ? composition.pattern : 'turn',
    isComposition,
    plan: isComposition ? planOf(definition, place.inLoop) : null,
    children,
    tools,
    skills,
    hasSkills: skills !== undefined || children.some((one) => one.hasSkills),
    limits,
    limitsTurns: (isComposition && !leads && isLimit(limits.maxTurns)) || children.some((one) => one.limitsTurns),
    isBudgeted: isLimit(limits.maxBudgetUsd) || isLimit(limits.maxTokens) || children.some((one) => one.isBudgeted),
    declaration: declarationOf(definition, children),
    opensState,
    readOnly,
    outputKeys: outputKeysOf(definition),
    driver,
  };
}

/** The leader of a hierarchy runs in the composition's place, and both may name a key. */
function outputKeysOf({ outputKey, leader }: AgentDefinition): readonly string[] | undefined {
  if (outputKey === undefined && leader?.outputKey === undefined) return undefined;
  const keys = [outputKey, leader?.outputKey].filter((key) => key !== undefined);
  return keys.length > 0 ? [...new Set(keys)] : undefined;
}

function checkExecutor(compiling: Compiling, definition: AgentDefinition, driver: AgentDefinition, place: Place): void {
  const { host, problems } = compiling;
  const pattern = definition.descriptor.composition?.pattern;
  if (pattern !== undefined && !host.patterns.has(pattern)) {
    problems.push({
      code: 'UNKNOWN_EXECUTOR',
      path: place.path,
      message: `no composition "${pattern}"${didYouMean(pattern, host.patterns)}; registered: ${[...host.patterns].join(', ')}`,
    });
  }
  if (pattern !== undefined && definition.leader === undefined) return;
  const { executor } = driver.descriptor;
  if (isFunctionAgent(driver.descriptor)) {
    if (typeof driver.backend === 'function') return;
    problems.push(invalid(place.path, 'has the executor "function", whose backend must be the function'));
    return;
  }
  if (!host.executors.has(executor)) {
    const names = [...host.executors.keys()];
    problems.push({
      code: 'UNKNOWN_EXECUTOR',
      path: place.path,
      message: `no executor "${executor}"${didYouMean(executor, names)}; registered: ${names.join(', ') || 'none'}`,
    });
    return;
  }
  if (executor !== 'local' || compiling.model !== undefined) return;
  const fault = host.models.fault(driver.model);
  if (fault !== undefined) problems.push({ code: 'UNKNOWN_MODEL', path: `${place.path}.model`, message: fault });
}

/** A composition's options. `inLoop`: it stands in a loop. */
export function planOf(definition: AgentDefinition, inLoop: boolean): CrewPlan {
  const config = definition.descriptor.composition;
  const count = definition.children?.length ?? 0;
  const { join } = config ?? {};
  return {
    count,
    concurrency: config?.concurrency ?? 16,
    failFast: config?.failure === 'fail_fast',
    goesOnAfterFailure: config?.onFailure === 'continue',
    quorum: join === 'any' ? 1 : typeof join === 'object' ? join.quorum : count,
    maxIterations: config?.maxIterations ?? 1,
    asksUntil: definition.behaviour?.until !== undefined,
    maxTransfers: config?.maxTransfers ?? 10,
    inLoop: inLoop || config?.pattern === 'loop',
    graph: config?.pattern === 'graph' ? graphPlan(config) : null,
  };
}

const MINUTE_MS = 60_000;

const isLimit = (limit: number) => limit !== Number.POSITIVE_INFINITY;

/** Spec 2.2: a root run gets 100 turns and 500 model calls, a sub-agent 15 turns and 5 minutes. */
function limitsOf(definition: AgentDefinition, isRoot: boolean): AgentLimits {
  const { constraints, composition } = definition.descriptor;
  const leads = definition.leader?.descriptor.constraints;
  if (constraints === undefined && leads === undefined && composition === undefined && !isRoot) return CHILD_LIMITS;
  const set = { ...leads, ...constraints };
  const isPlain = composition === undefined || definition.leader !== undefined;
  const none = Number.POSITIVE_INFINITY;
  return {
    maxTurns: set.maxTurns ?? (!isPlain ? none : isRoot ? 100 : 15),
    maxLlmCalls: set.maxLlmCalls ?? (isRoot && isPlain ? 500 : none),
    maxTimeMs:
      set.maxTimeMinutes !== undefined ? set.maxTimeMinutes * MINUTE_MS : isRoot || !isPlain ? none : 5 * MINUTE_MS,
    maxBudgetUsd: set.maxBudgetUsd ?? none,
    maxTokens: set.maxTokens ?? none,
    graceTurn: set.graceTurn ?? false,
  };
}

const NO_KEYS: StateDeclaration = Object.freeze({});
const NO_CHILDREN: readonly CompiledAgent[] = Object.freeze([]);
/** Of almost every agent of a team of thousands. */
const CHILD_LIMITS: AgentLimits = Object.freeze({
  maxTurns: 15,
  maxLlmCalls: Number.POSITIVE_INFINITY,
  maxTimeMs: 5 * MINUTE_MS,
  maxBudgetUsd: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  graceTurn: false,
});

/** All state that an agent and those below it declare, `outputKey`s included. Nested declarations agree: they were checked. */
function declarationOf(definition: AgentDefinition, children: readonly CompiledAgent[]): StateDeclaration {
  if (children.length === 0 && definition.behaviour?.state === undefined && outputKeysOf(definition) === undefined) {
    return NO_KEYS;
  }
  const declared: Record<string, StateDeclaration[string]> = {};
  const add = (keys: StateDeclaration) => {
    for (const key of Object.keys(keys)) {
      // An `outputKey` declares its key with nothing said about it: what is said elsewhere counts.
      const known = declared[key];
      if (known === undefined || Object.keys(known).length === 0) declared[key] = keys[key] ?? {};
    }
  };
  add(definition.behaviour?.state ?? NO_KEYS);
  for (const child of children) if (child.declaration !== NO_KEYS) add(child.declaration);
  for (const key of outputKeysOf(definition) ?? []) add({ [key]: {} });
  return Object.keys(declared).length > 0 ? declared : NO_KEYS;
}
