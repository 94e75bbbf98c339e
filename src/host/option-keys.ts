import type { Problem } from '../kernel/errors.js';
import { didYouMean } from '../kernel/text.js';
import type { HostOptions, RunOptions } from './types.js';

/** Every key of a type: one that is missing here does not compile. */
type Keys<T> = Record<keyof T, true>;

const HOST_KEYS: Keys<Required<HostOptions>> = {
  models: true,
  tools: true,
  policy: true,
  hooks: true,
  elicitation: true,
  agents: true,
  appName: true,
  store: true,
  telemetry: true,
  limits: true,
  clock: true,
  inspect: true,
};

const RUN_KEYS: Keys<Required<RunOptions>> = {
  permissionMode: true,
  signal: true,
  model: true,
  generation: true,
  contextBudget: true,
  maxBudgetUsd: true,
  tools: true,
  hostToolExecution: true,
  streaming: true,
  sessionId: true,
  userId: true,
  ephemeral: true,
  traceContext: true,
};

/** Options that nobody reads, each with what may have been meant. */
export const unknownHostOptions = (options: object): Problem[] => unknownKeys(options, HOST_KEYS, 'createHost');
export const unknownRunOptions = (options: object): Problem[] => unknownKeys(options, RUN_KEYS, 'options');

function unknownKeys(options: object, known: object, path: string): Problem[] {
  return Object.keys(options)
    .filter((key) => !Object.hasOwn(known, key))
    .map((key) => ({
      code: 'INVALID_OPTION',
      path,
      message: `no option "${key}"${didYouMean(key, Object.keys(known))}; options: ${Object.keys(known).join(', ')}`,
    }));
}
