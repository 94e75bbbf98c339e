import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { TroupeError } from '../kernel/errors.js';

/** Nobody holds it for longer than it takes to write a small file. */
const STALE_MS = 10_000;
const GIVE_UP_MS = 30_000;
const PAUSE_MS = 5;

/**
 * Runs `work` while a file of that name stands for nobody else, in this process or another. What a process that died
 * left behind is taken away. `stillOurs`: asked before what cannot be undone. Rejects as `work`, or when the lock cannot
 * be had within half a minute.
 */
export async function withFileLock<Result>(
  lock: string,
  work: (stillOurs: () => Promise<boolean>) => Promise<Result>,
): Promise<Result> {
  const mark = JSON.stringify({ pid: process.pid, host: hostname(), nonce: randomBytes(8).toString('hex') });
  const holds = async () => (await contentOf(lock)) === mark;
  const since = performance.now();
  while (!(await take(lock, mark))) {
    if (performance.now() - since > GIVE_UP_MS) {
      throw new TroupeError({ code: 'POLICY_INVALID', message: `${lock} is held by another process`, retryable: true });
    }
    await clearStale(lock);
    await wait(PAUSE_MS);
  }
  try {
    return await work(holds);
  } finally {
    if (await holds()) await rm(lock, { force: true });
  }
}

async function take(lock: string, mark: string): Promise<boolean> {
  try {
    const handle = await open(lock, 'wx', 0o600);
    await handle.writeFile(mark);
    await handle.close();
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
}

const contentOf = (lock: string) => readFile(lock, 'utf8').catch(() => undefined);

async function clearStale(lock: string): Promise<void> {
  const mark = await contentOf(lock);
  if (mark === undefined || !(await isStale(lock, mark))) return;
  const aside = `${lock}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await rename(lock, aside);
  } catch {
    return;
  }
  // Another who found it stale may have taken its place in between: then it is theirs, and goes back.
  if ((await contentOf(aside)) !== mark) await link(aside, lock).catch(() => {});
  await rm(aside, { force: true });
}

async function isStale(lock: string, mark: string): Promise<boolean> {
  const about = await stat(lock).catch(() => undefined);
  if (about === undefined) return false;
  if (Date.now() - about.mtimeMs > STALE_MS) return true;
  try {
    const { pid, host } = JSON.parse(mark) as { pid?: unknown; host?: unknown };
    return host === hostname() && typeof pid === 'number' && !isAlive(pid);
  } catch {
    // Just made, and not written yet.
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
