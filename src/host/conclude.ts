import type { StreamEndData } from '../contracts/index.js';
import type { Conclusion } from '../kernel/crew.js';
import { mergeBranches } from '../kernel/state.js';
import type { ChildOutcome, CrewState } from './crew.js';
import { endRun } from './end-run.js';
import { publish } from './session-tree.js';
import type { RunEnd, RunRecord, Thread } from './thread.js';

/** Keeps what a child came to: its result for the next, its state, its part of the conversation. */
export function noteOutcome(thread: Thread, crew: CrewState, outcome: ChildOutcome, isDelegated: boolean): void {
  if (isDelegated) return;
  crew.outcomes[outcome.index] = outcome;
  crew.last = outcome;
  // Branches of a parallel are merged in spawn order, once all are in.
  noteConversation(thread, crew, outcome);
  if (outcome.updates.length > 0 && thread.agent.behaviour !== 'parallel') thread.state.commit(outcome.updates);
}

/** `transfer`: what a member said joins the conversation; a handover is remembered for its target. */
function noteConversation(thread: Thread, crew: CrewState, outcome: ChildOutcome): void {
  if (thread.agent.behaviour !== 'transfer' || outcome.thread === undefined) return;
  const { history, preloaded } = outcome.thread;
  crew.conversation = [...crew.conversation, ...history.messages().slice(preloaded)];
  const { handoffTarget, handoffReason } = outcome.end.data;
  const run = thread.run as RunRecord;
  if (handoffTarget === undefined) return;
  crew.transfers++;
  run.handedOverBy = { from: outcome.name, ...(typeof handoffReason === 'string' && { reason: handoffReason }) };
}

/** Makes a composition's result, and ends its run. */
export function concludeRun(
  thread: Thread,
  crew: CrewState,
  conclusion: Conclusion,
  report: (reason: string, endsSession: boolean) => void,
): void {
  const run = thread.run as RunRecord;
  const results = resultsOf(thread);
  const partial: StreamEndData = Object.keys(results).length > 0 ? { results } : {};
  if (run.stop !== undefined) {
    return endRun(thread, { reason: run.stop.reason, data: { ...partial, ...run.stop.data } }, report);
  }
  endRun(thread, endOf(thread, crew, conclusion, results, partial), report);
}

function endOf(
  thread: Thread,
  crew: CrewState,
  conclusion: Conclusion,
  results: Record<string, unknown>,
  partial: StreamEndData,
): RunEnd {
  const isParallel = thread.agent.behaviour === 'parallel';
  const failures = failuresOf(crew);
  const conflict = isParallel ? mergeState(thread, crew) : undefined;
  if (conflict !== undefined) return { reason: 'failed', data: { ...partial, ...conflict, result: results } };
  const last = crew.last?.end.data.result;
  switch (conclusion) {
    case 'completed':
    case 'joined': {
      if (!isParallel) return completed({ ...partial, result: last }, failures);
      const wanted = thread.agent.plan?.quorum ?? 0;
      const isJoined =
        thread.agent.descriptor.composition?.join !== undefined && wanted < (thread.agent.plan?.count ?? 0);
      const succeeded =
        Object.keys(results).length +
        crew.outcomes.filter((one) => one?.ok && one.end.data.result === undefined).length;
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
      return completed({ ...partial, result: last, exit: conclusion, iterations: crew.iteration }, failures);
    case 'escalated': {
      const result = isParallel ? results : (last ?? lastResult(crew));
      // It ends the nearest loop, and only that: everything else hands it on.
      if (thread.agent.behaviour === 'loop') {
        return completed({ ...partial, result, exit: 'escalated', iterations: crew.iteration }, failures);
      }
      const reason = crew.outcomes.find((one) => one?.end.data.escalateReason !== undefined)?.end.data.escalateReason;
      return completed({ ...partial, result, escalateReason: reason ?? 'a child escalated' }, failures);
    }
    case 'failed':
    case 'aborted':
      return failed(
        crew,
        isParallel ? { result: results } : { ...partial, ...(last !== undefined && { result: last }) },
        failures,
        undefined,
      );
    default:
      return conclusion satisfies never;
  }
}

type Failures = Record<string, { code: string; message: string }>;

function completed(data: StreamEndData, failures: Failures): RunEnd {
  return { reason: 'completed', data: Object.keys(failures).length > 0 ? { ...data, failures } : data };
}

function failed(crew: CrewState, data: StreamEndData, failures: Failures, why: string | undefined): RunEnd {
  const [first] = Object.entries(failures);
  const fault =
    first === undefined ? { code: 'FAILED', message: why ?? 'no child succeeded' } : firstFault(crew, failures, first);
  return {
    reason: 'failed',
    data: { ...data, ...fault, ...(why !== undefined && { message: `${why}; ${fault.message}` }), failures },
  };
}

/** The failure that came first in time stands for the whole; the others it caused (aborted siblings) do not. */
function firstFault(crew: CrewState, failures: Failures, [name, fault]: [string, { code: string; message: string }]) {
  const own = crew.outcomes.find((one) => one !== undefined && !one.ok && one.end.reason !== 'aborted');
  const cause = own === undefined ? fault : (failures[own.name] ?? fault);
  return { code: cause.code, message: `${own?.name ?? name}: ${cause.message}` };
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

const lastResult = (crew: CrewState) =>
  crew.outcomes.findLast((one) => one?.end.data.result !== undefined)?.end.data.result;

/** Applies what the branches wrote, in spawn order; a conflict is published and nothing is applied. */
function mergeState(thread: Thread, crew: CrewState): { code: string; message: string } | undefined {
  if (!thread.tree.hasState) return undefined;
  const branches = crew.outcomes.flatMap((one) => (one?.ok ? [{ name: one.name, updates: one.updates }] : []));
  const { conflicts } = mergeBranches(thread.state, branches);
  if (conflicts.length === 0) return undefined;
  const said = conflicts.map(({ key, branches: names }) => `"${key}" by ${names.join(' and ')}`).join(', ');
  const message = `state was written differently: ${said}; declare a reducer`;
  publish(thread, { type: 'error', code: 'STATE_CONFLICT', message, fatal: false, details: { conflicts } });
  return { code: 'STATE_CONFLICT', message };
}

/** Results by child, in the order of the children; absent where a child has none or failed. */
export function resultsOf(thread: Thread): Record<string, unknown> {
  const results: Record<string, unknown> = {};
  for (const outcome of thread.crew?.outcomes ?? []) {
    if (outcome?.ok) results[outcome.name] = outcome.end.data.result;
  }
  return results;
}
