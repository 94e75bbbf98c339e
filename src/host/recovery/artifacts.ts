import type { AgentEvent, ArtifactStore, ContentPart } from '../../contracts/index.js';
import { placeOfArtifact } from '../../kernel/artifact-uri.js';
import { isArtifactMedia } from '../../kernel/kept-media.js';

type Saved = readonly [name: string, version: number];

/**
 * Versions of artifacts that an event tells of: one by its name, or, as executors do, several as name → version; and
 * those that its media stand in.
 */
function savedIn(event: AgentEvent): Saved[] {
  if (event.type === 'message') return mediaIn(event.content);
  if (event.type === 'tool_response') return [...mediaIn(event.llmContent), ...mediaIn(event.displayContent ?? [])];
  if (event.type !== 'custom' || event.kind !== 'artifact_delta') return [];
  const data = (event.data ?? {}) as Record<string, unknown>;
  const told = typeof data.name === 'string' ? [[data.name, data.version]] : Object.entries(data);
  return told.filter((one): one is [string, number] => Number.isSafeInteger(one[1]) && (one[1] as number) > 0);
}

function mediaIn(parts: readonly ContentPart[]): Saved[] {
  const saved: Saved[] = [];
  for (const part of parts) {
    const place = isArtifactMedia(part) ? placeOfArtifact(part.uri) : undefined;
    if (place?.version !== undefined && place.version > 0) saved.push([place.name, place.version]);
  }
  return saved;
}

/** Takes away what was saved behind a position; what is told of before it, too, stays. */
export async function dropArtifacts(
  artifacts: ArtifactStore | undefined,
  sessionId: string,
  events: Iterable<AgentEvent>,
  after: number,
): Promise<void> {
  if (artifacts === undefined) return;
  const from = new Map<string, number>();
  const kept = new Map<string, number>();
  for (const event of events) {
    for (const [name, version] of savedIn(event)) {
      if (event.seq <= after) kept.set(name, Math.max(version, kept.get(name) ?? 0));
      else if (version > (kept.get(name) ?? 0)) from.set(name, Math.min(version, from.get(name) ?? version));
    }
  }
  for (const [name, version] of from) await artifacts.delete(sessionId, name, version);
}

/** Gives a session what another one had saved, version by version, as the events of its log are gone through. */
export class ArtifactCopy {
  readonly #copied = new Map<string, Set<number>>();

  constructor(
    private readonly artifacts: ArtifactStore | undefined,
    private readonly ids: { readonly from: string; readonly to: string },
  ) {}

  async take(event: AgentEvent): Promise<void> {
    const { artifacts, ids } = this;
    if (artifacts === undefined) return;
    for (const [name, version] of savedIn(event)) {
      const versions = this.#copied.get(name) ?? new Set();
      this.#copied.set(name, versions);
      // Several events may tell of it.
      if (versions.has(version)) continue;
      versions.add(version);
      const found = await artifacts.load(ids.from, name, version);
      if (found !== undefined) await artifacts.save(ids.to, name, found.data, found.mimeType);
    }
  }
}
