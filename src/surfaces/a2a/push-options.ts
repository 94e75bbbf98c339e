import { type Problem, throwProblems } from '../../kernel/errors.js';

/** Where a caller may have the news of its tasks sent. */
export interface PushOptions {
  /** Origins (`https://caller.example`) that notifications may go to; nothing is sent anywhere else. */
  origins: readonly string[];
  fetch?: typeof fetch;
}

const LONGEST_URL = 2_000;

/** Throws `INVALID_OPTION` for what is no origin. */
export function originsOf({ origins }: PushOptions): ReadonlySet<string> {
  const problems: Problem[] = origins.flatMap((given): Problem[] =>
    originOf(given) === given
      ? []
      : [{ code: 'INVALID_OPTION', path: 'push.origins', message: `${given} is no origin, such as https://a.example` }],
  );
  throwProblems(problems, 'INVALID_OPTION');
  return new Set(origins);
}

/** An address on the web; undefined for anything else. */
export function addressOf(url: string): URL | undefined {
  try {
    const address = new URL(url);
    return url.length <= LONGEST_URL && /^https?:$/.test(address.protocol) ? address : undefined;
  } catch {
    return undefined;
  }
}

const originOf = (url: string): string | undefined => addressOf(url)?.origin;
