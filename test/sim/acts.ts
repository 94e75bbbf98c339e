import { type Host, type Run, TroupeError } from '../../src/index.js';
import type { Answers } from './answers.js';
import type { Act } from './plan.js';
import { noteRewind, SESSION, type World } from './world.js';

/** What the caller does beside reading and answering; where the plan says so the process dies over the first of it. */
export function perform(world: World, host: Host, run: Run, act: Act, open: Answers): void {
  const { plan, pick, shared } = world;
  doIt(world, host, run, act, open);
  if (!plan.diesBehindAct || shared.hasDiedBehindAct) return;
  shared.hasDiedBehindAct = true;
  if (pick.chance(0.7)) world.crash('behind an act');
  else world.later(0, () => world.crash('behind an act'));
}

function doIt(world: World, host: Host, run: Run, act: Act, open: Answers): void {
  const { pick, shared, plan } = world;
  world.trace(`act ${act.does}`);
  const { root, threads } = run.state();
  const live = threads.flatMap(({ threadId }) => (threadId === undefined ? [] : [threadId]));
  /** Nothing that was asked for can be overtaken: it counts from here on, whatever happens. It may have killed its process. */
  const isSharp = () =>
    plan.store === 'memory' && plan.storeMs === undefined && plan.hooks.length === 0 && !world.life.isDead;
  try {
    switch (act.does) {
      case 'steer':
        return say(undefined);
      case 'steer_all':
        return say('*');
      case 'interrupt':
        return say('*', 'interrupt');
      case 'pause':
        run.steer({ action: 'pause' }, { threadId: '*' });
        world.later(pick.of([1, 50, 2_000]), () => goOn(run));
        return;
      case 'update':
        return run.update({ title: 'another', permissionMode: plan.permissionMode });
      case 'abort':
        run.abort('enough');
        if (isSharp() && root.type === 'running' && !shared.storeFailed) shared.mustAbort = true;
        return;
      case 'abort_thread':
        return live.length > 0 ? run.abort('this one', { threadId: pick.of(live) }) : undefined;
      case 'abort_call': {
        const calls = [...open.keys()];
        return calls.length > 0 ? run.abort('this call', { requestId: pick.of(calls) }) : undefined;
      }
      case 'close':
        return void host.close();
      case 'fork':
        return void world.pending.push(fork(world, host));
      case 'rewind':
        return void world.pending.push(rewind(world, host));
    }
  } catch (thrown) {
    const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
    world.trace(`  refused: ${code}`);
    if (code !== 'SESSION_ENDED' && code !== 'UNKNOWN_REQUEST') shared.problems.push(`${act.does} threw ${code}`);
  }

  function say(threadId: string | undefined, action?: 'interrupt'): void {
    const message = `mind the gap, for the ${shared.said.length + 1}. time`;
    run.steer({ message, ...(action !== undefined && { action }) }, threadId === undefined ? {} : { threadId });
    shared.said.push(isSharp() && run.state().root.type !== 'idle' ? message : '');
  }
}

function goOn(run: Run): void {
  try {
    run.steer({ action: 'resume' }, { threadId: '*' });
  } catch {
    // It has ended meanwhile.
  }
}

async function fork(world: World, host: Host): Promise<void> {
  const { pick, shared } = world;
  const last = shared.seen.at(-1)?.seq ?? 0;
  try {
    const { sessionId, at } = await host.fork(SESSION, pick.chance(0.5) ? { at: pick.int(1, last + 1) } : {});
    world.trace(`forked at ${at}`);
    shared.forks.push(sessionId);
  } catch (thrown) {
    refused(world, 'fork', thrown, ['INVALID_OPTION', 'SESSION_NOT_FOUND']);
  }
}

async function rewind(world: World, host: Host): Promise<void> {
  const { pick, shared } = world;
  const to = pick.int(1, (shared.seen.at(-1)?.seq ?? 0) + 1);
  const cutFrom = (): void => {
    shared.isRewound = true;
    for (const event of shared.seen) if (event.seq > to) shared.cut.add(event.id);
  };
  // Where the process dies meanwhile, or the store fails, it may have come to pass or not.
  world.rewindsTo = to;
  try {
    await host.rewind(SESSION, { to });
    world.trace(`rewound to ${to}`);
    world.isRewound = true;
    cutFrom();
    shared.said.fill('');
    shared.mustAbort = false;
  } catch (thrown) {
    refused(world, 'rewind', thrown, ['INVALID_OPTION', 'SESSION_NOT_FOUND', 'SESSION_BUSY', 'HOST_CLOSED']);
    if (shared.storeFailed) noteRewind(world);
  } finally {
    world.rewindsTo = undefined;
  }
}

function refused(world: World, what: string, thrown: unknown, codes: readonly string[]): void {
  const code = thrown instanceof TroupeError ? thrown.code : String(thrown);
  world.trace(`  ${what} refused: ${code}`);
  if (!codes.includes(code) && !world.shared.storeFailed) world.shared.problems.push(`${what} threw ${code}`);
}
