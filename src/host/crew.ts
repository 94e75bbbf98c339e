import type { Pool, PoolEffect } from '../../machines/child-pool.logic.js';
import type { AgentEventDraft, Executor, ModelMessage, StreamEndData } from '../contracts/index.js';
import type { CrewOrder, CrewPlan } from '../kernel/crew.js';
import { describeError } from '../kernel/errors.js';
import type { StateUpdate } from '../kernel/state.js';
import { childThreadId } from '../kernel/thread-id.js';
import { concludeRun, noteOutcome, resultsOf } from './conclude.js';
import { abortStop, stopRun } from './end-run.js';
import { closeExecutor } from './executors.js';
import { beginRun, inputFaults, publishInitialize, type RunInput, toRunInput } from './run-start.js';
import { createThread, enter, leave, publish } from './session-tree.js';
import { restartAfter } from './supervision.js';
import type { CompiledAgent, RunEnd, RunRecord, Thread } from './thread.js';
import { nextContext, publishTransfer } from './transfer-context.js';

/** What became of one child. */
export interface ChildOutcome {
  readonly name: string;
  readonly index: number;
  readonly end: RunEnd;
  readonly ok: boolean;
  readonly updates: readonly StateUpdate[];
  /** Absent for a child that never came to be. */
  readonly thread: Thread | undefined;
}

/** One spawn that is asked for, until it has settled for good. */
interface Job {
  readonly index: number;
  /** A tool call that it answers. */
  readonly requestId: string | undefined;
  /** Kept for restarts. */
  input: RunInput | undefined;
  thread: Thread | undefined;
  restarts: number[];
  restartOf: string | undefined;
  isCancelled: boolean;
  cancelDelay: (() => void) | undefined;
  /** It is to start again once it has settled, for a sibling's sake. */
  isRecalled: boolean;
}

/** The children of one composition's thread, across its runs. */
export interface CrewState {
  /** Latest outcome of each child of the run under way, by index. */
  outcomes: (ChildOutcome | undefined)[];
  last: ChildOutcome | undefined;
  iteration: number;
  transfers: number;
  /** `transfer`: the member last active, and the whole conversation so far. */
  activeMember: number;
  conversation: readonly ModelMessage[];
  /** `transfer`: an executor made when the conversation was handed over. */
  readonly prepared: Map<number, Executor>;
  readonly delegations: Map<string, (outcome: ChildOutcome) => void>;
  /** Children that wait for outside input: they take no place. */
  blocked: number;
  pump: () => void;
  live: () => Thread[];
}

const newCrewState = (): CrewState => ({
  outcomes: [],
  last: undefined,
  iteration: 0,
  transfers: 0,
  activeMember: -1,
  conversation: [],
  prepared: new Map(),
  delegations: new Map(),
  blocked: 0,
  pump: () => {},
  live: () => [],
});

/** Longest stretch of starting or stopping children before the event loop has its turn. */
const SLICE_MS = 8;

