import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { TroupeError } from '../../kernel/errors.js';
import { codeOf, type FilePort, type LivingPort, orMissing, writeAll } from './file-port.js';
import { livingOf, newToken, type Standpoint, standpoint } from './living.js';

/** What a lock says of who holds it. */
interface Owner extends Standpoint {
  readonly pid: number;
  readonly token: string;
  /** The number of the directory that it was made in: a copy of that directory is not locked by it. */
  readonly place: number;
}

export interface Locks {
  /** The name of this store among those that are open. */
  readonly token: string;
  readonly standpoint: Standpoint;
  /** Whether the store of that name may be open somewhere. */
  isAlive(token: string): Promise<boolean>;
  /** Takes the lock of a session; at once also that of a dead owner. Rejects with `SESSION_LOCKED`, naming the owner. */
  take(sessionId: string, directory: string): Promise<void>;
  release(directory: string): Promise<void>;
  /** Whether somebody who may be alive holds the lock of a session. */
  isTaken(directory: string): Promise<boolean>;
}

/**
 * The locks of one store. A lock is a hard link, `lock` in the directory of the session, to the file that says who this
 * store is: made in one step, never half written. Its owner lives as long as it holds a name (`living.ts`).
 */
export function createLocks(files: FilePort, root: string): Locks {
  const token = newToken();
  const here = standpoint(files.boot);
  const directory = join(root, 'owners');
  const file = join(directory, `${token}.json`);
  let server: Promise<unknown> | undefined;
  let ready: Promise<Owner> | undefined;

  const ask = async (): Promise<Owner> => {
    server ??= livingOf(files).hold(token);
    await server;
    await files.mkdir(directory, true);
    const { ino } = await files.factsAt(directory);
    const owner: Owner = { pid: process.pid, token, place: ino, ...here };
    const fd = await files.open(file, 'w');
    try {
      await writeAll(files, fd, Buffer.from(`${JSON.stringify(owner)}\n`));
      // A lock that says nothing after a loss of power would be waited for.
      await files.datasync(fd);
    } finally {
      await files.close(fd);
    }
    void sweep(owner).catch(() => {});
    return owner;
  };
  const owner = (): Promise<Owner> => {
    ready ??= ask().catch((thrown: unknown) => {
      ready = undefined;
      throw thrown;
    });
    return ready;
  };

  /** Takes away what dead owners have left of themselves. */
  async function sweep(me: Owner): Promise<void> {
    for (const name of await files.names(directory)) {
      if (name === `${token}.json` || !name.endsWith('.json')) continue;
      const other = await readOwner(files, join(directory, name));
      if (other !== undefined && (await isDead(other, me, livingOf(files))))
        await files.unlink(join(directory, name)).catch(() => {});
    }
  }

  /** True once the lock is ours; false where there is one. */
  async function tie(lock: string): Promise<boolean> {
    for (let attempt = 0; ; attempt++) {
      await owner();
      try {
        await files.link(file, lock);
        return true;
      } catch (thrown) {
        const code = codeOf(thrown);
        if (code === 'EEXIST') return false;
        // The directory of owners was taken away, with our file in it.
        if (code === 'ENOENT' && attempt === 0 && (await orMissing(files.factsAt(file))) === undefined) {
          ready = undefined;
          continue;
        }
        if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'EMLINK')
          return writeLock(files, lock, await owner());
        throw thrown;
      }
    }
  }

  return {
    token,
    standpoint: here,
    async isAlive(other) {
      const { ino } = (await orMissing(files.factsAt(directory))) ?? { ino: 0 };
      const found = await readOwner(files, join(directory, `${other}.json`));
      return found !== undefined && !(await isDead(found, { ...here, place: ino }, livingOf(files)));
    },
    async take(sessionId, sessionDirectory) {
      const lock = join(sessionDirectory, 'lock');
      if (await tie(lock)) return;
      const me = await owner();
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const held = await readOwner(files, lock);
        if (held !== undefined && !(await isDead(held, me, livingOf(files)))) throw isLocked(sessionId, held, me, lock);
        if (held === undefined && (await tie(lock))) return;
        // Where files cannot be linked, it may be half written.
        if (held === undefined && attempt < ATTEMPTS / 2) {
          await pause();
          continue;
        }
        // One at a time takes over, and looks again once it is its turn.
        const turn = await livingOf(files).hold(hashOf(lock));
        if (turn === undefined) {
          await pause();
          continue;
        }
        try {
          const now = await readOwner(files, lock);
          if (now !== undefined && !(await isDead(now, me, livingOf(files)))) continue;
          await files.unlink(lock).catch(() => {});
          if (await tie(lock)) return;
        } finally {
          turn.close();
        }
      }
      throw new TroupeError({
        code: 'SESSION_LOCKED',
        message: `session "${sessionId}": others are taking its lock over; try again`,
        retryable: true,
      });
    },
    async isTaken(sessionDirectory) {
      const held = await readOwner(files, join(sessionDirectory, 'lock'));
      if (held === undefined) return false;
      const { ino } = await files.factsAt(directory);
      return !(await isDead(held, { ...here, place: ino }, livingOf(files)));
    },
    async release(sessionDirectory) {
      await orMissing(files.unlink(join(sessionDirectory, 'lock')));
    },
  };
}

const ATTEMPTS = 50;
const RETRY_MS = 5;
const pause = () => new Promise((resolve) => setTimeout(resolve, RETRY_MS));

const hashOf = (path: string) => createHash('sha256').update(path).digest('hex').slice(0, 24);

/** Where files cannot be linked. */
async function writeLock(files: FilePort, lock: string, owner: Owner): Promise<boolean> {
  let fd: number;
  try {
    fd = await files.open(lock, 'wx');
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false;
    throw thrown;
  }
  try {
    await writeAll(files, fd, Buffer.from(`${JSON.stringify(owner)}\n`));
  } finally {
    await files.close(fd);
  }
  return true;
}

/** Undefined where there is no lock, or one that says nothing: its owner died while writing it. */
async function readOwner(files: FilePort, path: string): Promise<Owner | undefined> {
  const bytes = await orMissing(files.readFile(path));
  if (bytes === undefined) return undefined;
  try {
    const owner = JSON.parse(bytes.toString('utf8')) as Partial<Owner> | null;
    return typeof owner?.token === 'string' ? (owner as Owner) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the owner is known to be gone. Of one on another machine nothing is known. */
async function isDead(owner: Owner, me: Standpoint & Pick<Owner, 'place'>, living: LivingPort): Promise<boolean> {
  if (owner.place !== me.place) return true;
  if (owner.host === me.host && owner.boot !== me.boot) return true;
  if (owner.host !== me.host || owner.network !== me.network) return false;
  return !(await living.isHeld(owner.token));
}

function isLocked(sessionId: string, owner: Owner, me: Owner, lock: string): TroupeError {
  const isHere = owner.host === me.host && owner.network === me.network;
  const who =
    isHere && owner.pid === me.pid
      ? `another handle of this process (${owner.pid})`
      : `process ${owner.pid}${owner.host === me.host ? '' : ` on ${owner.host}`}`;
  const what = isHere ? 'end it, or wait for it' : `if it is gone for good, delete ${lock}`;
  return new TroupeError({
    code: 'SESSION_LOCKED',
    message: `session "${sessionId}" is being written by ${who}; ${what}`,
    retryable: true,
  });
}
