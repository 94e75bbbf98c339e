import type { AgentEvent, Bag } from '../../contracts/index.js';
import type { History } from '../../kernel/history.js';
import { lastSegment, parentThreadId } from '../../kernel/thread-id.js';
import type { CompiledAgent } from '../thread.js';
import type { Words } from '../words.js';
import { ThreadFold } from './fold-thread.js';
import type { ThreadPast } from './past.js';

/** Takes in the events of one run of a whole tree, in order. */
export interface RunFold {
  take(event: AgentEvent): void;
  readonly root: ThreadPast;
  /** A thread that the definition has no agent for; undefined: there is none. */
  readonly stranger: string | undefined;
}

/** `start`: the root as it stood before the run. */
export function createRunFold(start: {
  agent: CompiledAgent;
  history: History;
  values: Readonly<Bag>;
  spawned: number;
  spentUsd: number;
  spentTokens: number;
  /** Followed from run to run. */
  steers: Words[];
}): RunFold {
  const root = new ThreadFold({ ...start, threadId: undefined, parent: undefined, index: -1 });
  root.isInitialized = true;
  const threads = new Map<string | undefined, ThreadFold>([[undefined, root]]);
  const completed = new Set<string>();
  let stranger: string | undefined;

  function begin({ threadId, agentName, _meta }: AgentEvent<'agent_started'>): void {
    const parent = threads.get(parentThreadId(threadId));
    if (parent === undefined) return;
    const index = parent.agent.children.findIndex((child) => child.definition.name === agentName);
    const agent = parent.agent.children[index];
    if (agent === undefined) {
      stranger ??= threadId;
      return;
    }
    const child = new ThreadFold({
      threadId,
      agent,
      parent,
      index,
      requestId: typeof _meta?.requestId === 'string' ? _meta.requestId : undefined,
      restartOf: typeof _meta?.restartOf === 'string' ? _meta.restartOf : undefined,
      values: parent.values,
    });
    threads.set(threadId, child);
    parent.addChild(child);
  }

  /** A thread whose start is not in the log any more: its name is taken all the same. */
  function noteStray(threadId: string | undefined): void {
    if (threadId === undefined || completed.has(threadId)) return;
    const parent = threads.get(parentThreadId(threadId));
    if (parent !== undefined) parent.spawned = Math.max(parent.spawned, lastSegment(threadId)?.ordinal ?? 0);
  }

  return {
    root,
    get stranger() {
      return stranger;
    },
    take(event) {
      if (event.type === 'agent_started') return begin(event);
      const thread = threads.get(event.threadId);
      if (thread === undefined) return noteStray(event.threadId);
      if (event.type !== 'agent_completed') return thread.take(event);
      thread.settledAt = Date.parse(event.timestamp);
      thread.parent?.settled.push(thread);
      threads.delete(event.threadId);
      completed.add(event.threadId);
    },
  };
}
