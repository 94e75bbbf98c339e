import type { Bag } from '../contracts/index.js';
import { describeError } from './errors.js';
import { jsonFault } from './json-value.js';
import { createLogRequests } from './log-requests.js';
import {
  checkTotals,
  closeMessage,
  createLogThread,
  isBag,
  type LogThread,
  type Report,
  reportOpen,
  say,
  sayThread,
  takeCallPlace,
  takeMessage,
} from './log-thread.js';
import { lastSegment, parentThreadId } from './thread-id.js';
import { createUsageTally } from './usage.js';

export interface ValidateLogOptions {
  /** True: the last run has ended, so nothing may be open at the end. Default false: any prefix of a run is valid. */
  finished?: boolean;
}

/**
 * The rules of an event stream that are broken, one sentence each, in the order of the events; empty: it is valid.
 * `events` are those of one session tree from its start: a live stream, or a stored log (messages whole, gaps in `seq`).
 * Every prefix of a valid stream is valid. Unknown types are held to what holds for all. Linear time; never throws.
 */
export function validateLog(events: Iterable<unknown>, options: ValidateLogOptions = {}): string[] {
  const broken: string[] = [];
  const rules = createLogRules();
  let index = 0;
  try {
    for (const event of events) {
      try {
        if (isBag(event)) rules.take(event, (rule) => broken.push(`${nameOf(event)}: ${rule}`));
        else broken.push(`event at index ${index}: ${say(event)} is no event`);
      } catch (error) {
        broken.push(`event at index ${index}: cannot be read (${describeError(error).message})`);
      }
      index += 1;
    }
  } catch (error) {
    broken.push(`the log cannot be read beyond index ${index} (${describeError(error).message})`);
  }
  if (options.finished === true) rules.finish((rule) => broken.push(`end of the log: ${rule}`));
  return broken;
}

const nameOf = ({ id, seq, threadId }: Bag) => `event ${say(id)} (seq ${say(seq)}) of ${sayThread(threadId)}`;

/** What may stand between two runs of the root, beside the user's message that begins the next. */
const BETWEEN_RUNS = new Set<unknown>(['custom', 'session_update']);

