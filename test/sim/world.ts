import type { AgentDefinition, AgentEvent, SessionProvider } from '../../src/contracts/index.js';
import { agent, createHost, type Host, memoryStore, type Run, TroupeError } from '../../src/index.js';
import { scriptedModel } from '../../src/testing/index.js';
import { type Answers, answerLater } from './answers.js';
import { findProblems } from './checks.js';
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
  /** How often a tool began, by its name and the id of its request. */
  readonly began: Map<string, number>;
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
  began(tool: string, requestId: string): void;
  crash(where: string): void;
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

const SESSION = 's';
const MOST_PROCESSES = 8;

/** One whole life of a team, as its seed decides, with everything that is held against it. */
export async function simulate(seed: number): Promise<Simulation> {
  const plan = planOf(seed);
  const pick = picker(seed ^ 0x5eed);
  const scheduler = installScheduler(picker(seed ^ 0x0de4).random);
  const shared: Shared = {
    trace: [],
    seen: [],
    began: new Map(),
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

/** Process after process, until the run has ended and its log is whole. */
async function liveOn(scheduler: Scheduler, plan: Plan, pick: Pick, shared: Shared): Promise<void> {
  const durable = memoryStore();
  for (let index = 0; ; index++) {
    if (index === MOST_PROCESSES) throw new Error(`not over after ${MOST_PROCESSES} processes`);
    const isMended = shared.storeFailed;
    shared.isStoreMended ||= isMended;
    const world = createWorld(scheduler, plan, pick, shared, plan.crashes[index]);
    world.trace(`process ${index + 1}`);
    const store = simStore(world, durable);
    const outcome = await live(world, store);
    store.letGo();
    if (outcome === 'crashed' || outcome === 'closed') continue;
    if (shared.storeFailed && !shared.isStoreMended) continue;
    shared.problems.push(...(await findProblems(plan, shared, durable, SESSION, outcome)));
    return;
  }
}

function createWorld(scheduler: Scheduler, plan: Plan, pick: Pick, shared: Shared, crashAt: number | undefined): World {
  const life = scheduler.process();
  const outside = scheduler.process();
  let sayCrashed!: (said: 'crashed') => void;
  const crashed = new Promise<'crashed'>((resolve) => {
    sayCrashed = resolve;
  });
  const trace = (line: string) => void shared.trace.push(`${scheduler.now()} ${line}`);
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
    began(tool, requestId) {
      if (life.isDead) return;
      const key = `${tool} ${requestId}`;
      shared.began.set(key, (shared.began.get(key) ?? 0) + 1);
      trace(`tool ${key}`);
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
async function live(world: World, store: SessionProvider): Promise<string> {
  const { plan, life, crashed, shared } = world;
  const lines: Lines = new Map();
  const team = buildTeam(world, lines);
  const host = createHost({
    models: { scripted: simModel(world, lines) },
    store,
    clock: life,
    seed: 1,
    limits: plan.concurrency === undefined ? {} : { concurrency: plan.concurrency },
  });
  if (plan.concurrency !== undefined) await warmUp(host);
  const outcome = await Promise.race([crashed, play(world, host, team).catch(closedEarly)]);
  if (outcome === 'crashed') return outcome;
  if ((await Promise.race([crashed, host.close()])) === 'crashed') return 'crashed';
  await Promise.resolve();
  if (life.pending > 0) shared.problems.push(`${life.pending} timers of the host are left`);
  return outcome;
}

/** The host was closed before the session was open: the next process makes it. */
function closedEarly(thrown: unknown): string {
  if (thrown instanceof TroupeError && thrown.code === 'HOST_CLOSED') return 'closed';
  throw thrown;
}

/** What a host loads when it is first needed is loaded here, where nothing waits for it. */
async function warmUp(host: Host): Promise<void> {
  const model = scriptedModel([{ text: 'warm' }]);
  await host.run(agent({ name: 'warm' }), 'go', { model, ephemeral: true }).result;
}

async function play(world: World, host: Host, team: AgentDefinition): Promise<string> {
  const { shared } = world;
  const run = await begin(world, host, team);
  const open: Answers = new Map();
  for (const act of [...shared.acts]) {
    world.later(act.atMs - world.life.now(), () => {
      shared.acts.splice(shared.acts.indexOf(act), 1);
      perform(world, host, run, act, open);
    });
  }
  for await (const event of run) {
    if (world.life.isDead) return 'crashed';
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
async function begin(world: World, host: Host, team: AgentDefinition): Promise<Run> {
  const { permissionMode, streaming } = world.plan;
  if (world.shared.trace.length > 1) {
    try {
      return await host.resume(SESSION, { agent: team, streaming });
    } catch (thrown) {
      const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
      world.trace(`resume: ${code}`);
      // It died before there was anything to go on with.
      if (code !== 'SESSION_NOT_FOUND' && code !== 'SESSION_STALE') throw thrown;
    }
  }
  return host.run(team, 'go', { sessionId: SESSION, permissionMode, streaming });
}

function perform(world: World, host: Host, run: Run, act: Act, open: Answers): void {
  const { pick, shared } = world;
  world.trace(`act ${act.does}`);
  const live = run.state().threads.flatMap(({ threadId }) => (threadId === undefined ? [] : [threadId]));
  try {
    switch (act.does) {
      case 'steer':
        return run.steer({ message: 'mind the gap' });
      case 'steer_all':
        return run.steer({ message: 'all of you' }, { threadId: '*' });
      case 'abort':
        return run.abort('enough');
      case 'abort_thread':
        return live.length > 0 ? run.abort('this one', { threadId: pick.of(live) }) : undefined;
      case 'abort_call': {
        const calls = [...open.keys()];
        return calls.length > 0 ? run.abort('this call', { requestId: pick.of(calls) }) : undefined;
      }
      case 'close':
        void host.close();
    }
  } catch (thrown) {
    const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
    world.trace(`  refused: ${code}`);
    if (code !== 'SESSION_ENDED' && code !== 'UNKNOWN_REQUEST') shared.problems.push(`${act.does} threw ${code}`);
  }
}
