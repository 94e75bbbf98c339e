import type { AgentEvent, ArtifactStore } from '../../contracts/index.js';

interface Saved {
  readonly name: string;
  readonly version: number;
}

/** Versions of artifacts that a log tells of. */
function savedIn(event: AgentEvent): Saved | undefined {
  if (event.type !== 'custom' || event.kind !== 'artifact_delta' || event.source !== 'host') return undefined;
  const { name, version } = (event.data ?? {}) as Partial<Saved>;
  return typeof name === 'string' && typeof version === 'number' ? { name, version } : undefined;
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
    const saved = event.seq > after ? savedIn(event) : undefined;
    if (saved !== undefined) from.set(saved.name, Math.min(saved.version, from.get(saved.name) ?? saved.version));
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
  for (const event of events) {
    const saved = event.seq <= upTo ? savedIn(event) : undefined;
    if (saved === undefined) continue;
    const found = await artifacts.load(ids.from, saved.name, saved.version);
    if (found !== undefined) await artifacts.save(ids.to, saved.name, found.data, found.mimeType);
  }
}
