/** Boxes in boxes, and arrows between them: what Mermaid and DOT are printed from. */
export interface Drawing {
  title: string;
  boxes: Box[];
  arrows: Arrow[];
}

export interface Box {
  /** Unique in the drawing: letters, digits and `_`; it stays the same while the thing keeps its name. */
  id: string;
  /** Lines of text. */
  label: string[];
  /** Present, also when empty: a frame around others. */
  boxes?: Box[];
}

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
