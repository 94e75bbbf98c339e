import type { AnyActorRef } from 'xstate';
import type { Pool, PoolEffect } from '../../machines/child-pool.logic.js';
import type { AgentEventDraft } from '../contracts/index.js';
import type { CrewOrder, CrewPlan } from '../kernel/crew.js';
import { isDefaultInputSchema } from '../kernel/schema.js';
import { childThreadId } from '../kernel/thread-id.js';
import { breakOff, forget, publishCompleted } from './child-end.js';
import { type ChildInput, childInput, isThenable, recordDecision } from './child-input.js';
import { concludeRun, noteOutcome } from './conclude.js';
import { type ChildOutcome, type CrewState, newCrewState } from './crew-state.js';
import { abortStop, stopRun } from './end-run.js';
import { publishFault } from './fault.js';
import { decideEdges } from './graph-edges.js';
import { graphInput } from './graph-input.js';
import { newGraphState } from './graph-state.js';
import { noteBlocked } from './outside-wait.js';
import type { ThreadPast } from './recovery/past.js';
import { givePast, resumeRun } from './recovery/rebuild.js';
import { inputOf } from './recovery/run-input.js';
import { admitAtOnce, beginRun, publishInitialize, type RunInput } from './run-start.js';
import { createThread, enter, leave, publish } from './session-tree.js';
import { restartAfter } from './supervision.js';
import type { CompiledAgent, RunEnd, Thread } from './thread.js';
import { activate, giveContext, handoffOf, memberStart } from './transfer-context.js';

/** One spawn that is asked for, until it has settled for good. */
interface Job {
  readonly index: number;
  /** A tool call that it answers. */
  readonly requestId: string | undefined;
  /** Of a graph: the nodes that lead to it. */
  readonly from: readonly number[] | undefined;
  /** Of a graph: commits of the state that it has seen. */
  since: number;
  /** That call's arguments. */
  readonly args: { readonly value: unknown; readonly requestId: string } | undefined;
  /** Kept for restarts. */
  input: ChildInput | undefined;
  /** Its place among all children, kept for it while its input is made; 0: none is kept. */
  ordinal: number;
  thread: Thread | undefined;
  restartOf: string | undefined;
  /** The child that it had before the process ended, and that is still to be given its input. */
  past: ThreadPast | undefined;
  isCancelled: boolean;
  cancelDelay: (() => void) | undefined;
  /** It is to start again once it has settled, for a sibling's sake. */
  isRecalled: boolean;
}

/** Why a child is stopped that starts again with a sibling. */
const RECALLED = 'restarted with a sibling';
const isRecall = ({ reason, data }: RunEnd) => reason === 'aborted' && data.by === 'host' && data.reason === RECALLED;

