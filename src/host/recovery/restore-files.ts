import type { AgentEvent, ArtifactStore, Bag } from '../../contracts/index.js';
import { describeError } from '../../kernel/errors.js';
import { isWriting } from './settled.js';

/** Puts one file below a root back, as `HostParts.restoreFile` does; resolves with why it did not, if so. */
export type RestoreFile = (file: {
  root: string;
  path: string;
  /** SHA-256 (hex) of what the file must still hold. */
  after: string;
  /** What it held before; undefined: there was none. */
  before: Uint8Array | undefined;
}) => Promise<string | undefined>;

export interface Restored {
  readonly restored: string[];
  /** Left as they are, and why. */
  readonly left: { readonly path: string; readonly why: string }[];
}

interface Kept {
  readonly name: string;
  readonly version: number;
}

/** What the edits behind a position made of one file. */
interface Written {
  /** What it held before the first of them; null: there was no such file; undefined: it was not kept. */
  readonly before: Kept | null | undefined;
  /** Hash of what the last of them wrote. */
  after: string | undefined;
  /** Somebody else wrote it between two of them. */
  isMixed: boolean;
}

/**
 * Puts back what the edits behind a position have changed below `root`, each file where it still holds what was written
 * last. Whatever a log says, nothing outside of `root` is touched.
 */
export async function restoreFiles(
  events: Iterable<AgentEvent>,
  after: number,
  to: { sessionId: string; root: string; artifacts: ArtifactStore | undefined; restoreFile: RestoreFile },
): Promise<Restored> {
  const restored: string[] = [];
  const left: { path: string; why: string }[] = [];
  for (const [path, written] of writtenSince(events, after)) {
    const why = await restoreOne(path, written, to).catch((thrown: unknown) => describeError(thrown).message);
    if (why === undefined) restored.push(path);
    else left.push({ path, why });
  }
  return { restored, left };
}

async function restoreOne(
  path: string,
  { before, after, isMixed }: Written,
  { sessionId, root, artifacts, restoreFile }: Parameters<typeof restoreFiles>[2],
): Promise<string | undefined> {
  if (before === undefined || after === undefined) return 'what it held before was not kept';
  if (isMixed) return 'somebody else changed it in between';
  if (before === null) return restoreFile({ root, path, after, before: undefined });
  const kept = await artifacts?.load(sessionId, before.name, before.version);
  if (kept === undefined) return 'what it held before is gone';
  return restoreFile({ root, path, after, before: kept.data });
}

function writtenSince(events: Iterable<AgentEvent>, after: number): Map<string, Written> {
  const edits = new Map<string, AgentEvent<'tool_request'>>();
  const files = new Map<string, Written>();
  for (const event of events) {
    if (event.type === 'tool_request' && isWriting(event)) edits.set(event.requestId, event);
    if (event.type !== 'tool_response' || event.seq <= after || event.isError) continue;
    const request = edits.get(event.requestId);
    if (request === undefined) continue;
    const { path, written } = (event.data ?? {}) as Bag;
    const told = read(written);
    const paths = typeof path === 'string' ? [path] : (request.locations ?? []).map((one) => one.path);
    for (const one of paths) note(files, one, told);
  }
  return files;
}

function note(files: Map<string, Written>, path: string, told: ReturnType<typeof read>): void {
  const known = files.get(path);
  if (known === undefined) {
    files.set(path, { before: told?.before, after: told?.after, isMixed: false });
    return;
  }
  const found = told?.before == null ? told?.before : told.before.name.replace(/^before\//, '');
  if (found !== known.after) known.isMixed = true;
  known.after = told?.after;
}

/** What an edit says of what it has kept. */
function read(written: unknown): { before: Kept | null; after: string } | undefined {
  if (typeof written !== 'object' || written === null) return undefined;
  const { before, after } = written as { before?: Partial<Kept>; after?: unknown };
  if (typeof after !== 'string') return undefined;
  if (before === undefined) return { before: null, after };
  const { name, version } = before;
  return typeof name === 'string' && typeof version === 'number' ? { before: { name, version }, after } : undefined;
}
