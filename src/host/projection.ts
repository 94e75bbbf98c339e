import type { ToolUpdate } from '../contracts/index.js';
import { publish } from './session-tree.js';
import type { Thread } from './thread.js';

/** Progress of a tool in a child that a leader called shows as progress of that call; how far it is says nothing about the whole. */
export function projectProgress(
  thread: Thread,
  tool: string,
  { content, progress, data }: ToolUpdate,
): undefined | Promise<void> {
  const { projectsTo } = thread;
  if (projectsTo === undefined) return undefined;
  return publish(projectsTo.thread, {
    type: 'tool_update',
    requestId: projectsTo.requestId,
    ...(content !== undefined && { content }),
    data: {
      ...(thread.threadId !== undefined && { threadId: thread.threadId }),
      tool,
      ...(progress !== undefined && { progress }),
      ...(data !== undefined && { data }),
    },
  });
}
