import type { Json } from './open.js';

/** Whose credential it is, and for what: the `provider` of the question, or the agent that asked where it names none. */
export interface CredentialKey {
  readonly userId: string;
  readonly provider: string;
}

/**
 * Where a host keeps what people give it in answer to `auth_required`, such as the keychain of a system. The host writes
 * to it, tools read from it; nothing of what is in it goes into a log, to a model or to telemetry.
 */
export interface CredentialStore {
  /** Undefined: there is none. */
  get(key: CredentialKey): Json | undefined | Promise<Json | undefined>;
  /** Resolves, or returns, once it is kept. A fault is told without its words: they might hold the secret. */
  set(key: CredentialKey, credential: Json): void | Promise<void>;
  delete(key: CredentialKey): void | Promise<void>;
}
