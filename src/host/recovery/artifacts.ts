import type { AgentEvent, ArtifactStore } from '../../contracts/index.js';

type Saved = readonly [name: string, version: number];

/** Versions of artifacts that an event tells of: one by its name, or, as executors do, several as name → version. */
function savedIn(event: AgentEvent): Saved[] {
  if (event.type !== 'custom' || event.kind !== 'artifact_delta') return [];
  const data = (event.data ?? {}) as Record<string, unknown>;
  const told = typeof data.name === 'string' ? [[data.name, data.version]] : Object.entries(data);
  return told.filter((one): one is [string, number] => Number.isSafeInteger(one[1]) && (one[1] as number) > 0);
}

/** Takes away what was saved behind a position. */
export async function dropArtifacts(
  artifacts: ArtifactStore | undefined,
  sessionId: string,
  events: Iterable<AgentEvent>,
  after: number,
): Promise<void> {
  if (artifacts === undefined) return;
  const from = new Map<string, number>();
  for (const event of events) {
    if (event.seq <= after) continue;
    for (const [name, version] of savedIn(event)) from.set(name, Math.min(version, from.get(name) ?? version));
  }
  for (const [name, version] of from) await artifacts.delete(sessionId, name, version);
}

/** Gives a session what another one had saved up to a position, version by version. */
export async function copyArtifacts(
  artifacts: ArtifactStore | undefined,
  ids: { from: string; to: string },
  events: Iterable<AgentEvent>,
  upTo: number,
): Promise<void> {
  if (artifacts === undefined) return;
  const copied = new Map<string, Set<number>>();
  for (const event of events) {
    if (event.seq > upTo) continue;
    for (const [name, version] of savedIn(event)) {
      const versions = copied.get(name) ?? new Set();
      copied.set(name, versions);
      // Both the host and an executor may tell of it.
      if (versions.has(version)) continue;
      versions.add(version);
      const found = await artifacts.load(ids.from, name, version);
      if (found !== undefined) await artifacts.save(ids.to, name, found.data, found.mimeType);
    }
  }
}
