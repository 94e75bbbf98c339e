import { type Problem, throwProblems } from '../../kernel/errors.js';

/** Where a remote agent is, and how to prove who asks. */
export interface RemoteBackend {
  /** Address of its agent card, or of the server, whose card is at `/.well-known/agent-card.json`. */
  cardUrl: string;
  /** A bearer token, or headers; a function is asked before every request. */
  auth?: RemoteAuth;
  /** Default true: streams where the card says that it can. */
  streaming?: boolean;
  /** Other origins that the card may send requests to. Default: that of `cardUrl` only. */
  allowOrigins?: readonly string[];
  /** Between two looks at a task that does not stream. Default 1,000 ms. */
  pollMs?: number;
  /** How long the peer may be silent: before an answer, or between two lines of a stream. Default 300,000. */
  timeoutMs?: number;
  /** Where the peer may tell that there is news of a task that does not stream: then `pollMs` is only for what gets lost. */
  push?: PushInbox;
  fetch?: typeof fetch;
}

/** Where peers may call. `openPushInbox` of `troupe/surfaces/a2a-inbox` makes one. */
export interface PushInbox {
  /** An address of its own for one task, until it is closed. `onNews` may be called at any time, and by anybody's doing. */
  expect(onNews: () => void): { readonly url: string; readonly token: string; close(): void };
}

type Given<T> = T | (() => T | Promise<T>);
export type RemoteAuth = Given<string> | { headers: Given<Record<string, string>> };

/** Throws `INVALID_DEFINITION` with everything that is wrong. */
export function readBackend(given: unknown, agent: string): RemoteBackend {
  const problems: Problem[] = [];
  const invalid = (key: string, message: string) =>
    problems.push({ code: 'INVALID_DEFINITION', path: `${agent}.backend${key}`, message });
  if (typeof given !== 'object' || given === null) {
    invalid('', "a remote agent needs backend: { cardUrl: 'https://…' }");
  } else {
    const { cardUrl, auth, streaming, allowOrigins, pollMs, timeoutMs, push } = given as Record<string, unknown>;
    if (typeof cardUrl !== 'string' || !isWeb(cardUrl)) invalid('.cardUrl', 'must be an http or https address');
    const isAuth = ['undefined', 'string', 'function'].includes(typeof auth) || hasHeaders(auth);
    if (!isAuth) invalid('.auth', 'must be a token, a function that gives one, or { headers }');
    if (streaming !== undefined && typeof streaming !== 'boolean') invalid('.streaming', 'must be true or false');
    const areOrigins =
      Array.isArray(allowOrigins) && allowOrigins.every((one) => typeof one === 'string' && isWeb(one));
    if (allowOrigins !== undefined && !areOrigins) invalid('.allowOrigins', 'must be a list of http or https origins');
    if (pollMs !== undefined && !(typeof pollMs === 'number' && pollMs >= 0))
      invalid('.pollMs', 'must be a number from 0');
    if (push !== undefined && typeof (push as Partial<PushInbox> | null)?.expect !== 'function')
      invalid('.push', 'must be an inbox, such as openPushInbox() makes');
    if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs > 0))
      invalid('.timeoutMs', 'must be a number over 0');
  }
  throwProblems(problems);
  return given as RemoteBackend;
}

const hasHeaders = (auth: unknown): boolean =>
  typeof auth === 'object' &&
  auth !== null &&
  ['object', 'function'].includes(typeof (auth as { headers?: unknown }).headers);

function isWeb(address: string): boolean {
  try {
    return /^https?:$/.test(new URL(address).protocol);
  } catch {
    return false;
  }
}
