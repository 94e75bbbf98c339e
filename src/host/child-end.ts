import type { AgentEventDraft } from '../contracts/index.js';
import type { StateUpdate } from '../kernel/state.js';
import { endBroken } from './end-run.js';
import { closeExecutor } from './executors.js';
import { publish } from './session-tree.js';
import type { RunEnd, Thread } from './thread.js';

/** An actor that broke without ending its run, and what it left below it: the host ends all of it in its place. */
export function breakOff(thread: Thread, error: unknown): void {
  for (const child of [...(thread.children ?? [])]) {
    breakOff(child, error);
    publishCompleted(child, child.agent.definition.name, child.end as RunEnd, []);
    forget(child);
  }
  if (thread.end === undefined) endBroken(thread, error);
}

/** Says, on the child's thread, what it came to. */
export function publishCompleted(child: Thread, name: string, end: RunEnd, updates: readonly StateUpdate[]): void {
  const { result, code, message } = end.data;
  const event: AgentEventDraft<'agent_completed'> = {
    type: 'agent_completed',
    agentName: name,
    threadId: child.threadId as string,
    reason: end.reason,
    source: 'host',
  };
  if (result !== undefined) event.result = result;
  if (end.reason === 'failed' || code !== undefined) {
    event.error = { code: code ?? 'FAILED', message: message ?? end.reason };
  }
  if (updates.length > 0) event.stateDelta = child.state.delta();
  publish(child, event);
}

/** Nothing of a child that has ended stays in its host. */
export function forget(child: Thread): void {
  child.hasEnded = true;
  child.tree.host.threads.delete(child.address);
  child.parent?.children?.delete(child);
  closeExecutor(child);
}