/** Starts, supervises and keeps account of a composition's children, as its machine orders. */
export function beginCrew(thread: Thread, pool: Pool): PoolEffect<CrewOrder> {
  const { tree, agent } = thread;
  const plan = agent.plan as CrewPlan;
  const pattern = agent.descriptor.composition?.pattern;
  thread.crew ??= newCrewState();
  const crew = thread.crew;
  if (agent.behaviour !== 'turn') {
    crew.outcomes = [];
    crew.last = undefined;
    crew.transfers = 0;
    crew.blocked = 0;
  }
  const jobs = new Map<string, Job>();
  const queue: Job[] = [];
  let nextInOrder = 0;
  let inOrderUntil = 0;
  let starting = 0;
  let isStopping = false;
  let saysStopped = false;
  let isPumping = false;
  const isHierarchy = agent.behaviour === 'turn';

  crew.live = () => [...jobs.values()].flatMap((job) => (job.thread === undefined ? [] : [job.thread]));
  crew.pump = pump;

  const hasRoom = () => jobs.size + starting - crew.blocked < plan.concurrency;

  function newJob(index: number, requestId?: string): Job {
    return {
      index,
      requestId,
      input: undefined,
      thread: undefined,
      restarts: [],
      restartOf: undefined,
      isCancelled: false,
      cancelDelay: undefined,
      isRecalled: false,
    };
  }

  /** Starts what waits, within the concurrency, a slice at a time. */
  function pump(): void {
    if (isPumping) return;
    isPumping = true;
    const sliceEnd = performance.now() + SLICE_MS;
    while (!isStopping && hasRoom()) {
      const job = queue.shift() ?? (nextInOrder < inOrderUntil ? newJob(nextInOrder++) : undefined);
      if (job === undefined) break;
      begin(job);
      if (performance.now() > sliceEnd && (queue.length > 0 || nextInOrder < inOrderUntil)) {
        enter(tree);
        setImmediate(() => {
          isPumping = false;
          pump();
          leave(tree);
        });
        return;
      }
    }
    isPumping = false;
  }

  function begin(job: Job): void {
    starting++;
    let input: RunInput | Promise<RunInput>;
    try {
      input = job.input ?? inputFor(job);
    } catch (thrown) {
      return refuse(job, describeError(thrown, 'MAP_INPUT_FAILED'));
    }
    if (!(input instanceof Promise)) return checkInput(job, input);
    enter(tree);
    input
      .then(
        (ready) => checkInput(job, ready),
        (thrown) => refuse(job, describeError(thrown, 'MAP_INPUT_FAILED')),
      )
      .finally(() => leave(tree));
  }

  function inputFor(job: Job): RunInput | Promise<RunInput> {
    const child = agent.children[job.index] as CompiledAgent;
    const run = thread.run as RunRecord;
    const mapInput = agent.definition.behaviour?.mapInput;
    const standard = () => toRunInput(child, defaultInput(run));
    if (mapInput === undefined || isHierarchy) return standard();
    const given = mapInput(
      child.definition.name as never,
      {
        input: textInput(run),
        results: resultsOf(thread),
        state: thread.state.values(),
      } as never,
    );
    const take = (value: unknown) => {
      record('mapInput', { child: child.definition.name, input: value });
      return value === undefined ? standard() : toRunInput(child, value);
    };
    return given instanceof Promise ? given.then(take) : take(given);
  }

  /** The text given to the parent; in an order of children, the output of the one before. */
  function defaultInput(run: RunRecord): unknown {
    const passesOn = pattern === 'sequential' || pattern === 'loop';
    if (!passesOn || crew.last === undefined) return run.input;
    if (!crew.last.ok) return `${crew.last.name} failed: ${String(crew.last.end.data.message ?? crew.last.end.reason)}`;
    const { result } = crew.last.end.data;
    return result ?? '';
  }

  function checkInput(job: Job, input: RunInput): void {
    job.input = input;
    const faults = inputFaults(agent.children[job.index] as CompiledAgent, input);
    const go = (list: string[]) =>
      list.length > 0
        ? refuse(job, { code: 'INVALID_INPUT', message: `the input does not fit: ${list.join('; ')}` })
        : launch(job);
    if (!(faults instanceof Promise)) return go(faults);
    enter(tree);
    void faults.then(go).finally(() => leave(tree));
  }

  function launch(job: Job): void {
    starting--;
    if (isStopping || job.isCancelled || thread.run?.stop !== undefined) {
      return settle(
        job,
        outcomeOf(job, { reason: 'aborted', data: { reason: 'the parent is being stopped', by: 'host' } }),
      );
    }
    const compiled = agent.children[job.index] as CompiledAgent;
    const { name } = compiled.definition;
    const threadId = childThreadId(thread.threadId, name, ++thread.spawned);
    if (pattern === 'transfer') publishTransfer(thread, name);
    const child = createThread(tree, thread, compiled, threadId, job.index);
    child.endsSession = true;
    if (tree.hasState) child.state = thread.state.fork();
    job.thread = child;
    jobs.set(child.address, job);
    if (job.requestId !== undefined) child.projectsTo = { thread, requestId: job.requestId };
    const started: AgentEventDraft<'agent_started'> = {
      type: 'agent_started',
      agentName: name,
      threadId,
      source: 'host',
    };
    if (thread.threadId !== undefined) started.parentThreadId = thread.threadId;
    if (job.restartOf !== undefined) started._meta = { restartOf: job.restartOf };
    publish(child, started);
    child.actor = pool.spawn(child.address, tree.host.sessionLogic, {
      address: child.address,
      oneRun: true,
      behaviour: compiled.behaviour,
      leads: compiled.behaviour === 'turn' && compiled.plan !== null,
      plan: compiled.plan,
    });
    publishInitialize(child);
    let role: 'user' | 'developer' = 'user';
    let input = job.input as RunInput;
    if (pattern === 'transfer') {
      const context = nextContext(thread, child, input);
      child.history.preload(context.messages);
      child.preloaded = context.messages.length;
      role = context.role;
      input = context.input;
      child.executor = crew.prepared.get(job.index);
      crew.prepared.delete(job.index);
    }
    beginRun(child, input, { role });
  }

  /** A child that never came to be. */
  function refuse(job: Job, fault: { code: string; message: string }): void {
    starting--;
    const { name } = (agent.children[job.index] as CompiledAgent).definition;
    const message = `${name}: ${fault.message}`;
    publish(thread, { type: 'error', code: fault.code, message, fatal: false });
    settle(job, outcomeOf(job, { reason: 'failed', data: { code: fault.code, message } }));
  }

  function outcomeOf(job: Job, end: RunEnd): ChildOutcome {
    const child = job.thread;
    return {
      name: (agent.children[job.index] as CompiledAgent).definition.name,
      index: job.index,
      end,
      ok: end.reason === 'completed',
      updates: child === undefined || !tree.hasState ? [] : child.state.updates(),
      // Only a conversation is read from a thread that has ended.
      thread: pattern === 'transfer' ? child : undefined,
    };
  }

  function childEnded(address: string, _output: unknown, error: unknown): void {
    const job = jobs.get(address);
    const child = job?.thread;
    if (job === undefined || child === undefined) return;
    jobs.delete(address);
    if (child.end === undefined) endBroken(child, error);
    const outcome = outcomeOf(job, child.end as RunEnd);
    publishCompleted(child, outcome);
    forget(child);
    const restart = job.isRecalled
      ? { delayMs: 0 }
      : isStopping || job.isCancelled
        ? undefined
        : restartAfter(thread, child, job.restarts, outcome, crew.live);
    if (restart !== undefined) return startAgain(job, child, restart);
    settle(job, outcome);
  }

  function startAgain(job: Job, child: Thread, restart: { delayMs: number; recall?: readonly Thread[] }): void {
    job.restarts.push(tree.host.clock.now());
    job.restartOf = child.threadId;
    job.thread = undefined;
    job.isRecalled = false;
    for (const other of restart.recall ?? []) {
      const theirs = jobs.get(other.address);
      if (theirs === undefined) continue;
      theirs.isRecalled = true;
      stopRun(other, abortStop('restarted with a sibling', 'host'));
    }
    const again = () => {
      job.cancelDelay = undefined;
      jobs.delete(key);
      if (isStopping || job.isCancelled) {
        settle(job, outcomeOf(job, { reason: 'aborted', data: { reason: 'stopped before its restart', by: 'host' } }));
      } else {
        starting++;
        launch(job);
      }
      leave(tree);
    };
    // Holds its place while it waits.
    const key = `restart:${child.address}`;
    jobs.set(key, job);
    enter(tree);
    if (restart.delayMs <= 0) queueMicrotask(again);
    else {
      const cancel = tree.host.clock.schedule(again, restart.delayMs);
      job.cancelDelay = () => {
        cancel();
        again();
      };
    }
  }

  function settle(job: Job, outcome: ChildOutcome): void {
    noteOutcome(thread, crew, outcome, job.requestId !== undefined);
    if (job.requestId !== undefined) {
      const answer = crew.delegations.get(job.requestId);
      crew.delegations.delete(job.requestId);
      answer?.(outcome);
    }
    pump();
    if (!isStopping) {
      const { handoffTarget } = outcome.end.data;
      const handoff =
        outcome.ok && handoffTarget !== undefined
          ? agent.children.findIndex((child) => child.definition.name === handoffTarget)
          : -1;
      pool.report({
        type: 'child.settled',
        index: job.index,
        ok: outcome.ok,
        escalated: outcome.end.data.escalateReason !== undefined,
        handoff,
      } as never);
    }
    sayStopped();
  }

  function sayStopped(): void {
    if (!isStopping || saysStopped || jobs.size + starting > 0) return;
    saysStopped = true;
    pool.report({ type: 'crew.stopped' });
  }

  function stopAll(): void {
    isStopping = true;
    queue.length = 0;
    inOrderUntil = nextInOrder;
    const stop = thread.run?.stop;
    const reason = stop?.data.reason ?? stop?.reason ?? 'a sibling ended the work';
    const by = stop?.data.by ?? 'host';
    const all = [...jobs.values()];
    let at = 0;
    const slice = () => {
      const sliceEnd = performance.now() + SLICE_MS;
      for (; at < all.length; at++) {
        const job = all[at] as Job;
        job.isCancelled = true;
        job.cancelDelay?.();
        if (job.thread !== undefined) stopRun(job.thread, abortStop(reason, by));
        if (performance.now() > sliceEnd && at + 1 < all.length) {
          at++;
          setImmediate(slice);
          return;
        }
      }
      sayStopped();
    };
    slice();
  }

  /** What user code decided is kept, so that a later reading of the log need not ask again. */
  function record(decision: string, data: Record<string, unknown>): void {
    tree.merge.record(thread, { type: 'custom', kind: 'decision', data: { decision, ...data }, source: 'host' });
  }

  function announce(iteration: number): void {
    crew.iteration = iteration;
    publish(thread, { type: 'loop_iteration', iteration, maxIterations: plan.maxIterations });
  }

  async function decide(iteration: number): Promise<void> {
    enter(tree);
    let stop = false;
    try {
      const until = agent.definition.behaviour?.until;
      const context = { state: thread.state.values(), last: crew.last?.end.data.result, iteration };
      stop = (await until?.(context as never)) === true;
      record('until', { iteration, stop });
      pool.report({ type: 'crew.decided', stop } as never);
    } catch (thrown) {
      const { code, message } = describeError(thrown, 'UNTIL_FAILED');
      publish(thread, { type: 'error', code, message: `until: ${message}`, fatal: false });
      const run = thread.run as RunRecord;
      run.stop ??= { reason: 'failed', data: { code, message: `until: ${message}` } };
      pool.report({ type: 'crew.decided', stop: true } as never);
    } finally {
      leave(tree);
    }
  }

  return {
    order(order) {
      switch (order.type) {
        case 'crew.start':
          if (order.iteration !== undefined && order.index === 0) announce(order.iteration);
          begin(newJob(order.index >= 0 ? order.index : startMember(thread, crew)));
          break;
        case 'crew.startAll':
          inOrderUntil = plan.count;
          pump();
          break;
        case 'crew.delegate': {
          const job = newJob(order.index, order.requestId);
          job.input = toRunInput(agent.children[order.index] as CompiledAgent, order.input);
          queue.push(job);
          pump();
          break;
        }
        case 'crew.cancel':
          cancel(order.requestId);
          break;
        case 'crew.decide':
          void decide(order.iteration);
          break;
        case 'crew.stop':
          stopAll();
          break;
        case 'crew.conclude':
          concludeRun(thread, crew, order.conclusion, (reason, endsSession) =>
            pool.report({ type: 'crew.concluded', reason, endsSession } as never),
          );
          break;
        default:
      }
    },
    childEnded,
    dispose() {
      isStopping = true;
      for (const job of jobs.values()) job.cancelDelay?.();
    },
  };

  function cancel(requestId: string): void {
    const waiting = queue.findIndex((job) => job.requestId === requestId);
    if (waiting >= 0) {
      const [job] = queue.splice(waiting, 1) as [Job];
      return settle(job, outcomeOf(job, { reason: 'aborted', data: { by: 'host' } }));
    }
    for (const job of jobs.values()) {
      if (job.requestId !== requestId) continue;
      job.isCancelled = true;
      job.cancelDelay?.();
      if (job.thread !== undefined) {
        stopRun(job.thread, thread.run?.stop ?? abortStop('the call was cancelled', 'host'));
      }
    }
  }
}

