import type { AgentDescriptor } from '../../contracts/index.js';
import type { RunModel } from '../../kernel/run-model.js';
import type { ThreadModel } from '../../kernel/run-thread.js';

export interface TreeRow {
  readonly thread: ThreadModel;
  readonly depth: number;
  readonly isFolded: boolean;
}

/**
 * The threads of a run, parents before their children, without what is folded away. `filter`: only threads whose agent,
 * id or state holds it, and those above them.
 */
export function treeRows(model: RunModel, folded: ReadonlySet<string>, filter: string): TreeRow[] {
  const wanted = filter.trim().toLowerCase();
  const shown = wanted === '' ? undefined : matching(model, wanted);
  const rows: TreeRow[] = [];
  const open: [id: string, depth: number][] = [['', 0]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [id, depth] = next;
    const thread = model.threads[id];
    if (thread === undefined || (shown !== undefined && !shown.has(id))) continue;
    const isFolded = shown === undefined && folded.has(id);
    rows.push({ thread, depth, isFolded });
    if (isFolded) continue;
    for (let at = thread.children.length - 1; at >= 0; at--) {
      const child = thread.children[at];
      if (child !== undefined) open.push([child, depth + 1]);
    }
  }
  return rows;
}

function matching(model: RunModel, wanted: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const thread of Object.values(model.threads)) {
    const { agentName, threadId, status, reason } = thread;
    if (!`${agentName} ${threadId} ${status} ${reason ?? ''}`.toLowerCase().includes(wanted)) continue;
    for (let one: ThreadModel | undefined = thread; one !== undefined && !found.has(one.threadId); ) {
      found.add(one.threadId);
      one = one.parentId === undefined ? undefined : model.threads[one.parentId];
    }
  }
  return found;
}

/** The executor of each agent of a team by its name. */
export function executorsOf(descriptor: AgentDescriptor | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const note = (one: AgentDescriptor) => {
    found.set(one.name, one.composition?.pattern ?? one.executor);
    for (const inner of one.subAgents ?? []) note(inner);
  };
  if (descriptor !== undefined) note(descriptor);
  return found;
}
