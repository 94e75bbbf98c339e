import type { AgentEvent, SessionHandle, SessionProvider } from '../../src/contracts/index.js';
import type { World } from './world.js';

interface Waiting {
  readonly handle: SessionHandle;
  readonly event: AgentEvent;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

const never = () => new Promise<never>(() => {});

/**
 * The store of one process: what it says to be durable is in `durable`, which outlives it. Takes its time as the plan
 * says, fails at the appends that the plan names, and kills its process at the append that the plan names; what was
 * not durable by then never is.
 */
export function simStore(world: World, durable: SessionProvider): SessionProvider & { letGo(): void } {
  const { pick, plan, life, shared } = world;
  const open = new Set<SessionHandle>();
  let queue: Waiting[] = [];
  let group: Waiting[] = [];
  /** Behind an append that failed all others fail: a log has no holes. */
  let failure: Error | undefined;

  const write = () => {
    group = queue;
    queue = [];
    void world.sleep(pick.int(0, plan.storeMs ?? 0), undefined).then(() => {
      const written = group;
      group = [];
      if (queue.length > 0) write();
      for (const { handle, event, resolve, reject } of written) {
        try {
          put(handle, event);
          resolve();
        } catch (thrown) {
          reject(thrown);
        }
      }
    });
  };

  /** Makes it durable, or throws. */
  const put = (handle: SessionHandle, event: AgentEvent): void => {
    if (failure !== undefined) throw failure;
    const count = ++shared.appends;
    if (!shared.isStoreMended && count === plan.storeFails) {
      world.trace(`store fails at append ${count}`);
      shared.storeFailed = true;
      failure = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      throw failure;
    }
    void handle.append(structuredClone(event));
  };

  /** Of what waits to be durable the first few are: an append is never so without those before it. */
  const crash = (last: Pick<Waiting, 'handle' | 'event'>[], where: string): void => {
    const waiting = [...group, ...queue, ...last];
    try {
      for (const { handle, event } of waiting.slice(0, pick.int(0, waiting.length))) put(handle, event);
    } catch {
      // The disk was full as well.
    }
    world.crash(where);
  };

  const append = (handle: SessionHandle, event: AgentEvent): void | Promise<void> => {
    if (life.isDead) return never();
    const count = ++world.ownAppends;
    if (count === world.crashAt) {
      const where = `at append ${count} (${event.type} of ${event.threadId ?? 'root'})`;
      if (plan.storeMs === undefined || pick.chance(0.5)) {
        crash([{ handle, event }], where);
        return never();
      }
      world.later(pick.int(0, plan.storeMs), () => crash([], `soon after, ${where}`));
    }
    if (plan.storeMs === undefined) return put(handle, event);
    return new Promise((resolve, reject) => {
      queue.push({ handle, event: structuredClone(event), resolve, reject });
      if (group.length === 0) write();
    });
  };

  const wrap = (handle: SessionHandle): SessionHandle => {
    open.add(handle);
    return {
      id: handle.id,
      agentName: handle.agentName,
      get events() {
        return handle.events;
      },
      get state() {
        return handle.state;
      },
      get lastUpdateTime() {
        return handle.lastUpdateTime;
      },
      get head() {
        return handle.head as never;
      },
      append: (event) => append(handle, event),
      snapshot: () => handle.snapshot(),
      close: () => (life.isDead ? undefined : close(handle)),
      lock: () => (life.isDead ? never() : handle.lock?.()),
      reserve: (seq) => (life.isDead ? never() : handle.reserve?.(seq)),
      truncate: (seq) => (life.isDead ? never() : handle.truncate?.(seq)),
    };
  };

  const close = (handle: SessionHandle) => {
    open.delete(handle);
    return handle.close();
  };

  const later = async () => {
    if (plan.storeMs !== undefined) await world.sleep(pick.int(0, plan.storeMs), undefined);
  };

  return {
    create(agentName, metadata) {
      if (plan.storeMs === undefined) return wrap(durable.create(agentName, metadata) as SessionHandle);
      return later().then(async () => wrap(await durable.create(agentName, metadata)));
    },
    load(id) {
      if (plan.storeMs === undefined) return wrap(durable.load(id) as SessionHandle);
      return later().then(async () => wrap(await durable.load(id)));
    },
    list: (agentName, scope) => durable.list(agentName, scope),
    delete: (id) => durable.delete(id),
    letGo() {
      for (const handle of open) void handle.close();
      open.clear();
    },
  };
}
