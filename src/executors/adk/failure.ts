import { describeError, ModelError } from '../../kernel/errors.js';
import { retryAfterOf } from '../../kernel/retry-after.js';
import { codeOfStatus, isRetryableCode } from '../../kernel/status.js';
import { cutText } from '../../kernel/text.js';

/** How a call of an ADK agent's model failed, in the words of the host. */
export interface AdkFailure {
  code: string;
  message: string;
  retryable: boolean;
  retryAfterMs?: number | undefined;
}

const LONGEST_MESSAGE = 1_000;

/** What a model threw: the body of the provider's answer where the message is one, a status only where there is one. */
export function failureOf(thrown: unknown): AdkFailure {
  const { code, message } = describeError(thrown, 'MODEL_FAILED');
  if (thrown instanceof ModelError) {
    const { retryable, retryAfterMs } = thrown;
    return { code, message, retryable, retryAfterMs };
  }
  const body = bodyIn(message);
  const given = (thrown as { status?: unknown } | null)?.status;
  const status = typeof given === 'number' ? given : numberOf(body?.code);
  return toFailure(body, status, body === undefined ? message : (body.message ?? message), code);
}

/** What an event says went wrong: ADK puts the number of a status, or a word, into `errorCode`. */
export function failureOfEvent(errorCode: string, errorMessage: string | undefined): AdkFailure {
  const body = bodyIn(errorMessage ?? '');
  const word = errorCode === 'UNKNOWN_ERROR' ? 'UNKNOWN' : errorCode;
  const status = numberOf(errorCode);
  const code = status === undefined ? word : codeOfStatus(status);
  return toFailure(body, status, body?.message ?? errorMessage ?? `the agent ended with ${errorCode}`, code);
}

interface Body {
  code?: number | string;
  status?: string;
  message?: string;
  details?: unknown;
}

function toFailure(body: Body | undefined, status: number | undefined, message: string, otherwise: string): AdkFailure {
  const word = body?.status;
  const isWord = typeof word === 'string' && /^[A-Z][A-Z_]+$/.test(word);
  const code = isWord ? word : status === undefined ? otherwise : codeOfStatus(status);
  return {
    code,
    message: cutText(String(message), LONGEST_MESSAGE),
    retryable: isRetryableCode(code),
    retryAfterMs: retryAfterOf(undefined, body as Record<string, unknown> | undefined),
  };
}

/** The `error` of a body that stands as JSON in a message. */
function bodyIn(message: string): Body | undefined {
  if (!message.startsWith('{')) return undefined;
  try {
    const { error } = JSON.parse(message) as { error?: unknown };
    return typeof error === 'object' && error !== null ? error : undefined;
  } catch {
    return undefined;
  }
}

function numberOf(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}
