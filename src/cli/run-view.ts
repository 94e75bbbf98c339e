import type { AgentEvent, ElicitationRequest, OpenAgentEvent } from '../contracts/index.js';
import {
  addUsage,
  foldThread,
  type Mutable,
  newThread,
  noTotals,
  type OpenThread,
  type ThreadStatus,
  type ThreadView,
  type Totals,
} from './thread-view.js';

/** What a person wants to see of one run, folded from its events: nothing of it depends on where it is shown. */
export interface RunView {
  readonly sessionId: string | undefined;
  /** By thread id; the root is `''`. In order of appearance. */
  readonly threads: ReadonlyMap<string, ThreadView>;
  /** Unanswered questions of the whole tree, oldest first, by `requestId`. */
  readonly questions: ReadonlyMap<string, QuestionView>;
  /** Sums of the `usage` events of every thread. */
  readonly totals: Totals;
  /** `reason` of the root's last `stream_end`; absent while it runs. */
  readonly reason: string | undefined;
  /** Timestamps (ISO 8601) of the first and the latest event. */
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
}

export interface QuestionView {
  readonly request: ElicitationRequest;
  readonly threadId: string;
  readonly agentName: string;
}

/**
 * A view with the one way to change it: `fold` takes the events of a run in their order and changes `view` in place
 * (a copy per event would make long runs quadratic). Unknown event types change nothing but the times.
 */
export function createRunView(): { readonly view: RunView; fold(event: OpenAgentEvent): void } {
  const threads = new Map<string, OpenThread>();
  const questions = new Map<string, QuestionView>();
  const view: Mutable<RunView> = {
    sessionId: undefined,
    threads,
    questions,
    totals: noTotals,
    reason: undefined,
    firstAt: undefined,
    lastAt: undefined,
  };

  /** How many threads of each agent stand below each parent. */
  const spawned = new Map<string, number>();

  const threadOf = (event: OpenAgentEvent, agentName?: string): OpenThread => {
    const threadId = event.threadId ?? '';
    const known = threads.get(threadId);
    if (known !== undefined) return known;
    const parentId = parentOf(threadId);
    const parent =
      parentId === undefined
        ? undefined
        : (threads.get(parentId) ?? threadOf({ ...event, threadId: parentId || undefined, agentId: undefined }));
    const name = agentName ?? event.agentId ?? nameFrom(threadId);
    const family = `${parentId} ${name}`;
    const ordinal = (spawned.get(family) ?? 0) + 1;
    spawned.set(family, ordinal);
    const thread = newThread({ threadId, parentId, agentName: name, ordinal, startedAt: event.timestamp });
    threads.set(threadId, thread);
    parent?.children.push(threadId);
    return thread;
  };

  return {
    view,
    fold(event) {
      view.firstAt ??= event.timestamp;
      view.lastAt = event.timestamp;
      const known = event as AgentEvent;
      const thread = threadOf(event, known.type === 'agent_started' ? known.agentName : undefined);
      foldThread(thread, known);
      switch (known.type) {
        case 'initialize':
          if (thread.parentId === undefined) view.sessionId = known.sessionId;
          break;
        case 'message':
          if (thread.parentId === undefined && known.role === 'user') view.reason = undefined;
          break;
        case 'usage':
          view.totals = addUsage(view.totals, known);
          break;
        case 'elicitation_request':
          questions.set(known.requestId, { request: known, threadId: thread.threadId, agentName: thread.agentName });
          break;
        case 'elicitation_response':
          questions.delete(known.requestId);
          break;
        case 'stream_end':
          if (thread.parentId === undefined) view.reason = known.reason;
          break;
        default:
      }
      if (thread.status !== 'ended') thread.status = statusOf(thread, questions);
    },
  };
}

function statusOf(thread: OpenThread, questions: ReadonlyMap<string, QuestionView>): ThreadStatus {
  for (const question of questions.values()) if (question.threadId === thread.threadId) return 'awaiting_elicitation';
  if (thread.runningTools.size > 0) return 'awaiting_tool';
  return thread.status === 'starting' ? 'starting' : 'running';
}

/** A thread id is the dotted path of its spawns below the root. */
function parentOf(threadId: string): string | undefined {
  if (threadId === '') return undefined;
  const dot = threadId.lastIndexOf('.');
  return dot < 0 ? '' : threadId.slice(0, dot);
}

function nameFrom(threadId: string): string {
  const segment = threadId.slice(threadId.lastIndexOf('.') + 1);
  return segment === '' ? 'root' : segment.replace(/_\d+$/, '');
}
