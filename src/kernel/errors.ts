export type TroupeErrorCode =
  | 'SESSION_BUSY'
  | 'SESSION_ENDED'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXISTS'
  | 'SESSION_LOCKED'
  | 'SESSION_STALE'
  | 'SESSION_DAMAGED'
  | 'INVALID_SESSION_ID'
  | 'UNKNOWN_REQUEST'
  | 'INVALID_ANSWER'
  | 'INVALID_INPUT'
  | 'INVALID_OPTION'
  | 'UNKNOWN_EXECUTOR'
  | 'UNKNOWN_MODEL'
  | 'UNKNOWN_PRICE'
  | 'UNKNOWN_TOOL'
  | 'UNKNOWN_AGENT'
  | 'UNKNOWN_STATE_KEY'
  | 'INVALID_DEFINITION'
  | 'DEFINITION_CHANGED'
  | 'INCOMPATIBLE_VERSION'
  | 'CANNOT_ENFORCE'
  | 'POLICY_INVALID'
  | 'MISSING_PACKAGE'
  | 'MISSING_KEY'
  | 'HOST_CLOSED'
  | (string & {});

/** One fault among several that were found together. */
export interface Problem {
  code: TroupeErrorCode;
  /** What it is about: `report/gather/researcher.tools`, or `file:line:key`. */
  path?: string;
  message: string;
}

/** A caller's mistake. What happens during a run is never thrown: it is an `error` event. */
export class TroupeError extends Error {
  readonly code: TroupeErrorCode;
  readonly retryable: boolean;
  /** Every fault found, when there may be several. */
  readonly problems: readonly Problem[];

  constructor(options: {
    code: TroupeErrorCode;
    message: string;
    retryable?: boolean;
    problems?: readonly Problem[];
    cause?: unknown;
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TroupeError';
    this.code = options.code;
    this.retryable = options.retryable ?? false;
    this.problems = options.problems ?? [];
  }
}

/** One `TroupeError` that says every problem, one line each; nothing when there are none. */
export function throwProblems(problems: readonly Problem[], code: TroupeErrorCode = 'INVALID_DEFINITION'): void {
  const [first] = problems;
  if (first === undefined) return;
  const say = (problem: Problem) => (problem.path ? `${problem.path}: ${problem.message}` : problem.message);
  const message =
    problems.length === 1
      ? say(first)
      : `${problems.length} problems:\n${problems.map((p) => `- ${say(p)}`).join('\n')}`;
  throw new TroupeError({ code: problems.length === 1 ? first.code : code, message, problems });
}

/** A failed model call, thrown by model adapters and turned into an `error` event by the executor. */
export class ModelError extends Error {
  /** gRPC-style: `RESOURCE_EXHAUSTED`, `UNAVAILABLE`, `INVALID_ARGUMENT`, `UNAUTHENTICATED` … */
  readonly code: string;
  readonly retryable: boolean;
  /** What the provider asked to wait; 0 is 0, and less than that. What is no number was not said. */
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;

  constructor(options: {
    code: string;
    message: string;
    retryable?: boolean;
    retryAfterMs?: number | undefined;
    status?: number | undefined;
    cause?: unknown;
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ModelError';
    this.code = options.code;
    this.retryable = options.retryable ?? false;
    const { retryAfterMs } = options;
    const isSaid = typeof retryAfterMs === 'number' && !Number.isNaN(retryAfterMs);
    this.retryAfterMs = isSaid ? Math.max(0, retryAfterMs) : undefined;
    this.status = options.status;
  }
}

/** `code` and `message` of anything thrown, never its stack. */
export function describeError(thrown: unknown, fallbackCode = 'INTERNAL'): { code: string; message: string } {
  if (thrown instanceof Error) {
    const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : fallbackCode;
    return { code, message: thrown.message === '' ? thrown.name : thrown.message };
  }
  return { code: fallbackCode, message: typeof thrown === 'string' ? thrown : String(thrown) };
}
