import type { AgentEvent, ElicitationRequest, OpenAgentEvent } from '../contracts/index.js';
import {
  addUsage,
  foldThread,
  type Mutable,
  newThread,
  noTotals,
  type OpenThread,
  type ThreadModel,
  type ThreadStatus,
  type Totals,
} from './run-thread.js';

/**
 * What a person wants to see of one run, folded from its events: plain JSON, and nothing of it depends on where it is
 * shown. Records have no prototype: their keys come from events.
 */
export interface RunModel {
  readonly sessionId: string | undefined;
  /** By thread id; the root is `''`. A thread's `children` are in order of appearance. */
  readonly threads: Readonly<Record<string, ThreadModel>>;
  readonly threadCount: number;
  /** Ids of the threads that have not ended. */
  readonly live: Readonly<Record<string, true>>;
  /** Unanswered questions of the whole tree, oldest first, by `requestId`. */
  readonly questions: Readonly<Record<string, QuestionModel>>;
  /** Every agent of the plan that has run, by its name: what all its threads came to. */
  readonly agents: Readonly<Record<string, AgentFigures>>;
  /** Sums of the `usage` events of every thread. */
  readonly totals: Totals;
  /** `reason` of the root's last `stream_end`; absent while it runs. */
  readonly reason: string | undefined;
  /** Timestamps (ISO 8601) of the first and the latest event. */
  readonly firstAt: string | undefined;
  readonly lastAt: string | undefined;
}

export interface QuestionModel {
  readonly request: ElicitationRequest;
  readonly threadId: string;
  readonly agentName: string;
}

export interface AgentFigures {
  /** How often it has begun; each message to a thread that had ended begins it again. */
  readonly runs: number;
  /** Of these: live, and not waiting for a person. */
  readonly running: number;
  /** Live, and waiting for a person. */
  readonly waiting: number;
  readonly completed: number;
  readonly failed: number;
  /** Ended otherwise: aborted, a limit, a refusal. */
  readonly stopped: number;
  readonly usage: Totals;
  /** Wall-clock time of the runs that have ended. */
  readonly ms: number;
}

/** A model, and the one way to change it. */
export interface RunFold {
  readonly model: RunModel;
  fold(event: OpenAgentEvent): void;
}

const noRun: RunModel = {
  sessionId: undefined,
  threads: {},
  threadCount: 0,
  live: {},
  questions: {},
  agents: {},
  totals: noTotals,
  reason: undefined,
  firstAt: undefined,
  lastAt: undefined,
};

type OpenRun = Omit<Mutable<RunModel>, 'threads' | 'live' | 'questions' | 'agents'> & {
  threads: Record<string, OpenThread>;
  live: Record<string, true>;
  questions: Record<string, QuestionModel>;
  agents: Record<string, Mutable<AgentFigures>>;
};

/** The model as it stands now, apart from the one that is being folded. In time that grows with the number of threads. */
export function copyRunModel(model: RunModel): OpenRun {
  const threads: OpenRun['threads'] = Object.create(null);
  for (const thread of Object.values(model.threads)) {
    const runningTools: OpenThread['runningTools'] = Object.assign(Object.create(null), thread.runningTools);
    threads[thread.threadId] = { ...thread, children: [...thread.children], runningTools };
  }
  const agents: OpenRun['agents'] = Object.create(null);
  for (const [name, figures] of Object.entries(model.agents)) agents[name] = { ...figures };
  return {
    ...model,
    threads,
    agents,
    live: Object.assign(Object.create(null), model.live),
    questions: Object.assign(Object.create(null), model.questions),
  };
}

/**
 * A model with the one way to change it: `fold` takes the events of a run in their order and changes `model` in place
 * (a copy per event would make long runs quadratic), in time that does not grow with the run. Unknown event types
 * change nothing but the times. It goes on from where a model stands, `from`, which is left as it is.
 */
