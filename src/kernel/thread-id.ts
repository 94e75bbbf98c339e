/** One step of a thread's path: which child of its parent it is. */
export interface ThreadSegment {
  readonly agentName: string;
  /** 1-based, over all spawns of the parent. */
  readonly ordinal: number;
}

const SEGMENT = /^([A-Za-z_][A-Za-z0-9_-]{0,63})_([1-9][0-9]{0,14})$/;

/** `research_1` below the root (`parent` absent), `research_1.web_2` below `research_1`. */
export function childThreadId(parent: string | undefined, agentName: string, ordinal: number): string {
  const segment = `${agentName}_${ordinal}`;
  return parent === undefined ? segment : `${parent}.${segment}`;
}

/** The path from below the root down to the thread; nothing when it is no thread id (the root has none). */
export function parseThreadId(threadId: string): ThreadSegment[] | undefined {
  const segments: ThreadSegment[] = [];
  for (const text of threadId.split('.')) {
    const found = SEGMENT.exec(text);
    if (found === null) return undefined;
    segments.push({ agentName: found[1] ?? '', ordinal: Number(found[2]) });
  }
  return segments;
}

/** The last step alone. O(length of the step), however deep the thread. */
export function lastSegment(threadId: string): ThreadSegment | undefined {
  const found = SEGMENT.exec(threadId.slice(threadId.lastIndexOf('.') + 1));
  return found === null ? undefined : { agentName: found[1] ?? '', ordinal: Number(found[2]) };
}

/** The thread above; undefined is the root. */
export function parentThreadId(threadId: string): string | undefined {
  const dot = threadId.lastIndexOf('.');
  return dot === -1 ? undefined : threadId.slice(0, dot);
}

/** Whether `threadId` lies below `above`, at any depth. Nothing is below itself; undefined is the root. */
export function isDescendant(threadId: string | undefined, above: string | undefined): boolean {
  if (threadId === undefined) return false;
  return above === undefined || threadId.startsWith(`${above}.`);
}
