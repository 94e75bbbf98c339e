import { type Problem, TroupeError } from '../kernel/errors.js';
import { generationFaults } from '../kernel/generation-check.js';
import { didYouMean } from '../kernel/text.js';
import type { HostLimits, HostOptions, ResumeOptions, RunOptions } from './types.js';

/** Every key of a type: one that is missing here does not compile. */
type Keys<T> = Record<keyof T, true>;

const HOST_KEYS: Keys<Required<HostOptions>> = {
  models: true,
  tools: true,
  policy: true,
  trust: true,
  userPolicyFile: true,
  hooks: true,
  elicitation: true,
  credentials: true,
  agents: true,
  appName: true,
  store: true,
  telemetry: true,
  aliases: true,
  router: true,
  prices: true,
  fallbacks: true,
  limits: true,
  clock: true,
  seed: true,
  inspect: true,
};

const RUN_KEYS: Keys<Required<RunOptions>> = {
  permissionMode: true,
  signal: true,
  model: true,
  generation: true,
  contextBudget: true,
  maxBudgetUsd: true,
  maxTokens: true,
  tools: true,
  hostToolExecution: true,
  streaming: true,
  sessionId: true,
  userId: true,
  ephemeral: true,
  traceContext: true,
  migrate: true,
};

const RESUME_KEYS: Keys<Required<ResumeOptions>> = {
  agent: true,
  repair: true,
  migrate: true,
  permissionMode: true,
  signal: true,
  model: true,
  generation: true,
  contextBudget: true,
  maxBudgetUsd: true,
  maxTokens: true,
  tools: true,
  hostToolExecution: true,
  streaming: true,
  traceContext: true,
};

type Check = (value: unknown) => string | undefined;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const hasMethods = (value: unknown, names: readonly string[]) =>
  isObject(value) && names.every((name) => typeof value[name] === 'function');

const must =
  (fits: (value: unknown) => boolean, be: string): Check =>
  (value) =>
    fits(value) ? undefined : `must be ${be}`;
const text = must((value) => typeof value === 'string', 'a text');
const flag = must((value) => typeof value === 'boolean', 'true or false');
const object = must(isObject, 'an object');
const listOf = (what: string) =>
  must((value) => Array.isArray(value) && value.every((one) => isObject(one)), `a list of ${what}`);
const amount = must((value) => typeof value === 'number' && value >= 0, 'a number, 0 or more');

const tokens = must(
  (value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) >= 0),
  'a whole number, 0 or more',
);

const LIMIT_KEYS = ['concurrency', 'providers', 'toolTimeoutMs', 'abortTimeoutMs'];

const HOST_CHECKS: Partial<Record<keyof HostOptions, Check>> = {
  models: (value) => {
    if (!isObject(value)) return 'must be an object: provider name → model or factory';
    for (const [name, model] of Object.entries(value)) {
      if (name === '' || name.includes('/')) return `"${name}" is no provider name: it stands before the slash`;
      if (typeof model === 'function' || hasMethods(model, ['generate', 'generateStream'])) continue;
      return `"${name}" must be a model (generate, generateStream) or a function that makes one`;
    }
    return undefined;
  },
  tools: must(
    (value) => Array.isArray(value) && value.every((one) => typeof one === 'function' || isObject(one)),
    'a list of tools, toolsets and functions that make a tool',
  ),
  policy: listOf('rule sets and evaluators'),
  userPolicyFile: must((value) => typeof value === 'string' && value !== '', 'the path of a file'),
  hooks: listOf('hooks'),
  trust: flag,
  agents: listOf('agents'),
  credentials: must(
    (value) => hasMethods(value, ['get', 'set', 'delete']),
    'a store of credentials (get, set, delete)',
  ),
  appName: text,
  store: must(
    (value) => hasMethods(value, ['create', 'load', 'list', 'delete']),
    'a store (create, load, list, delete)',
  ),
  telemetry: must(
    (value) => hasMethods(value, ['startAgentSpan', 'recordToolCall', 'recordModelCall', 'recordError']),
    'a telemetry bridge (startAgentSpan, recordToolCall, recordModelCall, recordError)',
  ),
  clock: must((value) => hasMethods(value, ['now', 'schedule']), 'a clock (now, schedule)'),
  inspect: must(
    (value) => typeof value === 'function' || hasMethods(value, ['next']),
    'a function, or an observer (next)',
  ),
  aliases: must(isObject, 'an object: name → alias'),
  prices: must(isObject, 'an object: model → { input, output }, in USD per million tokens'),
  seed: must((value) => typeof value === 'number' && Number.isFinite(value), 'a number'),
  limits: (value) => {
    if (!isObject(value)) return 'must be an object';
    const unknown = Object.keys(value).find((key) => !LIMIT_KEYS.includes(key));
    if (unknown !== undefined)
      return `no limit "${unknown}"${didYouMean(unknown, LIMIT_KEYS)}; limits: ${LIMIT_KEYS.join(', ')}`;
    const { providers } = value;
    const isFine = providers === undefined || (isObject(providers) && Object.values(providers).every(isObject));
    return isFine ? undefined : 'providers must be an object: name → { concurrency }';
  },
};

