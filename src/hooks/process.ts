import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/**
 * Ends every process that leads the session `pid`, stands in it, or has the marker in its environment: SIGTERM, then
 * SIGKILL. Must not reject.
 */
export type EndProcesses = (
  tree: { readonly pid: number; readonly marker: string },
  ending: { readonly patienceMs: number; readonly graceMs: number },
) => Promise<unknown>;

export interface HookProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Goes to stdin, which the process need not read. */
  readonly input: string;
  readonly signal: AbortSignal;
  readonly endProcesses: EndProcesses;
}

export interface HookProcessEnd {
  /** `null`: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  /** Its beginning. */
  readonly stderr: string;
  /** It wrote more than is taken, and was ended. */
  readonly isTooLong: boolean;
}

/** Bytes: a request with a long conversation comes back whole. */
const MAX_STDOUT = 16 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;
/** What has left the group may hold a pipe open; it is not waited for any longer. */
const CLOSE_MS = 500;
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 500;
const MARKER = 'TROUPE_CALL';

/**
 * Runs a process to its end, as the leader of a session of its own. Nothing that it started outlives it: not when it
 * ends, not when `signal` fires. Its group is ended also when this process exits. Rejects when it cannot be started.
 */
export async function runHookProcess(hook: HookProcess): Promise<HookProcessEnd> {
  const { command, args, cwd, input, signal } = hook;
  const marker = randomBytes(12).toString('hex');
  // A hook of ours may run us: it is found by all the markers above it.
  const env = { ...hook.env, [MARKER]: [process.env[MARKER], marker].filter(Boolean).join(',') };
  const child = spawn(command, [...args], { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  if (child.pid === undefined) throw (await once(child, 'error'))[0];
  const group = child.pid;
  let ending: Promise<unknown> | undefined;
  const stop = () => {
    // Windows has no groups that could be signalled.
    if (process.platform === 'win32') return killGroup(group);
    ending ??= hook.endProcesses({ pid: group, marker }, { patienceMs: 0, graceMs: GRACE_MS });
  };
  const forget = endWithUs(group);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const closed = once(child, 'close');
  let isTooLong = false;
  const stdout = gather(child.stdout as Readable, MAX_STDOUT, () => {
    isTooLong = true;
    stop();
  });
  const stderr = gather(child.stderr as Readable, MAX_STDERR);
  // Who does not read, or ends before it has read all, closes the pipe.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const [code] = await exited;
    stop();
    await ending;
    await closeOutputs(child, closed);
    return { code, stdout: stdout(), stderr: stderr(), isTooLong };
  } finally {
    signal.removeEventListener('abort', stop);
    forget();
  }
}

/** Keeps what a stream brings up to `limit` bytes; the rest is read and dropped. Returns what gives the text. */
function gather(stream: Readable, limit: number, onTooMuch?: () => void): () => string {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on('data', (chunk: Buffer) => {
    if (length > limit) return;
    chunks.push(chunk.subarray(0, limit - length));
    length += chunk.length;
    if (length > limit) onTooMuch?.();
  });
  stream.on('error', () => {});
  return () => Buffer.concat(chunks).toString('utf8');
}

async function closeOutputs(child: ChildProcess, closed: Promise<unknown>): Promise<void> {
  const giveUp = setTimeout(() => {
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }, CLOSE_MS);
  await closed;
  clearTimeout(giveUp);
}

function killGroup(leader: number): void {
  try {
    // Windows has no groups that could be signalled.
    process.kill(process.platform === 'win32' ? leader : -leader, 'SIGKILL');
  } catch {
    // Nobody of it is left.
  }
}

const running = new Set<number>();
const killRunning = () => running.forEach(killGroup);

/** Ends the group when this process exits. Returns what undoes it. */
function endWithUs(leader: number): () => void {
  if (running.size === 0) process.on('exit', killRunning);
  running.add(leader);
  return () => {
    running.delete(leader);
    if (running.size === 0) process.off('exit', killRunning);
  };
}
