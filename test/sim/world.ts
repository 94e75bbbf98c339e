import type { AgentDefinition, AgentEvent, SessionProvider, ToolContext } from '../../src/contracts/index.js';
import { agent, createHost, type Host, memoryStore, type Run, TroupeError } from '../../src/index.js';
import { shortHash } from '../../src/kernel/text.js';
import { fileStore } from '../../src/stores/file.js';
import { scriptedModel } from '../../src/testing/index.js';
import { type VirtualFiles, virtualFiles } from '../support/virtual-files.js';
import { perform } from './acts.js';
import { type Answers, answerLater, answerOpen } from './answers.js';
import { findProblems } from './checks.js';
import { simFiles } from './disk.js';
import { hooksOf } from './hooks.js';
import { type Lines, simModel } from './model.js';
import { type Act, type Pick, type Plan, picker, planOf } from './plan.js';
import { installScheduler, type Scheduler, type SimProcess } from './scheduler.js';
import { simStore } from './store.js';
import { buildTeam } from './team.js';
import { lineFor } from './trace.js';

/** What all processes of a simulation have in common. */
export interface Shared {
  readonly trace: string[];
  /** What the consumer was given, in order, over all processes. */
  readonly seen: AgentEvent[];
  /** How often a tool began, by its name, its session, and the id of its request. */
  readonly began: Map<string, number>;
  /** Ids of events that were given to the consumer, and may have been cut off since. */
  readonly cut: Set<string>;
  /** What was said and must have been heard, or told to be lost. */
  readonly said: string[];
  /** It was stopped, and nothing can have come between. */
  mustAbort: boolean;
  hasDiedBehindAct: boolean;
  /** A rewind was asked for: what the log says has happened, has. */
  isRewound: boolean;
  readonly forks: string[];
  /** Crashes so far. */
  boots: number;
  /** Who holds which name on the machine. */
  readonly names: Map<string, SimProcess>;
  readonly problems: string[];
  readonly acts: Act[];
  /** Appends that reached the disk. */
  appends: number;
  storeFailed: boolean;
  isStoreMended: boolean;
}

/** One process, and what it can see of the world. */
export interface World {
  readonly plan: Plan;
  readonly pick: Pick;
  readonly shared: Shared;
  /** Time as the host sees it. */
  readonly life: SimProcess;
  /** The append that kills it; undefined: none does. */
  readonly crashAt: number | undefined;
  ownAppends: number;
  trace(line: string): void;
  /** Resolves later, or rejects when `signal` fires; never once the process is dead. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
  /** Runs once, unless the process is dead by then. */
  later(ms: number, task: () => void): void;
  began(tool: string, context: ToolContext, args: unknown): void;
  /** Requests that a hook has forbidden, in this process. */
  readonly forbidden: Set<string>;
  /** What a hook has put into the arguments of a request, in this process. */
  readonly marked: Map<string, number>;
  marks: number;
  /** What acts have set going. */
  readonly pending: Promise<void>[];
  /** The session was taken back in this process. */
  isRewound: boolean;
  /** It is being taken back to there. */
  rewindsTo: number | undefined;
  crash(where: string): void;
  /** The process ends as it should. */
  exit(): void;
  readonly crashed: Promise<'crashed'>;
}

export interface Simulation {
  readonly seed: number;
  readonly plan: Plan;
  /** What does not hold, in words; empty: all holds. */
  readonly problems: readonly string[];
  /** What happened, line by line; the same for the same seed. */
  readonly trace: readonly string[];
}

export const SESSION = 's';
const MOST_PROCESSES = 14;
const DIR = '/sessions';

