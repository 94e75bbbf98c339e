import { describe, expect, test } from 'vitest';
import { ModelError, TroupeError } from '../../../src/kernel/errors.js';
import { retryAfterOf } from '../../../src/kernel/retry-after.js';
import { errorInFrame, errorOfClient, errorOfResponse, errorOfTransport } from '../../../src/models/wire/errors.js';

const response = (status: number, body: object | string, headers: Record<string, string> = {}) =>
  errorOfResponse(status, new Headers(headers), typeof body === 'string' ? body : JSON.stringify(body));

describe('a status', () => {
  test.each([
    [400, 'INVALID_ARGUMENT', false],
    [401, 'UNAUTHENTICATED', false],
    [402, 'FAILED_PRECONDITION', false],
    [403, 'PERMISSION_DENIED', false],
    [404, 'NOT_FOUND', false],
    [408, 'DEADLINE_EXCEEDED', true],
    [418, 'INVALID_ARGUMENT', false],
    [429, 'RESOURCE_EXHAUSTED', true],
    [500, 'INTERNAL', true],
    [502, 'UNAVAILABLE', true],
    [503, 'UNAVAILABLE', true],
    [504, 'DEADLINE_EXCEEDED', true],
    [599, 'UNAVAILABLE', true],
  ])('%i is %s, retryable: %s', (status, code, retryable) => {
    expect(response(status, { error: { message: 'said' } })).toMatchObject({
      code,
      retryable,
      status,
      message: 'said',
    });
  });

  test("the provider's own gRPC code wins over the status", () => {
    expect(response(400, { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'm' } }).code).toBe(
      'FAILED_PRECONDITION',
    );
  });

  test('a quota that is used up is not worth a retry', () => {
    const error = response(429, { error: { message: 'm', code: 'insufficient_quota', type: 'insufficient_quota' } });
    expect(error).toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: false });
  });

  test('an HTML page is told without its markup, an empty body by its status', () => {
    expect(response(503, '<html><style>x{}</style><h1>Busy</h1>\n<p>later</p></html>').message).toBe('Busy later');
    expect(response(503, '').message).toBe('the provider answered 503 (UNAVAILABLE)');
  });

  test('a list with one error, an error that is text, and an upstream inside are read', () => {
    expect(response(400, [{ error: { message: 'in a list' } }]).message).toBe('in a list');
    expect(response(400, { error: 'just text' }).message).toBe('just text');
    expect(response(400, { message: 'bare' }).message).toBe('bare');
    expect(
      response(502, { error: { message: 'Provider returned error', metadata: { raw: 'upstream died' } } }).message,
    ).toBe('Provider returned error: upstream died');
  });
});

describe('a frame of a 200 stream', () => {
  test.each([
    [{ error: { code: 400, message: 'bad' }, choices: [] }, 'INVALID_ARGUMENT', false],
    [{ error: { code: 502, message: 'gone' }, choices: [] }, 'UNAVAILABLE', true],
    [{ error: { code: '429', message: 'slow' } }, 'RESOURCE_EXHAUSTED', true],
    [{ error: { type: 'overloaded_error', message: 'busy' } }, 'UNAVAILABLE', true],
    [{ error: { code: 'server_error', message: 'oops' }, choices: [{ finish_reason: 'error' }] }, 'INTERNAL', true],
    [{ choices: [{ error: { code: 401, message: 'who' }, finish_reason: 'error' }] }, 'UNAUTHENTICATED', false],
    [{ error: { code: 503, status: 'UNAVAILABLE', message: 'busy' } }, 'UNAVAILABLE', true],
    [{ error: 'something' }, 'UNAVAILABLE', true],
  ])('%j is an error', (frame, code, retryable) => {
    expect(errorInFrame(frame, undefined)).toMatchObject({ code, retryable });
  });

  test('of an event named error is one, whatever its fields', () => {
    expect(errorInFrame({ message: 'm', type: 'rate_limit_error' }, 'error')).toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: 'm',
    });
  });

  test.each([[{ error: null, choices: [] }], [{ choices: [{ error: null }] }], [{}], [null], [1], ['x'], [[1]]])(
    '%j is none',
    (frame) => {
      expect(errorInFrame(frame, undefined)).toBeUndefined();
    },
  );
});

describe('what a provider asks to wait', () => {
  const wait = (headers: Record<string, string>, details?: unknown) => retryAfterOf(new Headers(headers), { details });
  const info = (retryDelay?: unknown) => [
    { '@type': 'type.googleapis.com/google.rpc.Help' },
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', ...(retryDelay === undefined ? {} : { retryDelay }) },
  ];

  test.each([
    ['0s', 0],
    ['1.5s', 1500],
    ['37s', 37_000],
    [{ seconds: '2', nanos: 500_000_000 }, 2500],
    [undefined, 0],
  ])('RetryInfo %j is %i ms', (retryDelay, ms) => {
    expect(wait({}, info(retryDelay))).toBe(ms);
  });

  test('Retry-After is seconds, a date by the clock of the provider, or nothing', () => {
    expect(wait({ 'retry-after': '2' })).toBe(2000);
    expect(wait({ 'retry-after': '0' })).toBe(0);
    expect(wait({ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' })).toBe(
      30_000,
    );
    expect(wait({ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })).toBe(0);
    for (const garbage of ['soon', 'in 10', '5 apples', '10s', 'Infinity', 'NaN'])
      expect([garbage, wait({ 'retry-after': garbage })]).toEqual([garbage, undefined]);
    expect(wait({ 'retry-after': '-5' })).toBe(0);
    expect(wait({})).toBeUndefined();
  });

  test('retry-after-ms is the most exact, RetryInfo says more than Retry-After', () => {
    expect(wait({ 'retry-after-ms': '120', 'retry-after': '1' }, info('5s'))).toBe(120);
    expect(wait({ 'retry-after': '1' }, info('5s'))).toBe(5000);
  });

  test('a header that OpenRouter passes on counts', () => {
    expect(retryAfterOf(undefined, { metadata: { headers: { 'Retry-After': '3' } } })).toBe(3000);
  });
});

describe('what fails below HTTP', () => {
  test('a cut connection is worth a retry', () => {
    const thrown = new TypeError('terminated', {
      cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
    });
    expect(errorOfTransport(thrown)).toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
      message: 'the connection to the provider failed: other side closed (UND_ERR_SOCKET)',
    });
  });

  test('a timeout says so', () => {
    const thrown = new TypeError('fetch failed', {
      cause: Object.assign(new Error('late'), { code: 'UND_ERR_HEADERS_TIMEOUT' }),
    });
    expect(errorOfTransport(thrown).code).toBe('DEADLINE_EXCEEDED');
  });

  test("a mistake of the caller stays what it is, a client's own failure is INTERNAL", () => {
    const mistake = new TroupeError({ code: 'MISSING_KEY', message: 'm' });
    expect(errorOfClient(mistake)).toBe(mistake);
    expect(errorOfClient(new Error('odd'))).toMatchObject({ code: 'INTERNAL', retryable: false });
    expect(errorOfClient(new Error('odd'))).toBeInstanceOf(ModelError);
  });
});
