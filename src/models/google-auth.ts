import { TroupeError } from '../kernel/errors.js';
import type { HeadersProvider } from './wire/clean-fetch.js';
import { loadSdk } from './wire/sdk.js';

/** Options of `GoogleAuth`, of which these are the usual ones. Nothing: application default credentials. */
export interface GoogleIdentity {
  /** Default: the cloud platform. */
  scopes?: string | string[];
  /** A file of credentials. */
  keyFilename?: string;
  /** What such a file holds. */
  credentials?: object;
  projectId?: string;
  [option: string]: unknown;
}

/** What is needed of a client of `google-auth-library`. */
interface AuthClient {
  credentials: { access_token?: string | null; expiry_date?: number | null };
  getRequestHeaders(url?: string): Promise<Headers>;
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/**
 * Headers of a Google identity, for the `headers` of a model: application default credentials, or what `options` of
 * `google-auth-library` say. The library, an optional peer, is imported when they are first asked for; it renews tokens
 * before they expire, and at once where one was refused.
 */
export function googleAuthHeaders(options: GoogleIdentity = {}): HeadersProvider {
  let client: Promise<AuthClient> | undefined;

  const connect = async (): Promise<AuthClient> => {
    const { GoogleAuth } = await loadSdk('google-auth-library', '10.9.1', () => import('google-auth-library'));
    const auth = new GoogleAuth({ scopes: SCOPE, ...options } as ConstructorParameters<typeof GoogleAuth>[0]);
    return (await auth.getClient()) as unknown as AuthClient;
  };

  return async ({ refused = false } = {}) => {
    client ??= connect().catch((thrown: unknown) => {
      // Credentials may be there the next time.
      client = undefined;
      throw thrown;
    });
    const ready = await client;
    if (refused) ready.credentials = { ...ready.credentials, access_token: null, expiry_date: 1 };
    const given: unknown = await ready.getRequestHeaders();
    const headers = given instanceof Headers ? Object.fromEntries(given) : (given as Record<string, string>);
    if (Object.keys(headers).length > 0) return headers;
    throw new TroupeError({ code: 'MISSING_KEY', message: 'Google gave no credentials for this environment' });
  };
}