/** One whole life of a team, as its seed decides, with everything that is held against it. */
export async function simulate(seed: number): Promise<Simulation> {
  const plan = planOf(seed);
  const pick = picker(seed ^ 0x5eed);
  const scheduler = installScheduler(picker(seed ^ 0x0de4).random);
  const shared: Shared = {
    trace: [],
    seen: [],
    began: new Map(),
    cut: new Set(),
    said: [],
    mustAbort: false,
    hasDiedBehindAct: false,
    isRewound: false,
    forks: [],
    boots: 0,
    names: new Map(),
    problems: [],
    acts: [...plan.acts],
    appends: 0,
    storeFailed: false,
    isStoreMended: false,
  };
  const onRejection = (reason: unknown) => shared.problems.push(`an unhandled rejection: ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  try {
    let isOver = false;
    const life = liveOn(scheduler, plan, pick, shared).then(
      () => {
        isOver = true;
      },
      (thrown: unknown) => {
        isOver = true;
        shared.problems.push(`thrown: ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
      },
    );
    if (await scheduler.drive(() => isOver)) await life;
    else shared.problems.push('it hangs: nothing is left to run, and the run has not ended');
    for (const from of scheduler.realTimers) shared.problems.push(`a timer of the wall clock was set ${from}`);
  } catch (thrown) {
    shared.problems.push(String(thrown));
  } finally {
    scheduler.restore();
    process.off('unhandledRejection', onRejection);
  }
  return { seed, plan, problems: shared.problems, trace: shared.trace };
}

/** What outlives the processes: what is in it, and what one of them sees of it. */
interface Lasting {
  /** As it is now, for whoever looks from outside. */
  look(): SessionProvider;
  openFor(world: World): SessionProvider & { letGo?(): void };
  afterCrash(): void;
}

function lastingMemory(): Lasting {
  const durable = memoryStore();
  return { look: () => durable, openFor: (world) => simStore(world, durable), afterCrash() {} };
}

function lastingFiles({ losesPower }: Plan): Lasting {
  let disk: VirtualFiles = virtualFiles();
  return {
    look: () => fileStore({ dir: DIR, files: { ...disk, boot: 'nobody' } }),
    openFor: (world) => fileStore({ dir: DIR, files: simFiles(world, disk) }),
    afterCrash() {
      if (losesPower) disk = disk.afterPowerLoss();
    },
  };
}

/** Process after process, until the run has ended and its log is whole; then the forks of it, one after the other. */
async function liveOn(scheduler: Scheduler, plan: Plan, pick: Pick, shared: Shared): Promise<void> {
  const lasting = plan.store === 'files' ? lastingFiles(plan) : lastingMemory();
  for (let index = 0; ; index++) {
    if (index === MOST_PROCESSES) throw new Error(`not over after ${MOST_PROCESSES} processes`);
    const isMended = shared.storeFailed;
    shared.isStoreMended ||= isMended;
    const world = createWorld(scheduler, plan, pick, shared, plan.crashes[index]);
    world.trace(`process ${index + 1}`);
    const store = lasting.openFor(world);
    const outcome = await live(world, store, SESSION);
    world.exit();
    store.letGo?.();
    if (outcome === 'crashed') {
      shared.boots++;
      lasting.afterCrash();
      noteRewind(world);
    }
    if (shared.isRewound) await recount(shared, lasting.look());
    if (outcome === 'crashed' || outcome === 'closed' || world.isRewound) continue;
    if (shared.storeFailed && !shared.isStoreMended) continue;
    shared.problems.push(...(await findProblems(plan, shared, lasting.look(), SESSION, outcome)));
    break;
  }
  for (const fork of shared.forks) {
    const world = createWorld(scheduler, plan, pick, { ...shared, acts: [], seen: [], isStoreMended: true }, undefined);
    world.trace(`fork ${shared.forks.indexOf(fork) + 1}`);
    const store = lasting.openFor(world);
    const outcome = await live(world, store, fork);
    world.exit();
    store.letGo?.();
    shared.problems.push(...(await findProblems(plan, shared, lasting.look(), fork, outcome)));
  }
}

