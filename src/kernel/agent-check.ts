import type { AgentConstraints, AgentDefinition, ToolDefinition } from '../contracts/index.js';
import type { Problem } from './errors.js';
import { jsonFault } from './json-value.js';
import { didYouMean } from './text.js';
import { isCompatible } from './version.js';

const AGENT_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const TOOL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/;
/** Well formed, but no key of an object: results and state are kept by name. */
const NO_KEY = '__proto__';
const LONGEST_NAME = 64;
/** The host gives these to agents itself. */
const RESERVED_TOOLS = ['transfer_to_agent', 'exit_loop', 'complete_task', 'activate_skill'];
const LIMITS: Record<keyof AgentConstraints, 'count' | 'amount' | 'flag'> = {
  maxTurns: 'count',
  maxLlmCalls: 'count',
  maxTimeMinutes: 'amount',
  maxBudgetUsd: 'amount',
  maxTokens: 'count',
  graceTurn: 'flag',
};

export function invalid(path: string, message: string): Problem {
  return { code: 'INVALID_DEFINITION', path, message };
}

/** Faults of one agent, whatever it is; what it holds as a composition and what lies below are not looked at. */
export function checkAgent(definition: AgentDefinition, path: string): Problem[] {
  const { descriptor } = definition;
  if (typeof descriptor !== 'object' || descriptor === null) return [invalid(path, 'has no descriptor')];
  return [
    ...checkName(definition, path),
    ...(typeof descriptor.description === 'string' ? [] : [invalid(`${path}.description`, 'must be a text')]),
    ...(typeof descriptor.executor === 'string' && descriptor.executor !== ''
      ? []
      : [invalid(`${path}.executor`, 'must be the name of an executor')]),
    ...checkTools(definition, path),
    ...checkSkills(definition, path),
    ...checkConstraints(descriptor.constraints, `${path}.constraints`),
    ...checkFunctions(definition, path),
    ...checkKeys(definition, path),
    ...checkVersion(definition, path),
  ];
}

/** One problem for each key, and each key of the objects in it, whose value JSON would lose or change. */
export function jsonProblems(bag: object, path: string): Problem[] {
  return Object.entries(bag).flatMap(([key, value]) => {
    const isBag = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
    const inner = isBag ? Object.entries(value as object) : [];
    const faults = inner.flatMap(([name, one]) => jsonFaultAt(one, `${path}.${key}.${name}`));
    return faults.length > 0 ? faults : jsonFaultAt(value, `${path}.${key}`);
  });
}

function jsonFaultAt(value: unknown, path: string): Problem[] {
  const fault = value === undefined ? undefined : jsonFault(value);
  return fault === undefined ? [] : [invalid(path, `must be plain JSON: ${fault.trim()}`)];
}

/** What is wrong with the name of a tool; undefined when nothing is. */
export function toolNameFault(name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a tool needs a name';
  if (name.length > LONGEST_NAME) return `the tool name "${name}" is longer than ${LONGEST_NAME} characters`;
  if (!TOOL_NAME.test(name) || name === NO_KEY) return `"${name}" is no tool name: letters, digits and _ . : / - only`;
  if (name.startsWith('provider:')) return `"${name}" names a tool that the provider runs; it is declared by name only`;
  if (RESERVED_TOOLS.includes(name)) return `"${name}" is a tool of the host; choose another name`;
  return undefined;
}

function checkName({ name, descriptor }: AgentDefinition, path: string): Problem[] {
  if (typeof name !== 'string' || name === '') return [invalid(`${path}.name`, 'an agent needs a name')];
  const problems: Problem[] = [];
  if (!AGENT_NAME.test(name) || name === NO_KEY) {
    problems.push(invalid(`${path}.name`, `"${name}" is no agent name: a letter or _, then letters, digits, _ and -`));
  }
  if (name.length > LONGEST_NAME) {
    problems.push(invalid(`${path}.name`, `is ${name.length} characters long; at most ${LONGEST_NAME}`));
  }
  if (descriptor.name !== name) problems.push(invalid(`${path}.name`, `the descriptor says "${descriptor.name}"`));
  return problems;
}

function checkTools(definition: AgentDefinition, path: string): Problem[] {
  if (!Array.isArray(definition.tools)) return [invalid(`${path}.tools`, 'must be a list of tools and names of tools')];
  const problems: Problem[] = [];
  const seen = new Map<string, string>();
  for (const [index, tool] of (definition.tools as readonly (ToolDefinition | string)[]).entries()) {
    const place = `${path}.tools[${index}]`;
    const name = toolName(tool);
    if (name === undefined) {
      problems.push(invalid(place, 'is neither a tool, as tool() makes it, nor the name of a host tool'));
      continue;
    }
    const fault = typeof tool === 'string' ? undefined : toolNameFault(name);
    if (fault !== undefined) problems.push(invalid(place, fault));
    const first = seen.get(name);
    if (first === undefined) seen.set(name, place);
    else
      problems.push(
        invalid(place, `a second tool "${name}" (the first is ${first}); an agent tells its tools apart by name`),
      );
  }
  return problems;
}

