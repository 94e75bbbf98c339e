import type {
  PermissionMode,
  SchemaInput,
  ToolAnnotations,
  ToolContext,
  ToolDefinition,
  ToolPreview,
} from '../contracts/index.js';
import { annotationFaults, invalid, toolNameFault } from '../kernel/agent-check.js';
import { throwProblems } from '../kernel/errors.js';
import { readSchema } from '../kernel/schema.js';
import { assertOptions, plainOption, unknownKeys } from './author-options.js';
import type { ToolArgs, ToolReturn } from './infer.js';

export interface ToolOptions<Name extends string, Schema extends SchemaInput | undefined, Result> {
  /** Letters, digits and `_ . : / -`, at most 64. */
  name: Name;
  displayName?: string;
  /** What the model reads to decide on a call. */
  description: string;
  /** Of an object: a Standard Schema, `{ schema, jsonSchema }` or a JSON Schema. Absent: no arguments. */
  parameters?: Schema;
  annotations?: ToolAnnotations;
  /** Default: the host's `toolTimeoutMs`. */
  timeoutMs?: number;
  /** Schema of the result, for whoever reads it as data. */
  outputSchema?: SchemaInput;
  /** Can only raise allow to ask: true, or the reason to show. */
  confirm?: (
    args: ToolArgs<NoInfer<Schema>>,
    context: {
      readonly sessionId: string;
      readonly threadId: string | undefined;
      readonly agentId: string;
      readonly permissionMode: PermissionMode;
    },
  ) => boolean | string | Promise<boolean | string>;
  /** Shown in approvals. Runs before the call is allowed: it must only read its arguments. */
  describe?: (args: ToolArgs<NoInfer<Schema>>) => { title?: string; locations?: { path: string; line?: number }[] };
  /**
   * What a person is shown of a call before it may run: a diff, or why it would fail. Called only when somebody is to be
   * asked. It must change nothing and settle within 5 s.
   */
  preview?: (
    args: ToolArgs<NoInfer<Schema>>,
    context: { readonly signal: AbortSignal },
  ) => ToolPreview | Promise<ToolPreview>;
  /**
   * Returns the result or a promise of it, or yields progress (text, 0..1, `ToolUpdate`) and returns the result.
   * `pending(ticket)` leaves the call open until somebody answers it. What it throws becomes an error result. It may run twice for one `requestId` only when `annotations.idempotent`.
   */
  execute: (args: ToolArgs<NoInfer<Schema>>, context: ToolContext) => Result;
}

const KNOWN: readonly (keyof ToolOptions<string, undefined, unknown>)[] = [
  'name',
  'displayName',
  'description',
  'parameters',
  'annotations',
  'timeoutMs',
  'outputSchema',
  'confirm',
  'describe',
  'preview',
  'execute',
];

/** A tool from one function. Throws `INVALID_DEFINITION` with every fault found. */
export function tool<const Name extends string, Schema extends SchemaInput | undefined = undefined, Result = unknown>(
  options: ToolOptions<Name, Schema, Result>,
): ToolDefinition<Name, ToolArgs<Schema>, ToolReturn<Result>> {
  assertOptions(options, 'tool');
  const path = `tool ${options.name}`;
  const problems = unknownKeys(options, KNOWN, path);
  const nameFault = toolNameFault(options.name);
  if (nameFault !== undefined) problems.push(invalid(`${path}.name`, nameFault));
  if (typeof options.description !== 'string') problems.push(invalid(`${path}.description`, 'must be a text'));
  if (options.displayName !== undefined && typeof options.displayName !== 'string')
    problems.push(invalid(`${path}.displayName`, 'must be a text'));
  for (const key of ['execute', 'confirm', 'describe', 'preview'] as const) {
    const value: unknown = options[key];
    if (typeof value !== 'function' && (value !== undefined || key === 'execute')) {
      problems.push(invalid(`${path}.${key}`, 'must be a function'));
    }
  }
  if (options.timeoutMs !== undefined && !(Number.isFinite(options.timeoutMs) && options.timeoutMs > 0)) {
    problems.push(invalid(`${path}.timeoutMs`, 'must be a number of milliseconds above 0'));
  }
  const { annotations } = options;
  if (annotations !== undefined) problems.push(...annotationFaults(annotations, `${path}.annotations`));
  const parameters = readSchema(options.parameters ?? NO_PARAMETERS, { path: `${path}.parameters`, objectOnly: true });
  const output =
    options.outputSchema === undefined
      ? undefined
      : readSchema(options.outputSchema, { path: `${path}.outputSchema`, objectOnly: false });
  problems.push(...parameters.problems, ...(output?.problems ?? []));
  throwProblems(problems);
  return {
    kind: 'tool',
    name: options.name,
    descriptor: {
      name: options.name,
      ...(options.displayName !== undefined && { displayName: options.displayName }),
      description: options.description,
      parametersSchema: parameters.jsonSchema,
      ...plainOption('annotations', annotations),
    },
    ...(parameters.validator && { validate: parameters.validator }),
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(output && { outputSchema: output.jsonSchema }),
    ...(options.confirm && { confirm: options.confirm }),
    ...(options.describe && { describe: options.describe }),
    ...(options.preview && { preview: options.preview }),
    execute: options.execute,
  };
}

const NO_PARAMETERS = { type: 'object', properties: {} };