/** Longest stretch of starting or stopping children before the event loop has its turn. */
const SLICE_MS = 2;

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
    crew.best = undefined;
    crew.firstFailure = undefined;
    crew.transfers = 0;
    crew.restarts = undefined;
    crew.blocked = undefined;
    crew.graph = plan.graph === null ? undefined : newGraphState();
  }
  const jobs = new Map<string, Job>();
  /** Their input is being made. */
  const preparing = new Set<Job>();
  const queue: Job[] = [];
  let nextInOrder = 0;
  let inOrderUntil = 0;
  let isStopping = false;
  let saysStopped = false;
  /** There is nobody any more to report to. */
  let isOver = false;
  let isPumping = false;
  let isPumpPlanned = false;
  /** 0: nothing was started since the event loop had its turn. */
  let sliceEnd = 0;
  let isHeld = false;
  /** The consumer is behind. */
  let isFull = false;
  /** Children of a parallel that were started before the process ended. */
  let rejoined: Set<number> | undefined;
  /** Children that had ended before the process did, until it is their turn to settle. */
  let hasEndedBefore: Map<ThreadPast, () => void> | undefined;
  const isHierarchy = agent.behaviour === 'turn';

  const live = () => [...jobs.values()].flatMap((job) => (job.thread === undefined ? [] : [job.thread]));
  const places = () => jobs.size + preparing.size + (isHeld || isFull ? 1 : 0);
  crew.isStopping = false;
  crew.live = live;
  crew.places = places;
  crew.pump = pump;

  const hasMore = () => queue.length > 0 || nextInOrder < inOrderUntil;
  const hasRoom = () => jobs.size + preparing.size - (crew.blocked?.size ?? 0) < plan.concurrency;

  function newJob(index: number, call?: { requestId: string; input: unknown }, from?: readonly number[]): Job {
    return {
      index,
      from,
      since: 0,
      requestId: call?.requestId,
      args: call === undefined ? undefined : { value: call.input, requestId: call.requestId },
      input: undefined,
      ordinal: 0,
      thread: undefined,
      restartOf: undefined,
      past: undefined,
      isCancelled: false,
      cancelDelay: undefined,
      isRecalled: false,
    };
  }

  /** Starts what waits, within the concurrency, a slice at a time. */
  function pump(): void {
    if (isPumping || isHeld || isFull) return;
    isPumping = true;
    while (!isStopping && !isFull && hasMore() && hasRoom()) {
      if (isSliceOver()) {
        isHeld = true;
        enter(tree);
        break;
      }
      const job = queue.shift() ?? newJob(nextInOrder++);
      if (job.requestId !== undefined || rejoined?.has(job.index) !== true) begin(job);
    }
    isPumping = false;
  }

  /** Children that end at once make room at once: without slices their parent would never let go of the event loop. */
  function isSliceOver(): boolean {
    const now = performance.now();
    if (sliceEnd > 0) return now > sliceEnd;
    sliceEnd = now + SLICE_MS;
    setImmediate(() => {
      sliceEnd = 0;
      if (!isHeld) return;
      isHeld = false;
      pump();
      leave(tree);
    });
    return false;
  }

  function begin(job: Job): void {
    const before = thread.past?.takeChild(job.index, job.requestId);
    if (before !== undefined) return rejoin(job, before);
    prepare(job);
  }

  function prepare(job: Job): void {
    preparing.add(job);
    // Inputs may take their time: threads are counted in the order in which they were asked for.
    if (job.past === undefined) job.ordinal = ++thread.spawned;
    const child = agent.children[job.index] as CompiledAgent;
    const fail = (thrown: unknown) => refuse(job, thrown, 'MAP_INPUT_FAILED');
    try {
      const input = childInput(thread, crew, child, job.args, job.from);
      if (!isThenable(input)) return checkInput(job, input);
      enter(tree);
      void input.then((ready) => checkInput(job, ready), fail).finally(() => leave(tree));
    } catch (thrown) {
      fail(thrown);
    }
  }

  function checkInput(job: Job, input: ChildInput): void {
    job.input = input;
    const child = agent.children[job.index] as CompiledAgent;
    // Whoever takes text takes anything: data reaches it as JSON.
    if (isDefaultInputSchema(child.descriptor.inputSchema)) return launch(job);
    const fail = (thrown: unknown) => refuse(job, thrown, 'INVALID_INPUT');
    try {
      const admitted = admitAtOnce(child, input);
      const go = (ready: RunInput) => {
        job.input = input.isMapped && ready !== input ? { ...ready, isMapped: true } : ready;
        launch(job);
      };
      if (!(admitted instanceof Promise)) return go(admitted);
      enter(tree);
      void admitted.then(go, fail).finally(() => leave(tree));
    } catch (thrown) {
      fail(thrown);
    }
  }

  function launch(job: Job): void {
    if (!preparing.has(job)) return;
    if (isStopping || job.isCancelled || thread.run?.stop !== undefined) return abandon(job);
    let start: ReturnType<typeof memberStart> | undefined;
    try {
      if (pattern === 'transfer') start = memberStart(thread, crew, job.input as ChildInput);
    } catch (thrown) {
      return refuse(job, thrown, 'CONTEXT_FAILED');
    }
    preparing.delete(job);
    const compiled = agent.children[job.index] as CompiledAgent;
    const { name } = compiled.definition;
    const { past } = job;
    // It was for this start: what starts again after it is another thread.
    job.past = undefined;
    const threadId = past?.threadId ?? childThreadId(thread.threadId, name, job.ordinal || ++thread.spawned);
    job.ordinal = 0;
    const child = newChild(job, compiled, threadId);
    if (past === undefined) announceChild(job, child, threadId);
    else givePast(child, past);
    child.actor = spawn(child);
    if (crew.prepared?.index === job.index && start !== undefined) {
      crew.prepared.give(child);
      crew.prepared = undefined;
    }
    if (past?.isInitialized !== true) publishInitialize(child);
    if (start === undefined) {
      // A composition that a conversation was handed over to speaks through its children.
      if (!isHierarchy && thread.preloaded > 0)
        giveContext(child, thread.history.messages().slice(0, thread.preloaded));
      beginRun(child, job.input as ChildInput);
    } else {
      activate(thread, crew, child, start);
      beginRun(child, start.input, { role: start.role });
    }
    if (thread.parent?.crew?.blocked?.has(thread)) noteBlocked(thread);
  }

  /** In the place of its job, without an actor. */
  function newChild(job: Job, compiled: CompiledAgent, threadId: string): Thread {
    const child = createThread(tree, thread, compiled, threadId, job.index);
    child.endsSession = true;
    if (tree.hasState) child.state = thread.state.fork();
    job.thread = child;
    job.since = crew.graph?.commits ?? 0;
    jobs.set(child.address, job);
    // What a composition's children say, it says to whoever called it.
    if (job.requestId !== undefined) child.projectsTo = { thread, requestId: job.requestId };
    else if (!isHierarchy) child.projectsTo = thread.projectsTo;
    return child;
  }

  function announceChild(job: Job, child: Thread, threadId: string): void {
    const started: AgentEventDraft<'agent_started'> = {
      type: 'agent_started',
      agentName: child.agent.definition.name,
      threadId,
      source: 'host',
    };
    if (thread.threadId !== undefined) started.parentThreadId = thread.threadId;
    if (job.restartOf !== undefined) started._meta = { restartOf: job.restartOf };
    else if (job.requestId !== undefined) started._meta = { requestId: job.requestId };
    const full = publish(child, started);
    if (full === undefined || isFull) return;
    isFull = true;
    enter(tree);
    void full.then(() => {
      isFull = false;
      pump();
      leave(tree);
    });
  }

  function spawn({ address, agent: compiled }: Thread): AnyActorRef {
    return pool.spawn(address, tree.host.sessionLogic, {
      address,
      oneRun: true,
      behaviour: compiled.behaviour,
      leads: compiled.behaviour === 'turn' && compiled.plan !== null,
      plan: compiled.plan,
    });
  }

  /** A child from before the process ended: what it had come to counts, and it goes on from there. */
  function rejoin(job: Job, past: ThreadPast): void {
    past.isBack = true;
    const { name } = past.agent.definition;
    const isFirst = job.restartOf === undefined && past.input !== undefined;
    const mapped = isFirst ? thread.past?.takeMapped(name, job.requestId) : undefined;
    if (past.input === undefined && past.end === undefined) {
      job.past = past;
      if (isStopping) return abandon(job);
      if (job.input === undefined) return prepare(job);
      preparing.add(job);
      return launch(job);
    }
    const child = newChild(job, past.agent, past.threadId as string);
    givePast(child, past);
    if (past.input !== undefined) {
      const { content } = past.input;
      job.input = { content, value: inputOf(past.agent, past.input) };
    }
    if (crew.graph !== undefined) crew.graph.given[job.index] = givenBefore(job, past, mapped);
    if (past.end !== undefined) {
      child.end = past.end;
      return inTurn(job, past, () => hasEnded(job, child, past));
    }
    child.actor = spawn(child);
    if (pattern === 'transfer') {
      activate(thread, crew, child, startAgainOf(job.input as ChildInput), 'again');
    } else if (!isHierarchy && thread.preloaded > 0) {
      giveContext(child, thread.history.messages().slice(0, thread.preloaded));
    }
    resumeRun(child, past);
    if (isStopping) stopJob(job);
  }

  /** What a member had of the conversation. A filter that throws now let nothing through. */
  function startAgainOf(input: ChildInput): ReturnType<typeof memberStart> {
    try {
      return memberStart(thread, crew, input);
    } catch (thrown) {
      publishFault(thread, 'the context', thrown, 'CONTEXT_FAILED');
      return { messages: [], input, role: 'user' };
    }
  }

  /** What had ended before settles in the order in which it had: what comes of it depends on that. */
  function inTurn({ requestId }: Job, past: ThreadPast, settleNow: () => void): void {
    const order = thread.past?.settled;
    if (requestId !== undefined || order === undefined || tree.recovery?.isHeld !== true) return settleNow();
    if (past.settledAt === undefined) return tree.recovery.onBegin(settleNow);
    if (hasEndedBefore === undefined) {
      hasEndedBefore = new Map();
      tree.recovery.onBegin(settleAllBefore);
    }
    hasEndedBefore.set(past, settleNow);
    for (let next = order[0]; next !== undefined && hasEndedBefore.has(next); next = order[0]) {
      const settleNext = hasEndedBefore.get(next);
      hasEndedBefore.delete(next);
      order.shift();
      settleNext?.();
    }
  }

  /** Nothing waits for a child any more that the definition, as it is by now, has not started. */
  function settleAllBefore(): void {
    const left = [...(hasEndedBefore?.values() ?? [])];
    hasEndedBefore = undefined;
    for (const settleNow of left) settleNow();
  }

  /** Of a graph: what a node was given, as its function sees it. */
  function givenBefore(job: Job, past: ThreadPast, mapped: { readonly input?: unknown } | undefined): unknown {
    if (mapped?.input !== undefined) return mapped.input;
    return graphInput(thread, crew, past.agent, job.from ?? []).given;
  }

  /** All that were started. */
  function rejoinAll(past: ThreadPast): void {
    const first = past.children.filter((child) => child.restartOf === undefined);
    rejoined = new Set(first.map(({ index }) => index));
    for (const { index } of first) begin(newJob(index));
  }

  /** A child that never came to be. */
  function refuse(job: Job, thrown: unknown, code: string): void {
    if (!preparing.delete(job)) return;
    const { name } = (agent.children[job.index] as CompiledAgent).definition;
    neverBegan(job, { reason: 'failed', data: publishFault(thread, name, thrown, code) });
  }

  /** The same for one that nobody waits for any more. */
  function abandon(job: Job): void {
    preparing.delete(job);
    neverBegan(job, { reason: 'aborted', data: { reason: 'stopped before it began', by: 'host' } });
  }

  function neverBegan(job: Job, end: RunEnd): void {
    const { past } = job;
    // Its place is free again, unless others are counted behind it.
    if (job.ordinal > 0 && job.ordinal === thread.spawned) thread.spawned--;
    job.ordinal = 0;
    if (past !== undefined) {
      // Its start was told before the process ended: so is its end.
      const child = newChild(job, past.agent, past.threadId as string);
      givePast(child, past);
      if (!past.isInitialized) publishInitialize(child);
      child.end = end;
      publish(child, { type: 'stream_end', ...end });
      publishCompleted(child, past.agent.definition.name, end, []);
      jobs.delete(child.address);
      forget(child);
    }
    settle(job, outcomeOf(job, end));
  }

  function outcomeOf(job: Job, end: RunEnd): ChildOutcome {
    const child = job.thread;
    return {
      name: (agent.children[job.index] as CompiledAgent).definition.name,
      index: job.index,
      end,
      ok: end.reason === 'completed',
      updates: child === undefined || !tree.hasState ? [] : child.state.updates(),
      since: job.since,
      // Only a conversation is read from a thread that has ended.
      thread: pattern === 'transfer' ? child : undefined,
    };
  }

  function childEnded(address: string, _output: unknown, error: unknown): void {
    const job = jobs.get(address);
    const child = job?.thread;
    if (job === undefined || child === undefined) return;
    if (child.end === undefined) breakOff(child, error);
    hasEnded(job, child, undefined);
  }

  /** `past`: it had ended before the process did. */
  function hasEnded(job: Job, child: Thread, past: ThreadPast | undefined): void {
    jobs.delete(child.address);
    const outcome = outcomeOf(job, child.end as RunEnd);
    if (past?.settledAt === undefined) publishCompleted(child, outcome.name, outcome.end, outcome.updates);
    forget(child);
    if (crew.blocked !== undefined) {
      crew.blocked.delete(child);
      noteBlocked(thread);
    }
    const at = past?.settledAt ?? tree.host.clock.now();
    const again = past === undefined ? undefined : thread.past?.takeRestart(past);
    if (again !== undefined && !again.isBack) {
      if (!isRecall(outcome.end)) noteRestart(job, at);
      job.restartOf = child.threadId;
      job.thread = undefined;
      return rejoin(job, again);
    }
    if (past !== undefined) job.isRecalled = isRecall(outcome.end);
    const restart = isStopping || job.isCancelled ? undefined : restartOf(job, child, outcome, at);
    if (restart === undefined) settle(job, outcome);
    else startAgain(job, child, restart);
  }

  /** `at`: when it ended, epoch ms. */
  function restartOf(job: Job, child: Thread, outcome: ChildOutcome, at: number): { delayMs: number } | undefined {
    // What has finished, or has done something, is not run again for a sibling's sake.
    if (job.isRecalled) return outcome.ok || child.hadSideEffects ? undefined : { delayMs: 0 };
    const before = crew.restarts?.get(job.index) ?? [];
    const restart = restartAfter(thread, child, before, outcome, { at, live: crew.live });
    if (restart === undefined) return undefined;
    noteRestart(job, at);
    for (const other of restart.recall) {
      const theirs = jobs.get(other.address);
      if (theirs !== undefined) theirs.isRecalled = true;
      stopRun(other, abortStop(RECALLED, 'host'));
    }
    return restart;
  }

  function noteRestart({ index }: Job, at: number): void {
    crew.restarts ??= new Map();
    crew.restarts.set(index, [...(crew.restarts.get(index) ?? []), at]);
  }

  function startAgain(job: Job, child: Thread, restart: { delayMs: number }): void {
    job.restartOf = child.threadId;
    job.thread = undefined;
    job.isRecalled = false;
    const again = () => {
      job.cancelDelay = undefined;
      jobs.delete(key);
      preparing.add(job);
      launch(job);
      leave(tree);
    };
    // Holds its place while it waits.
    const key = `restart:${child.address}`;
    jobs.set(key, job);
    enter(tree);
    if (restart.delayMs <= 0) queueMicrotask(again);
    else {
      const cancel = tree.host.clock.schedule(again, restart.delayMs);
      const cancelDelay = () => {
        cancel();
        again();
      };
      job.cancelDelay = cancelDelay;
    }
  }

  function settle(job: Job, given: ChildOutcome): void {
    const outcome = job.requestId === undefined ? noteOutcome(thread, crew, given) : given;
    if (job.requestId !== undefined) {
      const answer = crew.delegations.get(job.requestId);
      crew.delegations.delete(job.requestId);
      answer?.(outcome);
    }
    // Not at once: its end may be that of the whole.
    if (hasMore() && !isPumpPlanned) {
      isPumpPlanned = true;
      queueMicrotask(() => {
        isPumpPlanned = false;
        pump();
      });
    }
    if (!isStopping) {
      pool.report({
        type: 'child.settled',
        index: job.index,
        ok: outcome.ok,
        escalated: plan.inLoop && outcome.end.data.escalateReason !== undefined,
        handoff: pattern === 'transfer' ? handoffOf(thread, crew, outcome) : -1,
      } as never);
    }
    sayStopped();
  }

  function sayStopped(): void {
    if (!isStopping || saysStopped || isOver || jobs.size + preparing.size > 0) return;
    saysStopped = true;
    pool.report({ type: 'crew.stopped' });
  }

  function stopAll(): void {
    isStopping = true;
    crew.isStopping = true;
    queue.length = 0;
    inOrderUntil = nextInOrder;
    for (const job of [...preparing]) abandon(job);
    rejoinLeft();
    const all = [...jobs.values()];
    let at = 0;
    const slice = () => {
      const sliceEnd = performance.now() + SLICE_MS;
      for (; at < all.length; at++) {
        stopJob(all[at] as Job);
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

  function stopJob(job: Job): void {
    job.isCancelled = true;
    job.cancelDelay?.();
    const stop = thread.run?.stop;
    const reason = stop?.data.reason ?? stop?.reason ?? 'a sibling ended the work';
    if (job.thread !== undefined) stopRun(job.thread, abortStop(reason, stop?.data.by ?? 'host'));
  }

  /** Children from before the process ended that the composition has not come to again: they end before it. */
  function rejoinLeft(): void {
    for (const past of thread.past?.children ?? []) {
      if (past.isBack || past.settledAt !== undefined) continue;
      const job = newJob(past.index);
      job.restartOf = past.restartOf;
      rejoin(job, past);
    }
  }

  function announce(iteration: number): void {
    crew.iteration = iteration;
    if (thread.past !== undefined && iteration <= thread.past.iterations) return;
    publish(thread, { type: 'loop_iteration', iteration, maxIterations: plan.maxIterations });
  }

  async function decide(iteration: number): Promise<void> {
    const decided = thread.past?.untils.get(iteration);
    if (decided !== undefined) return pool.report({ type: 'crew.decided', stop: decided } as never);
    enter(tree);
    let stop = true;
    try {
      const until = agent.definition.behaviour?.until;
      const context = { state: thread.state.values(), last: crew.last?.end.data.result, iteration };
      stop = Boolean(await until?.(context as never));
      if (!isOver) recordDecision(thread, 'until', { iteration, stop });
    } catch (thrown) {
      // The run may have ended while it was asked, and another have begun.
      if (!isOver && thread.run !== undefined) {
        thread.run.stop ??= { reason: 'failed', data: publishFault(thread, 'until', thrown, 'UNTIL_FAILED') };
      }
    }
    if (!isOver) pool.report({ type: 'crew.decided', stop } as never);
    leave(tree);
  }

  return {
    order(order) {
      switch (order.type) {
        case 'crew.start':
          if (order.iteration !== undefined && order.index === 0) announce(order.iteration);
          begin(newJob(order.index >= 0 ? order.index : startMember(thread, crew), undefined, order.from));
          break;
        case 'crew.startAll':
          inOrderUntil = plan.count;
          if (thread.past !== undefined) rejoinAll(thread.past);
          pump();
          break;
        case 'crew.delegate': {
          queue.push(newJob(order.index, order));
          pump();
          break;
        }
        case 'crew.cancel':
          cancel(order.requestId);
          break;
        case 'crew.decide':
          void decide(order.iteration);
          break;
        case 'crew.decideEdges':
          enter(tree);
          void decideEdges(thread, crew, order.index, () => isOver).then((decided) => {
            if (!isOver) pool.report(decided as never);
            leave(tree);
          });
          break;
        case 'crew.leave':
          leaveBehind(order.indexes);
          break;
        case 'crew.stop':
          stopAll();
          break;
        case 'crew.conclude':
          concludeRun(thread, crew, order, (reason, endsSession) =>
            pool.report({ type: 'crew.concluded', reason, endsSession } as never),
          );
          break;
        default:
      }
    },
    childEnded,
    dispose() {
      isStopping = true;
      isOver = true;
      for (const job of jobs.values()) job.cancelDelay?.();
    },
  };

  function cancel(requestId: string): void {
    const isMeant = (job: Job) => job.requestId === requestId;
    const waiting = queue.findIndex(isMeant);
    if (waiting >= 0) return abandon(queue.splice(waiting, 1)[0] as Job);
    for (const job of preparing) if (isMeant(job)) return abandon(job);
    for (const job of jobs.values()) if (isMeant(job)) cancelJob(job, 'the call was cancelled');
  }

  /** A join began with another: what was on its way there is not waited for. */
  function leaveBehind(indexes: readonly number[]): void {
    for (const job of [...preparing]) if (indexes.includes(job.index)) abandon(job);
    for (const job of [...jobs.values()]) if (indexes.includes(job.index)) cancelJob(job, 'another way was faster');
  }

  function cancelJob(job: Job, why: string): void {
    job.isCancelled = true;
    job.cancelDelay?.();
    const stop = thread.run?.stop;
    const reason = stop === undefined ? why : (stop.data.reason ?? stop.reason);
    if (job.thread !== undefined) stopRun(job.thread, abortStop(reason, stop?.data.by ?? 'host'));
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