/** It died, or its store failed, while the session was being taken back: that may have come to pass or not. */
export function noteRewind({ rewindsTo, shared }: World): void {
  if (rewindsTo === undefined) return;
  shared.isRewound = true;
  shared.mustAbort = false;
  shared.said.fill('');
  for (const { seq, id } of shared.seen) if (seq > rewindsTo) shared.cut.add(id);
}

/** A tool whose start was cut off with its past has not begun. */
async function recount(shared: Shared, durable: SessionProvider): Promise<void> {
  const started = new Map<string, number>();
  try {
    for await (const event of (await durable.load(SESSION)).events) {
      if (event.type !== 'custom' || event.kind !== 'tool_started') continue;
      const { requestId } = event.data as { requestId: string };
      started.set(requestId, (started.get(requestId) ?? 0) + 1);
    }
  } catch (thrown) {
    if (!(thrown instanceof TroupeError) || thrown.code !== 'SESSION_NOT_FOUND') throw thrown;
  }
  for (const [key, count] of shared.began) {
    const [, session, requestId = ''] = key.split(' ');
    if (session !== SESSION) continue;
    const left = Math.min(count, started.get(requestId) ?? 0);
    if (left > 0) shared.began.set(key, left);
    else shared.began.delete(key);
  }
}

function createWorld(scheduler: Scheduler, plan: Plan, pick: Pick, shared: Shared, crashAt: number | undefined): World {
  const life = scheduler.process();
  const outside = scheduler.process();
  let sayCrashed!: (said: 'crashed') => void;
  const crashed = new Promise<'crashed'>((resolve) => {
    sayCrashed = resolve;
  });
  // The ids of forks are drawn, and the ids of their questions are made of them.
  const named = (line: string) =>
    shared.forks.reduce(
      (said, id, at) => said.replaceAll(id, `fork ${at + 1}`).replaceAll(`-${shortHash(id)}`, `-fork ${at + 1}`),
      line,
    );
  const trace = (line: string) => void shared.trace.push(`${scheduler.now()} ${named(line)}`);
  return {
    plan,
    pick,
    shared,
    life,
    crashAt,
    ownAppends: 0,
    trace: (line) => {
      if (!life.isDead) trace(line);
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = () => {
          stop();
          reject(signal?.reason);
        };
        const stop = outside.schedule(() => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        }, ms);
        signal?.addEventListener('abort', onAbort, { once: true });
      });
    },
    later: (ms, task) => void outside.schedule(task, ms),
    forbidden: new Set(),
    marked: new Map(),
    marks: 0,
    pending: [],
    isRewound: false,
    rewindsTo: undefined,
    began(tool, { requestId, sessionId }, args) {
      if (life.isDead) return;
      const key = `${tool} ${sessionId} ${requestId}`;
      if (this.forbidden.has(requestId)) shared.problems.push(`${key} ran although a hook had forbidden it`);
      const mark = this.marked.get(requestId);
      if (mark !== undefined && (args as { mark?: unknown }).mark !== mark) {
        shared.problems.push(`${key} ran without what a hook had put into its arguments`);
      }
      shared.began.set(key, (shared.began.get(key) ?? 0) + 1);
      trace(`tool ${key}`);
    },
    exit() {
      life.kill();
      outside.kill();
    },
    crash(where) {
      trace(`crash ${where}`);
      life.kill();
      outside.kill();
      sayCrashed('crashed');
    },
    crashed,
  };
}

