import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process that leads its own session, and all that it started. */
export interface ProcessTree {
  readonly pid: number;
  /** Stands in the environment of the process, and so of what it started. */
  readonly marker: string;
}

export interface Ending {
  /** How long what is left may take to end by itself. */
  readonly patienceMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

const FIRST_POLL_MS = 2;
const LONGEST_POLL_MS = 50;
/** What SIGKILL has not ended by then hangs in the kernel or belongs to another user. */
const KILLED_MS = 2_000;

/**
 * Ends every process of a tree that still runs: SIGTERM, then SIGKILL until none is left. Resolves with how many there
 * were to end, and how many could not be ended. Never rejects.
 */
export async function endProcesses(tree: ProcessTree, ending: Ending): Promise<{ ended: number; left: number }> {
  if ((await waitUntilGone(tree, ending.patienceMs)) === 0) return { ended: 0, left: 0 };
  const found = signalAll(tree, 'SIGTERM');
  const stubborn = await waitUntilGone(tree, ending.graceMs);
  const left = stubborn === 0 ? 0 : await waitUntilGone(tree, KILLED_MS, () => signalAll(tree, 'SIGKILL'));
  return { ended: Math.max(0, found - left), left };
}

/** The number of processes left once there are none, or the time is over. */
async function waitUntilGone(tree: ProcessTree, limitMs: number, before?: () => void): Promise<number> {
  const end = performance.now() + limitMs;
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(2 * pause, LONGEST_POLL_MS)) {
    before?.();
    const left = processesOf(tree).length;
    const rest = end - performance.now();
    if (left === 0 || rest <= 0) return left;
    await delay(Math.min(pause, rest));
  }
}

function signalAll(tree: ProcessTree, signal: NodeJS.Signals): number {
  const members = processesOf(tree);
  send(-tree.pid, signal);
  for (const { pid, group } of members) if (group !== tree.pid) send(pid, signal);
  return members.length;
}

/** At once, without a look at what is there: for the end of our own process. */
export function killGroup(pid: number): void {
  send(-pid, 'SIGKILL');
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

interface Member {
  readonly pid: number;
  readonly group: number;
}

/**
 * What runs of the tree. On Linux also what left the group: jobs of `set -m` are found by their session, those that took
 * a session of their own by the marker. Elsewhere the group counts as one.
 */
function processesOf({ pid: leader, marker }: ProcessTree): Member[] {
  const all = process.platform === 'linux' ? startedSince(leader) : undefined;
  if (all === undefined) return send(-leader, 0) ? [{ pid: leader, group: leader }] : [];
  return all.flatMap((pid) => {
    const { group, session, isOver } = statOf(pid) ?? {};
    if (group === undefined || isOver) return [];
    return group === leader || session === leader || hasMarker(pid, marker) ? [{ pid, group }] : [];
  });
}

/** Numbers are given out in a circle: those since `leader` lie between it and the last one given. Nothing without /proc. */
function startedSince(leader: number): number[] | undefined {
  try {
    const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1));
    const isSince = (pid: number) => (last >= leader ? pid >= leader && pid <= last : pid >= leader || pid <= last);
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) && isSince(Number(name)) ? [Number(name)] : []));
  } catch {
    return undefined;
  }
}

function statOf(pid: number): { group: number; session: number; isOver: boolean } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything, parentheses too.
    const [state, , group, session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { group: Number(group), session: Number(session), isOver: state === 'Z' || state === 'X' };
  } catch {
    return undefined;
  }
}

function hasMarker(pid: number, marker: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(marker);
  } catch {
    return false;
  }
}
