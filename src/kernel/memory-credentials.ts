import type { CredentialKey, CredentialStore, Json } from '../contracts/index.js';

/** Credentials that end with the process. Each is kept as a copy that nobody else holds. */
export function memoryCredentials(): CredentialStore {
  const kept = new Map<string, string>();
  const nameOf = ({ userId, provider }: CredentialKey) => JSON.stringify([userId, provider]);
  return {
    get(key) {
      const text = kept.get(nameOf(key));
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    },
    set: (key, credential) => void kept.set(nameOf(key), JSON.stringify(credential)),
    delete: (key) => void kept.delete(nameOf(key)),
  };
}
