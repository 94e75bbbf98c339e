import type { StreamEndData } from '../contracts/index.js';
import type { Conclusion } from '../kernel/crew.js';
import { mergeBranches, type StateConflict } from '../kernel/state.js';
import type { ChildOutcome, CrewState } from './crew-state.js';
import { endRun } from './end-run.js';
import { publishFault } from './fault.js';
import { commitNode } from './graph-state.js';
import { resultsOf } from './results.js';
import { publish } from './session-tree.js';
import { commitUpdates, isInLog, publishDelta } from './state-updates.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';
import { noteConversation } from './transfer-context.js';

/**
 * Keeps what a child came to: its result for the next, its state, its part of the conversation. Returns it, as a
 * failure where its state is not taken. Only what completed hands up what it wrote.
 */
export function noteOutcome(thread: Thread, crew: CrewState, given: ChildOutcome): ChildOutcome {
  const { behaviour } = thread.agent;
  let outcome = given;
  // Branches of a parallel are merged in spawn order, once all are in.
  if (outcome.ok && outcome.updates.length > 0 && behaviour !== 'parallel') {
    try {
      if (crew.graph === undefined) commitUpdates(thread, outcome.updates);
      else {
        const conflict = commitNode(thread, crew.graph, outcome);
        if (conflict !== undefined) outcome = { ...outcome, ok: false, end: { reason: 'failed', data: conflict } };
      }
    } catch (thrown) {
      const data = publishFault(thread, `the state of ${outcome.name}`, thrown, 'STATE_FAILED');
      outcome = { ...outcome, ok: false, end: { reason: 'failed', data } };
    }
  }
  const { escalateReason, result } = outcome.end.data;
  // Who ends a loop and says nothing leaves as the last what was said before.
  if (behaviour === 'loop' && outcome.ok && escalateReason !== undefined && result === undefined) return outcome;
  crew.outcomes[outcome.index] = outcome;
  crew.last = outcome;
  if (outcome.ok && result !== undefined) crew.best = outcome;
  if (outcome.ok && crew.graph !== undefined) {
    crew.graph.visits[outcome.index] = (crew.graph.visits[outcome.index] ?? 0) + 1;
  }
  if (!outcome.ok && outcome.end.reason !== 'aborted') crew.firstFailure ??= outcome;
  if (behaviour === 'transfer') noteConversation(crew, outcome);
  return outcome;
}

/** Why, and for a graph with which node. */
interface Ending {
  readonly conclusion: Conclusion;
  readonly end?: number;
}

/** Makes a composition's result, and ends its run. */
export function concludeRun(
  thread: Thread,
  crew: CrewState,
  ending: Ending,
  report: (reason: string, endsSession: boolean) => void,
): void {
  const run = thread.run as RunRecord;
  crew.prepared?.close();
  crew.prepared = undefined;
  const end = conclusionOf(thread, crew, run, ending);
  // A session that stands keeps nothing of a run that is over.
  crew.outcomes = [];
  crew.last = undefined;
  crew.best = undefined;
  crew.firstFailure = undefined;
  endRun(thread, end, report);
}

function conclusionOf(thread: Thread, crew: CrewState, run: RunRecord, ending: Ending): RunEnd {
  const results = resultsOf(thread);
  const partial: StreamEndData = Object.keys(results).length > 0 ? { results } : {};
  if (run.stop !== undefined) {
    const { reason, data } = run.stop;
    const best = reason === 'aborted' ? {} : resultIn(bestResult(thread, crew, results));
    return { reason, data: { ...partial, ...best, ...data } };
  }
  return endOf(thread, crew, ending, results, partial);
}

function endOf(
  thread: Thread,
  crew: CrewState,
  { conclusion, end }: Ending,
  results: Record<string, unknown>,
  partial: StreamEndData,
): RunEnd {
  const isParallel = thread.agent.behaviour === 'parallel';
  const failures = failuresOf(crew);
  const conflict = isParallel ? mergeState(thread, crew) : undefined;
  if (conflict !== undefined) {
    return { reason: 'failed', data: { ...partial, ...conflict, result: results, ...failuresIn(failures) } };
  }
  const last = resultIn(crew.last?.end.data.result);
  switch (conclusion) {
    case 'completed':
    case 'joined': {
      if (end !== undefined)
        return completed({ ...partial, ...resultIn(crew.outcomes[end]?.end.data.result) }, failures);
      if (!isParallel) return inOrder(crew, partial, failures);
      const wanted = thread.agent.plan?.quorum ?? 0;
      const isJoined =
        thread.agent.descriptor.composition?.join !== undefined && wanted < (thread.agent.plan?.count ?? 0);
      const succeeded = crew.outcomes.filter((one) => one?.ok).length;
      if (succeeded > 0 && (!isJoined || succeeded >= wanted)) return completed({ result: results }, failures);
      return failed(
        crew,
        { result: results },
        failures,
        succeeded > 0 ? `${succeeded} of ${wanted} wanted succeeded` : undefined,
      );
    }
    case 'until':
    case 'max_iterations':
      return completed({ ...partial, ...last, exit: conclusion, iterations: crew.iteration }, failures);
    case 'escalated': {
      const result = isParallel ? { result: results } : 'result' in last ? last : lastResult(crew);
      // It ends the nearest loop, and only that: everything else hands it on.
      if (thread.agent.behaviour === 'loop') {
        return completed({ ...partial, ...result, exit: 'escalated', iterations: crew.iteration }, failures);
      }
      const reason = crew.outcomes.find((one) => one?.end.data.escalateReason !== undefined)?.end.data.escalateReason;
      return completed({ ...partial, ...result, escalateReason: reason ?? 'a child escalated' }, failures);
    }
    case 'failed':
    case 'aborted':
      return failed(crew, isParallel ? { result: results } : { ...partial, ...last }, failures, undefined);
    case 'max_steps': {
      const { maxSteps } = thread.agent.descriptor.composition ?? {};
      const message = `maxSteps (${maxSteps}) was reached before the end`;
      return {
        reason: 'failed',
        data: { ...partial, exit: 'max_steps', code: 'MAX_STEPS', message, ...failuresIn(failures) },
      };
    }
    case 'stuck': {
      const message = `no edge was taken from ${crew.last?.name}, and no end was reached; give an edge the guard "otherwise"`;
      return {
        reason: 'failed',
        data: { ...partial, exit: 'stuck', code: 'NO_EDGE_TAKEN', message, ...failuresIn(failures) },
      };
    }
    default:
      return conclusion satisfies never;
  }
}