export function createRunModel(from: RunModel = noRun): RunFold {
  const model = copyRunModel(from);
  const { threads, live, questions, agents } = model;

  /** How many threads of each agent stand below each parent. */
  const spawned = new Map<string, number>();
  for (const { parentId, agentName, ordinal } of Object.values(threads)) {
    const family = `${parentId} ${agentName}`;
    spawned.set(family, Math.max(ordinal, spawned.get(family) ?? 0));
  }

  const threadOf = (event: OpenAgentEvent, agentName?: string): OpenThread => {
    const threadId = event.threadId ?? '';
    const known = threads[threadId];
    if (known !== undefined) return known;
    const parentId = parentOf(threadId);
    const parent =
      parentId === undefined
        ? undefined
        : (threads[parentId] ?? threadOf({ ...event, threadId: parentId || undefined, agentId: undefined }));
    const name = agentName ?? event.agentId ?? nameFrom(threadId);
    const family = `${parentId} ${name}`;
    const ordinal = (spawned.get(family) ?? 0) + 1;
    spawned.set(family, ordinal);
    const thread = newThread({ threadId, parentId, agentName: name, ordinal, startedAt: event.timestamp });
    threads[threadId] = thread;
    model.threadCount++;
    live[threadId] = true;
    parent?.children.push(threadId);
    count(thread, undefined);
    return thread;
  };

  const figuresOf = (name: string) => {
    agents[name] ??= { runs: 0, running: 0, waiting: 0, completed: 0, failed: 0, stopped: 0, usage: noTotals, ms: 0 };
    return agents[name];
  };

  /** Brings the figures of a thread's agent up to date after its standing changed from `before`. */
  const count = (thread: OpenThread, before: Standing | undefined) => {
    const after = standingOf(thread);
    if (after === before) return;
    const figures = figuresOf(thread.agentName);
    const isNew = before === undefined || (!isLive(before) && isLive(after));
    if (isNew) figures.runs++;
    // An end that is told again counts once.
    if (before !== undefined && (isLive(before) || !isLive(after))) figures[before]--;
    figures[after]++;
    if (isLive(after)) live[thread.threadId] = true;
    else if (before === undefined || isLive(before)) {
      delete live[thread.threadId];
      figures.ms +=
        Math.max(0, Date.parse(thread.endedAt ?? thread.runStartedAt) - Date.parse(thread.runStartedAt)) || 0;
    }
  };

  /** A thread that was seen before its name was known. */
  const rename = (thread: OpenThread, name: string) => {
    const standing = standingOf(thread);
    const figures = figuresOf(thread.agentName);
    if (isLive(standing)) {
      figures[standing]--;
      figures.runs--;
    }
    if (figures.runs === 0) delete agents[thread.agentName];
    thread.agentName = name;
    if (isLive(standing)) count(thread, undefined);
  };

  return {
    model,
    fold(event) {
      model.firstAt ??= event.timestamp;
      model.lastAt = event.timestamp;
      const known = event as AgentEvent;
      const thread = threadOf(event, known.type === 'agent_started' ? known.agentName : undefined);
      if (known.type === 'initialize' && known.agent.name !== thread.agentName) rename(thread, known.agent.name);
      const before = standingOf(thread);
      foldThread(thread, known);
      switch (known.type) {
        case 'initialize':
          if (thread.parentId === undefined) model.sessionId = known.sessionId;
          break;
        case 'message':
          if (thread.parentId === undefined && known.role === 'user') model.reason = undefined;
          break;
        case 'usage': {
          model.totals = addUsage(model.totals, known);
          const figures = figuresOf(thread.agentName);
          figures.usage = addUsage(figures.usage, known);
          break;
        }
        case 'elicitation_request':
          if (questions[known.requestId] !== undefined) break;
          questions[known.requestId] = { request: known, threadId: thread.threadId, agentName: thread.agentName };
          thread.openQuestions++;
          break;
        case 'elicitation_response': {
          const asker = threads[questions[known.requestId]?.threadId ?? ''];
          if (asker === undefined || questions[known.requestId] === undefined) break;
          delete questions[known.requestId];
          const standing = standingOf(asker);
          asker.openQuestions--;
          if (asker === thread) break;
          if (asker.status !== 'ended') asker.status = statusOf(asker);
          count(asker, standing);
          break;
        }
        case 'stream_end':
          if (thread.parentId === undefined) model.reason = known.reason;
          break;
        default:
      }
      if (thread.status !== 'ended') thread.status = statusOf(thread);
      count(thread, before);
    },
  };
}

type Standing = 'running' | 'waiting' | 'completed' | 'failed' | 'stopped';

function standingOf({ status, reason }: OpenThread): Standing {
  if (status === 'awaiting_elicitation') return 'waiting';
  if (status !== 'ended') return 'running';
  return reason === 'completed' || reason === 'failed' ? reason : 'stopped';
}

const isLive = (standing: Standing) => standing === 'running' || standing === 'waiting';

function statusOf(thread: OpenThread): ThreadStatus {
  if (thread.openQuestions > 0) return 'awaiting_elicitation';
  if (thread.runningToolCount > 0) return 'awaiting_tool';
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
