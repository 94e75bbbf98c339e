/**
 * What the provider asks to wait, in ms: `retry-after-ms`, google's RetryInfo among the error's `details`, then
 * `Retry-After` (seconds or a date). 0 is 0, a date that has passed too; absent when nothing readable was given.
 */
export function retryAfterOf(
  headers: Headers | undefined,
  error: Record<string, unknown> | undefined,
): number | undefined {
  return (
    plainNumber(headers?.get('retry-after-ms')) ??
    fromRetryInfo(error?.details) ??
    fromHeader(headers?.get('retry-after'), headers?.get('date')) ??
    fromMetadata(error?.metadata)
  );
}

function plainNumber(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? Math.max(0, value) : undefined;
}

function fromHeader(text: string | null | undefined, date: string | null | undefined): number | undefined {
  const seconds = plainNumber(text);
  if (seconds !== undefined) return Math.round(seconds * 1000);
  // Every date has a time in it; what else may be read as one (`in 10`, say) is none.
  const at = /\d:\d\d/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  // The provider's own clock, where it says it: the two may differ by minutes.
  const now = Date.parse(date ?? '');
  return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
}

function fromRetryInfo(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as { '@type'?: unknown; retryDelay?: unknown }[]) {
    if (!String(detail?.['@type'] ?? '').endsWith('google.rpc.RetryInfo')) continue;
    return durationMs(detail.retryDelay);
  }
  return undefined;
}

/** A protobuf duration in either JSON form: `'1.5s'` or `{ seconds, nanos }`. An empty one is 0. */
function durationMs(duration: unknown): number | undefined {
  if (typeof duration === 'string') {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(duration)?.[1];
    return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
  }
  if (duration === undefined || duration === null) return 0;
  if (typeof duration !== 'object') return undefined;
  const { seconds = 0, nanos = 0 } = duration as { seconds?: number | string; nanos?: number };
  const ms = Number(seconds) * 1000 + Number(nanos) / 1e6;
  return Number.isFinite(ms) ? Math.round(ms) : undefined;
}

/** OpenRouter passes the upstream's headers on inside the error. */
function fromMetadata(metadata: unknown): number | undefined {
  const headers = (metadata as { headers?: unknown } | null | undefined)?.headers;
  if (typeof headers !== 'object' || headers === null) return undefined;
  for (const [name, value] of Object.entries(headers)) {
    if (name.toLowerCase() === 'retry-after') return fromHeader(String(value), undefined);
  }
  return undefined;
}