type Failures = Record<string, { code: string; message: string }>;

function completed(data: StreamEndData, failures: Failures): RunEnd {
  return { reason: 'completed', data: { ...data, ...failuresIn(failures) } };
}

const failuresIn = (failures: Failures) => (Object.keys(failures).length > 0 ? { failures } : {});

function failed(crew: CrewState, data: StreamEndData, failures: Failures, why: string | undefined): RunEnd {
  // The failure that came first stands for the whole; those that it caused (aborted siblings) do not.
  const name = crew.firstFailure?.name ?? Object.keys(failures)[0] ?? '';
  const { code, message } = failures[name] ?? { code: 'FAILED', message: 'no child succeeded' };
  const said = [why, name === '' ? message : `${name}: ${message}`].filter((text) => text !== undefined);
  return { reason: 'failed', data: { ...data, code, message: said.join('; '), failures } };
}

/** `code` and `message` of every child that did not complete, by name. */
function failuresOf(crew: CrewState): Failures {
  const failures: Failures = {};
  for (const outcome of crew.outcomes) {
    if (outcome === undefined || outcome.ok) continue;
    const { reason, data } = outcome.end;
    failures[outcome.name] = {
      code: data.code ?? reason.toUpperCase(),
      message: data.message ?? data.reason ?? `ended with ${reason}`,
    };
  }
  return failures;
}

const resultIn = (result: unknown): { result?: unknown } => (result === undefined ? {} : { result });

/** What a composition that a limit has ended had come to, what a child had that was cut off with it included. */
function bestResult(thread: Thread, crew: CrewState, results: Record<string, unknown>): unknown {
  if (thread.agent.behaviour === 'parallel') return Object.keys(results).length > 0 ? results : undefined;
  if (crew.best !== undefined) return crew.best.end.data.result;
  const { last } = crew;
  const given = last?.end.data.results;
  if (last === undefined || typeof given !== 'object' || given === null) return last?.end.data.result;
  return thread.agent.children[last.index]?.behaviour === 'parallel' ? given : Object.values(given).at(-1);
}

const lastResult = (crew: CrewState) =>
  resultIn(crew.outcomes.findLast((one) => one?.ok && one.end.data.result !== undefined)?.end.data.result);

/** Children in order: what the last one came to. Where failures are passed on, one success is enough. */
function inOrder(crew: CrewState, partial: StreamEndData, failures: Failures): RunEnd {
  if (crew.last?.ok) return completed({ ...partial, ...resultIn(crew.last.end.data.result) }, failures);
  if (crew.outcomes.some((one) => one?.ok)) return completed({ ...partial, ...lastResult(crew) }, failures);
  return failed(crew, partial, failures, undefined);
}

/** Applies what the branches wrote, in spawn order; a conflict is published and nothing is applied. */
function mergeState(thread: Thread, crew: CrewState): { code: string; message: string } | undefined {
  if (!thread.tree.hasState) return undefined;
  const branches = crew.outcomes.flatMap((one) =>
    one?.ok && one.updates.length > 0 ? [{ name: one.name, updates: one.updates }] : [],
  );
  if (branches.length === 0 || isInLog(thread)) return undefined;
  let conflicts: StateConflict[];
  try {
    ({ conflicts } = mergeBranches(thread.state, branches));
  } catch (thrown) {
    return publishFault(thread, 'the state of the branches', thrown, 'STATE_FAILED');
  }
  if (conflicts.length === 0) {
    publishDelta(
      thread,
      branches.flatMap(({ updates }) => updates),
    );
    return undefined;
  }
  const said = conflicts.map(({ key, branches: names }) => `"${key}" by ${names.join(' and ')}`).join(', ');
  const message = `state was written differently: ${said}; declare a reducer`;
  publish(thread, { type: 'error', code: 'STATE_CONFLICT', message, fatal: false, details: { conflicts } });
  return { code: 'STATE_CONFLICT', message };
}