function checkSkills({ skills }: AgentDefinition, path: string): Problem[] {
  if (skills === undefined) return [];
  if (!Array.isArray(skills)) return [invalid(`${path}.skills`, 'must be a list of folders')];
  return (skills as readonly unknown[]).flatMap((folder, index) => {
    const isPath = typeof folder === 'string' && folder.trim() !== '' && !folder.includes('\0');
    if (!isPath) return [invalid(`${path}.skills[${index}]`, 'must be the path of a folder, or its file URL')];
    return skills.indexOf(folder) === index ? [] : [invalid(`${path}.skills[${index}]`, `"${folder}" stands twice`)];
  });
}

/** The name by which the agent's model says a tool; undefined: not a tool. */
function toolName(tool: unknown): string | undefined {
  if (typeof tool === 'string') return tool.trim() === '' ? undefined : tool;
  if (typeof tool !== 'object' || tool === null) return undefined;
  const { kind, name } = tool as Partial<ToolDefinition>;
  return kind === 'tool' && typeof name === 'string' ? name : undefined;
}

function checkConstraints(constraints: unknown, path: string): Problem[] {
  if (constraints === undefined) return [];
  if (typeof constraints !== 'object' || constraints === null) return [invalid(path, 'must be an object')];
  return Object.entries(constraints).flatMap(([key, value]) => {
    const kind = Object.hasOwn(LIMITS, key) ? LIMITS[key as keyof AgentConstraints] : undefined;
    if (kind === undefined)
      return [
        invalid(
          `${path}.${key}`,
          `is unknown${didYouMean(key, Object.keys(LIMITS))}; known: ${Object.keys(LIMITS).join(', ')}`,
        ),
      ];
    const fault = limitFault(kind, value);
    return fault === undefined || value === undefined
      ? []
      : [invalid(`${path}.${key}`, `${fault}, not ${String(value)}`)];
  });
}

function limitFault(kind: 'count' | 'amount' | 'flag', value: unknown): string | undefined {
  if (kind === 'flag') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (kind === 'count')
    return Number.isInteger(value) && Number(value) >= 1 ? undefined : 'must be a whole number from 1';
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? undefined : 'must be a number from 0';
}

function checkFunctions({ instruction, model }: AgentDefinition, path: string): Problem[] {
  const problems: Problem[] = [];
  if (instruction !== undefined && typeof instruction !== 'string' && typeof instruction !== 'function') {
    problems.push(invalid(`${path}.instruction`, 'must be a text or a function that returns one'));
  }
  if (model !== undefined && !isModel(model)) {
    problems.push(
      invalid(
        `${path}.model`,
        'must be a name such as "gemini/gemini-flash-latest", or an object with generate and generateStream',
      ),
    );
  }
  return problems;
}

function isModel(model: unknown): boolean {
  if (typeof model === 'string') return model.trim() !== '';
  if (typeof model !== 'object' || model === null) return false;
  const { generate, generateStream } = model as { generate?: unknown; generateStream?: unknown };
  return typeof generate === 'function' && typeof generateStream === 'function';
}

function checkKeys({ outputKey, contextBudget }: AgentDefinition, path: string): Problem[] {
  const problems: Problem[] = [];
  if (outputKey !== undefined && !isStateKey(outputKey))
    problems.push(invalid(`${path}.outputKey`, 'must be the name of a state key'));
  if (contextBudget !== undefined && !(Number.isInteger(contextBudget?.maxTokens) && contextBudget.maxTokens > 0)) {
    problems.push(invalid(`${path}.contextBudget.maxTokens`, 'must be a whole number from 1'));
  }
  return problems;
}

/** Too many object operations take `__proto__` for something else. */
function isStateKey(key: unknown): key is string {
  return typeof key === 'string' && key !== '' && key !== NO_KEY;
}

function checkVersion({ descriptor }: AgentDefinition, path: string): Problem[] {
  const version: unknown = descriptor.metadata?.interfaceVersion;
  if (version === undefined) return [];
  const verdict = isCompatible(String(version));
  if (verdict.compatible) return [];
  return [{ code: 'INCOMPATIBLE_VERSION', path: `${path}.metadata.interfaceVersion`, message: verdict.reason }];
}
