import type { BaseArtifactService, InMemoryArtifactService, SessionArtifactService } from '@google/adk';
import type { Part } from '@google/genai';
import type { ArtifactStore } from '../../contracts/index.js';

type ArtifactVersion = Awaited<ReturnType<SessionArtifactService['listArtifactVersions']>>[number];

const asBytes = (data: string): Uint8Array => Uint8Array.from(Buffer.from(data, 'base64'));

/** The host's artifacts of one session as ADK's tools see them: versions as the store numbers them. */
export function artifactsOf(store: ArtifactStore, sessionId: string): SessionArtifactService {
  const versions = async (filename: string) =>
    (await store.list(sessionId)).find(({ name }) => name === filename)?.versions ?? [];
  const versionOf = async (filename: string, version?: number): Promise<ArtifactVersion | undefined> => {
    const found = await store.load(sessionId, filename, version);
    return found && { version: found.version, ...(found.mimeType !== undefined && { mimeType: found.mimeType }) };
  };
  return {
    async saveArtifact({ filename, artifact }) {
      const { inlineData, text = '' } = artifact;
      const saved =
        inlineData?.data === undefined
          ? await store.save(sessionId, filename, text, 'text/plain')
          : await store.save(sessionId, filename, asBytes(inlineData.data), inlineData.mimeType);
      return saved.version;
    },
    async loadArtifact({ filename, version }): Promise<Part | undefined> {
      const found = await store.load(sessionId, filename, version);
      if (found === undefined) return undefined;
      const { data, mimeType = 'application/octet-stream' } = found;
      if (mimeType === 'text/plain') return { text: Buffer.from(data).toString('utf8') };
      return { inlineData: { mimeType, data: Buffer.from(data).toString('base64') } };
    },
    listArtifactKeys: async () => (await store.list(sessionId)).map(({ name }) => name),
    deleteArtifact: (filename) => store.delete(sessionId, filename),
    listVersions: versions,
    listArtifactVersions: async (filename) => (await versions(filename)).map((version) => ({ version })),
    getArtifactVersion: ({ filename, version }) => versionOf(filename, version),
  };
}

/** The same where the host has no store: kept as long as the agent's session. */
export function artifactsIn(memory: InMemoryArtifactService, sessionId: string): SessionArtifactService {
  const key = { appName: 'troupe', userId: 'local', sessionId };
  const service: BaseArtifactService = memory;
  return {
    saveArtifact: (request) => service.saveArtifact({ ...key, ...request }),
    loadArtifact: (request) => service.loadArtifact({ ...key, ...request }),
    listArtifactKeys: () => service.listArtifactKeys(key),
    deleteArtifact: (filename) => service.deleteArtifact({ ...key, filename }),
    listVersions: (filename) => service.listVersions({ ...key, filename }),
    listArtifactVersions: (filename) => service.listArtifactVersions({ ...key, filename }),
    getArtifactVersion: (request) => service.getArtifactVersion({ ...key, ...request }),
  };
}

/** The same for a runner, which names the session each time: it has only this one. */
export const runnerArtifacts = (scoped: SessionArtifactService): BaseArtifactService => ({
  saveArtifact: ({ filename, artifact }) => scoped.saveArtifact({ filename, artifact }),
  loadArtifact: ({ filename, version }) => scoped.loadArtifact({ filename, ...(version !== undefined && { version }) }),
  listArtifactKeys: () => scoped.listArtifactKeys(),
  deleteArtifact: ({ filename }) => scoped.deleteArtifact(filename),
  listVersions: ({ filename }) => scoped.listVersions(filename),
  listArtifactVersions: ({ filename }) => scoped.listArtifactVersions(filename),
  getArtifactVersion: ({ filename, version }) =>
    scoped.getArtifactVersion({ filename, ...(version !== undefined && { version }) }),
});
