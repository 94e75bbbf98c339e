import type { ArtifactStore } from '../../contracts/index.js';
import { artifactUri } from '../../kernel/artifact-uri.js';
import { TroupeError } from '../../kernel/errors.js';

interface Version {
  readonly data: Uint8Array;
  readonly mimeType: string | undefined;
}

/** Versioned files of sessions for as long as the process lives. Versions count from 1 per session and name. */
export function memoryArtifacts(): ArtifactStore {
  const sessions = new Map<string, Map<string, Version[]>>();
  return {
    async save(sessionId, name, data, mimeType) {
      if (name === '') throw new TroupeError({ code: 'INVALID_OPTION', message: 'an artifact needs a name' });
      const files = sessions.get(sessionId) ?? new Map<string, Version[]>();
      sessions.set(sessionId, files);
      const versions = files.get(name) ?? [];
      files.set(name, versions);
      // A copy: the caller may go on with its own.
      versions.push({ data: typeof data === 'string' ? new TextEncoder().encode(data) : data.slice(), mimeType });
      return { version: versions.length, uri: artifactUri(sessionId, name, versions.length) };
    },
    async load(sessionId, name, version) {
      const versions = sessions.get(sessionId)?.get(name);
      const at = version ?? versions?.length ?? 0;
      const found = versions?.[at - 1];
      if (found === undefined) return undefined;
      const { data, mimeType } = found;
      return { data: data.slice(), version: at, ...(mimeType !== undefined && { mimeType }) };
    },
    async list(sessionId) {
      return [...(sessions.get(sessionId) ?? [])].map(([name, versions]) => ({
        name,
        versions: versions.map((_, at) => at + 1),
      }));
    },
    async delete(sessionId, name, fromVersion = 1) {
      const files = sessions.get(sessionId);
      if (name === undefined) sessions.delete(sessionId);
      else if (fromVersion <= 1) files?.delete(name);
      else files?.get(name)?.splice(fromVersion - 1);
    },
  };
}
