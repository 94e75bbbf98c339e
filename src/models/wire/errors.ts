import { ModelError, TroupeError } from '../../kernel/errors.js';
import { retryAfterOf } from '../../kernel/retry-after.js';
import { codeOfStatus, isRetryableCode } from '../../kernel/status.js';
import { cutText } from '../../kernel/text.js';

const LONGEST_MESSAGE = 1_000;

/** Words that providers put into `code` or `type` instead of a status. */
const CODE_BY_WORD: Readonly<Record<string, string>> = {
  rate_limit_exceeded: 'RESOURCE_EXHAUSTED',
  rate_limit_error: 'RESOURCE_EXHAUSTED',
  tokens: 'RESOURCE_EXHAUSTED',
  requests: 'RESOURCE_EXHAUSTED',
  insufficient_quota: 'RESOURCE_EXHAUSTED',
  server_error: 'INTERNAL',
  internal_server_error: 'INTERNAL',
  api_error: 'INTERNAL',
  overloaded_error: 'UNAVAILABLE',
  service_unavailable: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
  timeout_error: 'DEADLINE_EXCEEDED',
  invalid_request_error: 'INVALID_ARGUMENT',
  context_length_exceeded: 'INVALID_ARGUMENT',
  invalid_api_key: 'UNAUTHENTICATED',
  authentication_error: 'UNAUTHENTICATED',
  permission_error: 'PERMISSION_DENIED',
  model_not_found: 'NOT_FOUND',
  not_found_error: 'NOT_FOUND',
};

const GRPC_CODES = new Set([
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
]);

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The failure that a response with a status outside 200–299 stands for. */
export function errorOfResponse(status: number, headers: Headers, body: string): ModelError {
  return toError(errorInBody(body) ?? { message: plainText(body) }, { status, headers });
}

/**
 * The failure that a frame of a 200 stream reports: an `error` object or text, whatever stands beside it; or any
 * frame of an event named `error`.
 */
export function errorInFrame(frame: unknown, event: string | undefined): ModelError | undefined {
  if (!isFields(frame)) return undefined;
  const reported = reportedError(frame) ?? (event === 'error' ? frame : undefined);
  return reported === undefined ? undefined : toError(reported, {});
}

/** A stream that cannot be trusted any further. */
export const brokenStream = (message: string, cause?: unknown): ModelError =>
  new ModelError({ code: 'UNAVAILABLE', message, retryable: true, cause });

/** What a request or a read that failed below HTTP stands for: refused, cut, timed out. */
export function errorOfTransport(thrown: unknown): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
  const word = isFields(cause) && typeof cause.code === 'string' ? cause.code : '';
  const timedOut = /TIMEOUT|ETIMEDOUT/.test(word) || (cause instanceof Error && cause.name === 'TimeoutError');
  return new ModelError({
    code: timedOut ? 'DEADLINE_EXCEEDED' : 'UNAVAILABLE',
    message: `the connection to the provider failed: ${reason}${word === '' || reason.includes(word) ? '' : ` (${word})`}`,
    retryable: true,
    cause: thrown,
  });
}

/**
 * Anything else that came out of a provider's client. Mistakes of the caller stay what they are; a client that fails over
 * an answer that has begun has been given one that nobody can read.
 */
export function errorOfClient(thrown: unknown, { hasBegun = false }: { hasBegun?: boolean } = {}): Error {
  if (thrown instanceof ModelError || thrown instanceof TroupeError) return thrown;
  if (hasBegun) return brokenStream('the provider sent an answer that cannot be read', thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ModelError({ code: 'INTERNAL', message: `the provider's client failed: ${message}`, cause: thrown });
}

function errorInBody(body: string): Fields | string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const first = Array.isArray(parsed) ? parsed[0] : parsed;
  return isFields(first) ? (reportedError(first) ?? first) : undefined;
}

function reportedError(frame: Fields): Fields | string | undefined {
  if (isFields(frame.error)) return frame.error;
  if (typeof frame.error === 'string' && frame.error !== '') return frame.error;
  const choice: unknown = Array.isArray(frame.choices) ? frame.choices[0] : undefined;
  return isFields(choice) && isFields(choice.error) ? choice.error : undefined;
}

function toError(reported: Fields | string, http: { status?: number; headers?: Headers }): ModelError {
  const error: Fields = typeof reported === 'string' ? { message: reported } : reported;
  const status = http.status ?? statusIn(error);
  const code = codeOf(error, status);
  return new ModelError({
    code,
    message: messageOf(error, status, code),
    status,
    retryable: isRetryableCode(code) && error.code !== 'insufficient_quota' && error.type !== 'insufficient_quota',
    retryAfterMs: retryAfterOf(http.headers, error),
  });
}

function statusIn(error: Fields): number | undefined {
  for (const value of [error.code, error.status, error.status_code]) {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && status >= 400 && status < 600) return status;
  }
  return undefined;
}

function codeOf(error: Fields, status: number | undefined): string {
  for (const value of [error.status, error.code]) if (typeof value === 'string' && GRPC_CODES.has(value)) return value;
  if (status !== undefined) return codeOfStatus(status);
  for (const value of [error.code, error.type]) {
    const code = typeof value === 'string' ? CODE_BY_WORD[value] : undefined;
    if (code !== undefined) return code;
  }
  return 'UNAVAILABLE';
}

function messageOf(error: Fields, status: number | undefined, code: string): string {
  const said = typeof error.message === 'string' ? error.message.trim() : '';
  const metadata = isFields(error.metadata) ? error.metadata : {};
  const upstream = typeof metadata.raw === 'string' ? `: ${metadata.raw}` : '';
  const message = said === '' ? `the provider answered ${status ?? 'with an error'} (${code})` : said;
  return cutText(message + upstream, LONGEST_MESSAGE);
}

/** An HTML page of a proxy, say, without its markup. */
function plainText(body: string): string {
  const bare = cutText(body, 20_000)
    .replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ');
  return cutText(bare.replace(/\s+/g, ' ').trim(), 300);
}