const RUN_CHECKS: Partial<Record<keyof RunOptions, Check>> = {
  signal: must((value) => isObject(value) && typeof value.addEventListener === 'function', 'an AbortSignal'),
  model: must((value) => typeof value === 'string' || isObject(value), 'the name of a model, or a model'),
  contextBudget: must(
    (value) => isObject(value) && Number.isInteger(value.maxTokens) && Number(value.maxTokens) > 0,
    'an object with maxTokens, a whole number from 1',
  ),
  maxBudgetUsd: amount,
  maxTokens: tokens,
  tools: listOf('tools'),
  hostToolExecution: flag,
  streaming: flag,
  sessionId: text,
  userId: text,
  ephemeral: flag,
  permissionMode: text,
  traceContext: object,
};

/** What is wrong with the numbers among a host's limits; no limit at all is `Infinity`. */
export function limitFaults({ concurrency, providers = {}, toolTimeoutMs, abortTimeoutMs }: HostLimits): Problem[] {
  const problems: Problem[] = [];
  const check = (value: unknown, path: string, fits: (value: unknown) => boolean, be: string) => {
    if (value !== undefined && !fits(value))
      problems.push({ code: 'INVALID_OPTION', path: `limits.${path}`, message: `must be ${be}, not ${String(value)}` });
  };
  check(concurrency, 'concurrency', isCount, COUNT);
  check(toolTimeoutMs, 'toolTimeoutMs', isSpan, SPAN);
  check(abortTimeoutMs, 'abortTimeoutMs', isSpan, SPAN);
  for (const [name, limit] of Object.entries(providers))
    check(limit.concurrency ?? null, `providers.${name}.concurrency`, isCount, COUNT);
  return problems;
}

const COUNT = 'a whole number from 1';
const SPAN = 'a number of milliseconds above 0';
const isCount = (value: unknown) =>
  value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && Number(value) >= 1);
const isSpan = (value: unknown) => typeof value === 'number' && value > 0;

/** The options of calls that take few; `run` and `session` say all that is wrong with theirs themselves. */
const CALL_KEYS: Readonly<Record<string, readonly string[]>> = {
  fork: ['at'],
  rewind: ['to', 'restoreFiles'],
  attach: ['after'],
  close: ['drainMs'],
  inspectServer: ['port', 'hostname', 'token', 'name', 'hosts', 'connect'],
};

/**
 * The options of a call, `{}` when left out. Throws `INVALID_OPTION` for what is no object of options, and for a key of
 * `CALL_KEYS` that nobody reads: what it was to say would be lost.
 */
export function optionsOf<T extends object>(options: T | undefined, of: string): T {
  if (options === undefined) return {} as T;
  if (isObject(options)) {
    const keys = CALL_KEYS[of];
    const unknown = keys && Object.keys(options).find((key) => !keys.includes(key));
    if (keys === undefined || unknown === undefined) return options;
    const message = `${of}: no option "${unknown}"${didYouMean(unknown, keys)}; options: ${keys.join(', ')}`;
    throw new TroupeError({ code: 'INVALID_OPTION', message });
  }
  throw new TroupeError({ code: 'INVALID_OPTION', message: `${of}: options must be an object, { … }` });
}

/** What is wrong with the options of a host, each with what would do: keys that nobody reads, values of another form. */
export const hostOptionFaults = (options: object): Problem[] => faults(options, HOST_KEYS, HOST_CHECKS, 'createHost');
/** The same for a run or a session. */
export const runOptionFaults = (options: object): Problem[] => faults(options, RUN_KEYS, RUN_CHECKS, 'options');

/** The same for a session that is taken up again. */
export const resumeOptionFaults = (options: object): Problem[] =>
  faults(options, RESUME_KEYS, { ...RUN_CHECKS, ...RESUME_CHECKS }, 'options');

const RESUME_CHECKS: Partial<Record<keyof ResumeOptions, Check>> = {
  agent: must((value) => isObject(value) && value.kind === 'agent', 'an agent'),
  repair: flag,
  migrate: must((value) => typeof value === 'function', 'a function'),
};

function faults(options: object, known: object, checks: Partial<Record<string, Check>>, path: string): Problem[] {
  const problems: Problem[] = [];
  const say = (at: string, message: string) => problems.push({ code: 'INVALID_OPTION', path: at, message });
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(known, key)) {
      const names = Object.keys(known);
      const message = `no option "${key}"${didYouMean(key, names)}; options: ${names.join(', ')}`;
      say(path, message);
      continue;
    }
    if (value === undefined) continue;
    const fault = checks[key]?.(value);
    if (fault !== undefined) say(`${path}.${key}`, fault);
    if (key !== 'generation') continue;
    for (const wrong of generationFaults(value))
      say(`${path}.generation${wrong.key === '' ? '' : `.${wrong.key}`}`, wrong.message);
  }
  return problems;
}
