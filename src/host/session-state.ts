import type { ExecutionState, PendingRequest } from '../contracts/index.js';
import { threadsFrom } from './session-tree.js';
import type { Thread, Tree } from './thread.js';
import type { PersistedThread } from './types.js';

/** Where a session stands, in the words of the wire. */
export function stateOf(thread: Thread): ExecutionState {
  const snapshot = thread.actor?.getSnapshot();
  if (thread.hasEnded || snapshot?.status !== 'active') {
    return endedState(snapshot?.output?.reason ?? thread.end?.reason ?? 'aborted');
  }
  const pending = pendingOf(thread.tree, thread);
  // Being stopped is told as the state that was left.
  const value: string = snapshot.value === 'stopping' ? (thread.run?.left ?? 'running') : snapshot.value;
  const running: ExecutionState = { type: 'running', turnCount: thread.run?.turns ?? 0 };
  switch (value) {
    case 'idle':
      return { type: 'idle' };
    case 'awaitingElicitation':
      return { type: 'awaiting_elicitation', pending };
    case 'awaitingTool':
      // A leader's call waits for what its child asks.
      return asks(pending) ? { type: 'awaiting_elicitation', pending } : { type: 'awaiting_tool', pending };
    default:
      // A composition waits as those below it do.
      if (thread.agent.behaviour === 'turn' || pending.length === 0 || thread.tree.busy > 0) return running;
      return asks(pending) ? { type: 'awaiting_elicitation', pending } : { type: 'awaiting_tool', pending };
  }
}

const asks = (pending: readonly PendingRequest[]) => pending.some((one) => one.kind === 'elicitation');

/** How a session ended: `failed` is an error, `aborted` stays; whatever else ended it did so in order. */
export const endedState = (reason: string): ExecutionState => ({
  type: reason === 'aborted' ? 'aborted' : reason === 'failed' ? 'error' : 'completed',
  reason,
});

/** What waits for outside input, in the order asked: in the whole tree, or in one thread and below it. */
export function pendingOf(tree: Tree, below?: Thread): PendingRequest[] {
  const isBelow = (thread: Thread) => {
    for (let at: Thread | undefined = thread; at !== undefined; at = at.parent) if (at === below) return true;
    return below === undefined;
  };
  const base = (requestId: string, thread: Thread) => ({
    requestId,
    agentId: thread.agentId,
    ...(thread.threadId !== undefined && { threadId: thread.threadId }),
  });
  const pending: PendingRequest[] = [];
  for (const { requestId, thread, request } of tree.questions.values()) {
    if (isBelow(thread)) pending.push({ ...base(requestId, thread), kind: 'elicitation', name: request.kind });
  }
  for (const { requestId, thread, name } of tree.consumerCalls.values()) {
    if (isBelow(thread)) pending.push({ ...base(requestId, thread), kind: 'tool', name });
  }
  return pending;
}

/** Every live machine of a tree as XState persists it, children before parents. */
export function persistedThreads(tree: Tree): PersistedThread[] {
  const threads: PersistedThread[] = [];
  for (const { threadId, agent, actor } of threadsFrom(tree.root)) {
    if (actor?.getSnapshot().status !== 'active') continue;
    threads.push({
      ...(threadId !== undefined && { threadId }),
      agentName: agent.definition.name,
      snapshot: JSON.parse(JSON.stringify(actor.getPersistedSnapshot())),
    });
  }
  return threads;
}
