import type PQueue from 'p-queue';
import type { Clock } from '../contracts/index.js';
import { createPace, type Pace } from './pace.js';
import type { HostLimits } from './types.js';

/**
 * Limits on requests in flight: model calls and tool executions, of the whole host and per provider. A permit is held
 * for one outgoing request, never by an agent that waits for others, so no depth of nesting can block on it.
 */
export interface Permits extends Pick<Pace, 'slow' | 'answered'> {
  /** No limit applies: nothing need be taken. */
  isFree(provider?: string): boolean;
  /** Resolves once there is room, with what gives the place back; rejects when `signal` fires first. */
  take(provider?: string, signal?: AbortSignal): Promise<() => void>;
}

export function createPermits(limits: HostLimits, clock: Clock): Permits {
  const { concurrency, providers = {} } = limits;
  const pace = createPace(clock);
  const isUnlimited = (provider: string | undefined) =>
    concurrency === undefined && (provider === undefined || providers[provider] === undefined);
  let queues: Promise<Map<string, PQueue>> | undefined;

  const load = () => {
    queues ??= import('p-queue').then(({ default: Queue }) => {
      const all = new Map<string, PQueue>();
      if (concurrency !== undefined) all.set(HOST, new Queue({ concurrency }));
      for (const [name, limit] of Object.entries(providers))
        all.set(name, new Queue({ concurrency: limit.concurrency }));
      return all;
    });
    return queues;
  };

  return {
    isFree: (provider) => isUnlimited(provider) && (provider === undefined || pace.isFree(provider)),
    slow: pace.slow,
    answered: pace.answered,
    async take(provider, signal) {
      if (provider !== undefined) await pace.wait(provider, signal);
      if (isUnlimited(provider)) return () => {};
      const all = await load();
      // The provider's queue first: whoever waits there holds no place in the host's.
      const wanted = [provider === undefined ? undefined : all.get(provider), all.get(HOST)];
      const given: (() => void)[] = [];
      const giveBack = () => {
        for (const release of given.splice(0)) release();
      };
      try {
        for (const queue of wanted) if (queue !== undefined) given.push(await place(queue, signal));
      } catch (thrown) {
        giveBack();
        throw thrown;
      }
      return giveBack;
    },
  };
}

/** The queue of the whole host; no provider has this name. */
const HOST = '';

const place = (queue: PQueue, signal: AbortSignal | undefined): Promise<() => void> =>
  new Promise((resolve, reject) => {
    queue
      .add(() => new Promise<void>((release) => resolve(release)), signal === undefined ? {} : { signal })
      .catch(reject);
  });