/** The member that a new message goes to. */
function startMember(thread: Thread, crew: CrewState): number {
  if (crew.activeMember >= 0) return crew.activeMember;
  const { start } = thread.agent.descriptor.composition ?? {};
  return Math.max(
    0,
    thread.agent.children.findIndex((child) => child.definition.name === start),
  );
}

/** Text where the input is the default one, as `mapInput` and children see it. */
function textInput(run: RunRecord): unknown {
  const { input } = run;
  const { prompt } = (input ?? {}) as { prompt?: unknown };
  return typeof prompt === 'string' && Object.keys(input as object).length === 1 ? prompt : input;
}

/** An actor that broke without ending its run: the host ends it in its place. */
function endBroken(child: Thread, error: unknown): void {
  const { code, message } = describeError(error ?? 'the session broke', 'INTERNAL');
  child.tree.merge.completeMessage(child, true);
  publish(child, { type: 'error', code, message, fatal: true });
  const data: StreamEndData = { code, message };
  child.run = undefined;
  child.end = { reason: 'failed', data };
  publish(child, { type: 'stream_end', reason: 'failed', data });
}

function publishCompleted(child: Thread, outcome: ChildOutcome): void {
  const { end, name } = outcome;
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
  if (outcome.updates.length > 0) event.stateDelta = child.state.delta();
  publish(child, event);
}

function forget(child: Thread): void {
  child.hasEnded = true;
  child.tree.host.threads.delete(child.address);
  child.parent?.children?.delete(child);
  closeExecutor(child);
}