/** One process from its start to its end; resolves with the reason that the run ended with. */
async function live(world: World, store: SessionProvider, sessionId: string): Promise<string> {
  const { plan, life, crashed, shared } = world;
  const lines: Lines = new Map();
  const team = buildTeam(world, lines);
  const host = createHost({
    models: { scripted: simModel(world, lines), spare: simModel(world, lines) },
    prices: { scripted: PRICE, spare: PRICE },
    ...(plan.fallback !== undefined && { fallbacks: { models: ['spare'], consent: plan.fallback } }),
    hooks: hooksOf(world),
    store,
    clock: life,
    seed: 1,
    limits: plan.concurrency === undefined ? {} : { concurrency: plan.concurrency },
  });
  if (plan.concurrency !== undefined) await warmUp(host);
  const outcome = await Promise.race([crashed, play(world, host, team, sessionId).catch(closedEarly(shared))]);
  // What is done while one of them is waited for is waited for, too.
  for (let count = -1; count !== world.pending.length; ) {
    count = world.pending.length;
    if ((await Promise.race([crashed, Promise.all(world.pending)])) === 'crashed') return 'crashed';
  }
  if (outcome === 'crashed') return outcome;
  if ((await Promise.race([crashed, host.close()])) === 'crashed') return 'crashed';
  await Promise.resolve();
  if (life.pending > 0) shared.problems.push(`${life.pending} timers of the host are left`);
  return outcome;
}

/** In USD per million tokens: one answer costs at most half a cent. */
const PRICE = { input: 0, output: 1_000, maxOutputTokens: 5 };

/** The host was closed, or the disk was full, before the session was open: the next process makes it. */
const closedEarly =
  (shared: Shared) =>
  (thrown: unknown): string => {
    const code = thrown instanceof TroupeError ? thrown.code : undefined;
    if (code === 'HOST_CLOSED' || (code === 'STORE_FULL' && shared.storeFailed)) return 'closed';
    throw thrown;
  };

/** What a host loads when it is first needed is loaded here, where nothing waits for it. */
async function warmUp(host: Host): Promise<void> {
  const model = scriptedModel([{ text: 'warm' }]);
  await host.run(agent({ name: 'warm' }), 'go', { model, ephemeral: true }).result;
}

async function play(world: World, host: Host, team: AgentDefinition, sessionId: string): Promise<string> {
  const { shared } = world;
  const run = await begin(world, host, team, sessionId);
  const open: Answers = new Map();
  for (const act of [...shared.acts]) {
    world.later(act.atMs - world.life.now(), () => {
      shared.acts.splice(shared.acts.indexOf(act), 1);
      perform(world, host, run, act, open);
    });
  }
  answerOpen(world, run);
  for await (const event of run) {
    if (world.life.isDead) return 'crashed';
    if (world.isRewound) shared.cut.add(event.id);
    shared.seen.push(event);
    world.trace(`  ${lineFor(event)}`);
    answerLater(world, run, event, open);
    if (world.plan.readMs > 0) await world.sleep(world.pick.int(0, world.plan.readMs), undefined);
  }
  const { reason } = await run.result;
  world.trace(`ended ${reason}`);
  const { threads, pending } = run.state();
  if (threads.length > 1) shared.problems.push(`${threads.length - 1} threads are left after the end`);
  if (pending.length > 0) shared.problems.push(`${pending.length} requests are left after the end`);
  return reason;
}

/** Begins the run, or goes on with what the log has of it. */
async function begin(world: World, host: Host, team: AgentDefinition, sessionId: string): Promise<Run> {
  const { permissionMode, streaming, budgetUsd, budgetTokens, contextTokens } = world.plan;
  const context = contextTokens === undefined ? {} : { contextBudget: { maxTokens: contextTokens } };
  if (world.shared.trace.length > 1) {
    try {
      return await host.resume(sessionId, { agent: team, streaming, ...context });
    } catch (thrown) {
      const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
      world.trace(`resume: ${code}`);
      // It died before there was anything to go on with.
      if (code !== 'SESSION_NOT_FOUND' && code !== 'SESSION_STALE') throw thrown;
    }
  }
  return host.run(team, 'go', {
    sessionId,
    permissionMode,
    streaming,
    ...context,
    ...(budgetUsd !== undefined && { maxBudgetUsd: budgetUsd }),
    ...(budgetTokens !== undefined && { maxTokens: budgetTokens }),
  });
}
