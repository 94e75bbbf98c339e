import type { ImportGraph } from './import-graph.js';

/**
 * For every file that needs itself at run time, its shortest way round (`a → b → a`), in path order; a file that stands
 * in a way already told gets none of its own. Types do not count: they are gone when the code runs.
 */
export function runtimeCycles(graph: ImportGraph): string[] {
  const next = (file: string) =>
    (graph.get(file) ?? []).filter((i) => i.kind !== 'type' && graph.has(i.target)).map((i) => i.target);
  const told = new Set<string>();
  const cycles: string[] = [];
  for (const start of [...graph.keys()].sort()) {
    if (told.has(start)) continue;
    const way = shortestWayBack(start, next);
    if (!way) continue;
    for (const file of way) told.add(file);
    cycles.push([...way, start].join(' → '));
  }
  return cycles;
}

function shortestWayBack(start: string, next: (file: string) => readonly string[]): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[start, undefined]]);
  const queue = [start];
  for (const file of queue) {
    for (const target of next(file)) {
      if (target === start) return trace(file, cameFrom);
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, file);
      queue.push(target);
    }
  }
  return undefined;
}

function trace(last: string, cameFrom: ReadonlyMap<string, string | undefined>): string[] {
  const way: string[] = [];
  for (let at: string | undefined = last; at !== undefined; at = cameFrom.get(at)) way.unshift(at);
  return way;
}
