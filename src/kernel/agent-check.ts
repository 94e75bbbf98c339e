import type { AgentConstraints, AgentDefinition, ToolDefinition } from '../contracts/index.js';
import type { Problem } from './errors.js';
import { generationFaults } from './generation-check.js';
import { jsonFault } from './json-value.js';
import { didYouMean } from './text.js';
import { isCompatible } from './version.js';

const AGENT_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const TOOL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$/;
/** Well formed, but no key of an object: results and state are kept by name. */
const NO_KEY = '__proto__';
const LONGEST_NAME = 64;
/** The host gives these to agents itself. */
const RESERVED_TOOLS: readonly unknown[] = [
  'transfer_to_agent',
  'exit_loop',
  'complete_task',
  'activate_skill',
  'ask_user',
  'exit_plan_mode',
];
type LimitKind = 'count' | 'amount' | 'time' | 'flag';
const LIMITS: Record<keyof AgentConstraints, LimitKind> = {
  maxTurns: 'count',
  maxLlmCalls: 'count',
  maxTimeMinutes: 'time',
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
    ...checkForms(definition, path),
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

/** Whether the host gives agents a tool of that name itself. */
export const isHostsTool = (name: unknown): boolean => RESERVED_TOOLS.includes(name);

/** What is wrong with the name of a tool; undefined when nothing is. */
export function toolNameFault(name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'a tool needs a name';
  if (name.length > LONGEST_NAME) return `the tool name "${name}" is longer than ${LONGEST_NAME} characters`;
  if (!TOOL_NAME.test(name) || name === NO_KEY) return `"${name}" is no tool name: letters, digits and _ . : / - only`;
  if (name.startsWith('provider:')) return `"${name}" names a tool that the provider runs; it is declared by name only`;
  if (isHostsTool(name)) return `"${name}" is a tool of the host; choose another name`;
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

function limitFault(kind: LimitKind, value: unknown): string | undefined {
  if (kind === 'flag') return typeof value === 'boolean' ? undefined : 'must be true or false';
  if (kind === 'count')
    return Number.isInteger(value) && Number(value) >= 1 ? undefined : 'must be a whole number from 1';
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  if (kind === 'time') return isNumber && value > 0 ? undefined : 'must be a number of minutes above 0';
  return isNumber && value >= 0 ? undefined : 'must be a number from 0';
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
  const strategy: unknown = contextBudget?.strategy;
  if (strategy !== undefined && typeof strategy !== 'string')
    problems.push(invalid(`${path}.contextBudget.strategy`, 'must be the name of a strategy'));
  return problems;
}

/** Options that are a flag, a text, a list of texts or a bag, and no more. */
function checkForms({ descriptor, generation, includeHistory, inheritTools, script }: AgentDefinition, path: string) {
  const { displayName, metadata, capabilities, requiredTools } = descriptor;
  const problems: Problem[] = [];
  const check = (key: string, value: unknown, fits: (value: unknown) => boolean, be: string) => {
    if (value !== undefined && !fits(value)) problems.push(invalid(`${path}.${key}`, `must be ${be}`));
  };
  check('includeHistory', includeHistory, isFlag, 'true or false');
  check('inheritTools', inheritTools, isFlag, 'true or false');
  check('script', script, isString, 'the path of a file');
  check('displayName', displayName, isString, 'a text');
  check('metadata', metadata, isBag, 'an object');
  check('capabilities', capabilities, areTexts, 'a list of names');
  check('requiredTools', requiredTools, areTexts, 'a list of names of tools');
  for (const { key, message } of generation === undefined ? [] : generationFaults(generation))
    problems.push(invalid(`${path}.generation${key === '' ? '' : `.${key}`}`, message));
  return problems;
}

const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isString = (value: unknown): boolean => typeof value === 'string';
const isBag = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
/** Holes are told by the check for JSON. */
const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => one === undefined || (typeof one === 'string' && one !== ''));

/** Flags on which it depends what may run without being asked about: one that is a text would be read as somebody pleases. */
const FLAGS = ['readOnly', 'destructive', 'longRunning', 'idempotent', 'polling', 'sandboxed', 'providerExecuted'];

/** What is wrong with the annotations of a tool; keys of one's own are one's own. */
export function annotationFaults(annotations: unknown, path: string): Problem[] {
  if (!isBag(annotations)) return [invalid(path, 'must be an object, such as { readOnly: true }')];
  const bag = annotations as Record<string, unknown>;
  const flags = FLAGS.filter((key) => bag[key] !== undefined && !isFlag(bag[key]));
  const problems = flags.map((key) => invalid(`${path}.${key}`, `must be true or false, not ${String(bag[key])}`));
  if (bag.category !== undefined && !isString(bag.category))
    problems.push(invalid(`${path}.category`, 'must be a text'));
  return [...problems, ...jsonProblems(bag, path)];
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
