import { createHash } from 'node:crypto';
import type { ElkNode } from 'elkjs/lib/elk-api.js';

type Engine = { layout(graph: ElkNode): Promise<ElkNode> };

let engine: Promise<Engine> | undefined;

/** Loaded when something is first laid out: it is large, and most programs draw nothing. */
function openEngine(): Promise<Engine> {
  engine ??= import('elkjs/lib/elk.bundled.js').then(({ default: Elk }) => new (Elk as unknown as new () => Engine)());
  return engine;
}

/** Layouts that are kept: a picture is drawn again whenever somebody looks at it. */
const MOST_KEPT = 200;
const kept = new Map<string, Promise<ElkNode>>();

/** Places what is in `graph`. The same graph is laid out once; what comes back is shared and must not be changed. */
export function layOut(graph: ElkNode): Promise<ElkNode> {
  const text = JSON.stringify(graph);
  const key = createHash('sha256').update(text).digest('base64');
  const known = kept.get(key);
  if (known !== undefined) return known;
  // The engine writes into what it is given.
  const placed = openEngine().then((elk) => elk.layout(JSON.parse(text) as ElkNode));
  kept.set(key, placed);
  placed.catch(() => kept.delete(key));
  const oldest = kept.size > MOST_KEPT ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  return placed;
}
