import type { Origin } from '../../src/kernel/event-merge.js';

/** What a thread is to the merge. */
export const createOrigin = (threadId: string | undefined, agentId: string): Origin => ({
  threadId,
  agentId,
  runId: undefined,
  streamId: undefined,
  message: undefined,
  waiting: 0,
  suspended: undefined,
});
