/** Boxes in boxes, and arrows between them: what every format is made from. */
export interface Drawing {
  title: string;
  boxes: Box[];
  arrows: Arrow[];
}

export interface Box {
  /** Unique in the drawing: letters, digits and `_`; it stays the same while the thing keeps its name. */
  id: string;
  /** What it stands for, in its own words: `session.running`, or the name of an agent. */
  ref: string;
  /** Name under which a run tells of it, where that is not `ref`: a leader runs on the thread of its composition. */
  runsAs?: string;
  /** Lines of text, the name first. */
  label: string[];
  /** Present, also when empty: a frame around others. */
  boxes?: Box[];
  /** Id of the inner box that is begun with. */
  initial?: string;
  /** The inner boxes are active together. */
  isParallel?: boolean;
  isFinal?: boolean;
  /** Stands for a frame's own arrows, not for something of its own. */
  isAside?: boolean;
  /** In the run that is laid over it. */
  standing?: Standing;
}

/** How something fares in a run; `idle`: has not run. */
export type Standing = 'idle' | 'running' | 'waiting' | 'completed' | 'failed' | 'stopped';

export interface Arrow {
  from: string;
  to: string;
  /** Lines of text. */
  label?: string[];
  dashed?: boolean;
}

/** An id from a name, or from a path of names. */
export function boxId(...names: readonly string[]): string {
  return names.map((name) => name.replace(/[^A-Za-z0-9_]/g, '_')).join('__');
}
