const CODE_BY_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  425: 'UNAVAILABLE',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

const RETRYABLE_CODES = new Set(['RESOURCE_EXHAUSTED', 'UNAVAILABLE', 'DEADLINE_EXCEEDED', 'INTERNAL']);

/** The gRPC-style code of an HTTP status. */
export function codeOfStatus(status: number): string {
  return CODE_BY_STATUS[status] ?? (status >= 500 ? 'UNAVAILABLE' : status >= 400 ? 'INVALID_ARGUMENT' : 'UNKNOWN');
}

/** Whether the same call may succeed later, as far as the code tells. */
export const isRetryableCode = (code: string): boolean => RETRYABLE_CODES.has(code);
