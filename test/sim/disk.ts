import type { FilePort } from '../../src/stores/file.js';
import type { VirtualFiles } from '../support/virtual-files.js';
import type { World } from './world.js';

const never = () => new Promise<never>(() => {});

/**
 * The disk as one process sees it. Operations are done at once or a little later; the process dies at the operation that
 * the plan names, a write of its half done; from then on nothing of it reaches the disk.
 */
export function simFiles(world: World, disk: VirtualFiles): FilePort {
  const { pick, plan, life, shared } = world;
  const isFull = () => shared.storeFailed && !shared.isStoreMended;

  const operation =
    <Args extends unknown[], Result>(name: string, run: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      if (life.isDead) return never();
      const count = ++world.ownAppends;
      if (count === world.crashAt) {
        if (name === 'write') {
          const [fd, bytes, position] = args as unknown as [number, Uint8Array, number | undefined];
          await disk.write(fd, bytes.subarray(0, pick.int(0, bytes.length)), position);
        } else if (pick.chance(0.5)) await run(...args).catch(() => {});
        world.crash(`at ${name}, operation ${count}`);
        return never();
      }
      if (name === 'write') {
        const writes = ++shared.appends;
        if (!shared.isStoreMended && writes === plan.storeFails) {
          world.trace(`store fails at write ${writes}`);
          shared.storeFailed = true;
        }
        disk.room = isFull() ? pick.int(0, 20) : Number.POSITIVE_INFINITY;
      }
      if (plan.storeMs !== undefined && pick.chance(0.2)) await world.sleep(pick.int(0, plan.storeMs), undefined);
      if (life.isDead) return never();
      try {
        return await run(...args);
      } finally {
        if (life.isDead) await never();
      }
    };

  return {
    // Whether a process lives is asked of its names, as on one machine; after a loss of power the machine is another.
    boot: `boot ${plan.losesPower ? shared.boots : 0}`,
    living: {
      async hold(name) {
        if (life.isDead) return never();
        const holder = shared.names.get(name);
        if (holder !== undefined && !holder.isDead) return undefined;
        shared.names.set(name, life);
        return {
          close() {
            if (shared.names.get(name) === life) shared.names.delete(name);
          },
        };
      },
      isHeld: async (name) => shared.names.get(name)?.isDead === false,
    },
    open: operation('open', disk.open),
    write: operation('write', disk.write),
    read: operation('read', disk.read),
    datasync: operation('datasync', disk.datasync),
    sync: operation('sync', disk.sync),
    close: operation('close', disk.close),
    truncate: operation('truncate', disk.truncate),
    facts: operation('facts', disk.facts),
    factsAt: operation('factsAt', disk.factsAt),
    readFile: operation('readFile', disk.readFile),
    readIfChanged: disk.readIfChanged,
    mkdir: operation('mkdir', disk.mkdir),
    names: operation('names', disk.names),
    rename: operation('rename', disk.rename),
    link: operation('link', disk.link),
    unlink: operation('unlink', disk.unlink),
    removeAll: operation('removeAll', disk.removeAll),
  };
}