function createLogRules() {
  const root = createLogThread();
  const threads = new Map<string, LogThread>();
  const strangers = new Set<string>();
  const checkStamp = createStampRules();
  const calls = createLogRequests({ openOf: (thread) => thread.openCalls, named: true });
  const questions = createLogRequests({ openOf: (thread) => thread.openQuestions, named: false });

  function start(threadId: string, { agentName, parentThreadId: saidParentId }: Bag, report: Report): void {
    if (threads.has(threadId)) {
      report('agent_started comes twice for this thread');
      return;
    }
    const parentId = parentThreadId(threadId);
    const parent = parentId === undefined ? root : threads.get(parentId);
    threads.set(threadId, createLogThread(threadId, parent, agentName));
    const segment = lastSegment(threadId);
    if (segment === undefined) report('its threadId does not end in <agentName>_<ordinal>');
    else if (segment.agentName !== agentName) {
      report(`agent_started names ${say(agentName)}, its threadId ${say(segment.agentName)}`);
    }
    if (saidParentId !== undefined && saidParentId !== parentId) {
      report(`parentThreadId ${say(saidParentId)} is not the parent in its threadId (${say(parentId)})`);
    }
    if (parent === undefined) {
      report(`its parent (${sayThread(parentId)}) was never started`);
      return;
    }
    if (parent.phase === 'announced')
      report(`agent_started before its parent (${sayThread(parentId)}) has initialized`);
    else if (parent.phase !== 'open')
      report(`agent_started after the stream_end of its parent (${sayThread(parentId)})`);
    if (segment !== undefined && parent.ordinals.has(segment.ordinal)) {
      report(`ordinal ${segment.ordinal} was given to another child of the same parent`);
    }
    if (segment !== undefined) parent.ordinals.add(segment.ordinal);
    parent.liveChildren.add(threadId);
  }

  function complete(threadId: string, { agentName }: Bag, report: Report): void {
    const thread = threads.get(threadId);
    if (thread === undefined) report('agent_completed without an agent_started');
    else if (thread.phase === 'completed') report('agent_completed comes twice for this thread');
    else {
      if (thread.phase !== 'ended') report('agent_completed before the stream_end of its thread');
      if (thread.agentName !== agentName) {
        report(`agent_completed names ${say(agentName)}, agent_started ${say(thread.agentName)}`);
      }
      thread.phase = 'completed';
      thread.parent?.liveChildren.delete(threadId);
    }
  }

  /** Whether the event may stand where it stands in the life of its thread. */
  function admit(thread: LogThread, { type, role, resumed, runId }: Bag, report: Report): boolean {
    if (thread.phase === 'announced') {
      if (type !== 'initialize') report(`the first event of a thread is initialize, not ${say(type)}`);
      thread.phase = 'open';
      return true;
    }
    if (type === 'initialize' && resumed !== true) {
      report('initialize comes twice for this thread');
      return false;
    }
    if (thread.phase === 'open') return true;
    if (thread === root && (BETWEEN_RUNS.has(type) || type === 'initialize')) return true;
    if (thread !== root || type !== 'message' || role !== 'user') {
      report(`${say(type)} after the stream_end of its thread`);
      return false;
    }
    if (runId !== undefined && runId === root.runId) report(`run ${say(runId)} goes on after its stream_end`);
    root.phase = 'open';
    root.tally = createUsageTally();
    return true;
  }

  function end(thread: LogThread, { reason, data }: Bag, report: Report): void {
    if (typeof reason !== 'string') report('stream_end needs a reason');
    reportOpen('stream_end', thread, report);
    if (isBag(data)) checkTotals(thread.tally, data, report);
    closeMessage(thread);
    thread.phase = 'ended';
    thread.parent?.tally.addTally(thread.tally);
  }

  function takeOwn(thread: LogThread, event: Bag, report: Report): void {
    if (!admit(thread, event, report)) return;
    if (event.runId !== undefined && thread.phase === 'open') thread.runId = event.runId;
    switch (event.type) {
      case 'message':
        takeMessage(thread, event, report);
        break;
      case 'tool_request':
        takeCallPlace(thread, event);
        calls.ask(thread, event, report);
        break;
      case 'tool_update':
        if (!calls.isOpen(event.requestId))
          report(`tool_update for ${say(event.requestId)}, which is no open tool_request`);
        break;
      case 'tool_response':
        calls.answer(thread, event, report);
        break;
      case 'elicitation_request':
        questions.ask(thread, event, report);
        break;
      case 'elicitation_response':
        questions.answer(thread, event, report);
        break;
      case 'usage':
        thread.tally.add(event);
        break;
      case 'stream_end':
        end(thread, event, report);
        break;
    }
  }

  function takeOfChild(threadId: string, event: Bag, report: Report): void {
    if (root.phase === 'announced') {
      report('the first event of a log is the initialize of the root');
      root.phase = 'open';
    }
    if (root.phase === 'ended') report(`${say(event.type)} after the stream_end of the root`);
    const thread = threads.get(threadId);
    if (event.type === 'agent_started') start(threadId, event, report);
    else if (event.type === 'agent_completed') complete(threadId, event, report);
    else if (thread !== undefined) takeOwn(thread, event, report);
    else if (!strangers.has(threadId)) {
      strangers.add(threadId);
      report('its thread has no agent_started');
    }
  }

  return {
    take(event: Bag, report: Report): void {
      checkStamp(event, report);
      const fault = jsonFault(event);
      if (fault !== undefined) report(`it changes in a JSON round trip: ${fault.trimStart()}`);
      const { threadId, type } = event;
      if (typeof threadId === 'string') takeOfChild(threadId, event, report);
      else if (threadId !== undefined) report('a threadId is a text; the root has none');
      else if (type === 'agent_started' || type === 'agent_completed')
        report(`${say(type)} needs the threadId of the child`);
      else takeOwn(root, event, report);
    },
    finish(report: Report): void {
      for (const thread of [root, ...threads.values()]) {
        if (thread.phase === 'completed' || (thread === root && thread.phase === 'ended')) continue;
        report(`${sayThread(thread.threadId)} has no ${thread.phase === 'ended' ? 'agent_completed' : 'stream_end'}`);
        reportOpen(`${sayThread(thread.threadId)} stops`, thread, report);
      }
    },
  };
}

const TIMESTAMP = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** What holds for every event whatever its thread: its id, its place, its time. */
function createStampRules(): (event: Bag, report: Report) => void {
  const ids = new Set<string>();
  let lastSeq = Number.NEGATIVE_INFINITY;
  // NaN equals nothing, so that the first one is read whatever it is.
  let last: { timestamp: unknown; ms: number } = { timestamp: Number.NaN, ms: Number.NEGATIVE_INFINITY };
  return ({ id, seq, timestamp, type }, report) => {
    if (typeof id !== 'string' || id === '') report('an event needs an id, a text that is not empty');
    else if (ids.has(id)) report('its id was given before (ids are unique)');
    else ids.add(id);
    if (!Number.isSafeInteger(seq)) report('seq must be a whole number');
    else if (Number(seq) <= lastSeq) report(`seq does not increase after ${lastSeq} (seq strictly increases)`);
    else lastSeq = Number(seq);
    if (typeof type !== 'string') report('an event needs a type');
    if (timestamp === last.timestamp) return;
    const ms = typeof timestamp === 'string' && TIMESTAMP.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
    if (Number.isNaN(ms)) report(`timestamp ${say(timestamp)} is not ISO 8601 in UTC with milliseconds`);
    else if (ms < last.ms)
      report(`timestamp ${say(timestamp)} lies before ${say(last.timestamp)} (time never goes back)`);
    else last = { timestamp, ms };
  };
}
