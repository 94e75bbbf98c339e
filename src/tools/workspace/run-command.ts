import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type KeptOutput, keptOutput } from './kept-output.js';
import { endProcesses, killGroup, type ProcessTree } from './process-tree.js';
import { fsCode, WorkspaceRefusal } from './refusal.js';

export interface CommandOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly graceMs: number;
  /** Characters of each of the two outputs that are kept. */
  readonly capacity: number;
  /** Characters of one of them after which the command is stopped. */
  readonly maxOutput: number;
  readonly signal: AbortSignal;
  /** Each piece of output as it comes, of both. Must not throw. */
  onOutput(text: string): void;
}

export interface CommandEnd {
  readonly exitCode: number | null;
  /** The name of the signal that ended it. */
  readonly signal: NodeJS.Signals | null;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
  /** Why it was not left to end by itself. */
  readonly stopped: 'cancelled' | 'timeout' | 'output' | undefined;
  /** Processes that it left running, and that were ended. */
  readonly leftBehind: number;
  /** Processes that could not be ended. */
  readonly alive: number;
}

/** The last of a pipeline, or of a process substitution, may end shortly after its shell. */
const PATIENCE_MS = 500;
const MARKER = 'TROUPE_CALL';

/**
 * Runs a program to its end, with nothing on stdin, as the leader of a session of its own. Nothing that it started
 * outlives the call: not when it ends, not when it is stopped, not when this process exits. Throws `WorkspaceRefusal`
 * when it cannot be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandEnd> {
  const marker = randomBytes(12).toString('hex');
  // A command of ours may run us: it is found by all the markers above it.
  const markers = [process.env[MARKER], marker].filter(Boolean).join(',');
  const child = await start(options, { ...options.env, [MARKER]: markers });
  const tree: ProcessTree = { pid: child.pid as number, marker };
  const { graceMs, timeoutMs, signal } = options;
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const closed = once(child, 'close');
  let stopped: CommandEnd['stopped'];
  let ending: ReturnType<typeof endProcesses> | undefined;
  const stop = (why: NonNullable<CommandEnd['stopped']>) => {
    stopped ??= why;
    ending ??= endProcesses(tree, { patienceMs: 0, graceMs });
  };
  const cancel = () => stop('cancelled');
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  const forget = endWithUs(tree.pid);
  const stdout = gather(child.stdout as Readable, options, () => stop('output'));
  const stderr = gather(child.stderr as Readable, options, () => stop('output'));
  try {
    const [exitCode, endSignal] = await exited;
    clearTimeout(timer);
    const isStopped = ending !== undefined;
    ending ??= endProcesses(tree, { patienceMs: PATIENCE_MS, graceMs });
    const { ended, left } = await ending;
    await closeOutputs(child, closed, graceMs);
    return {
      exitCode,
      signal: endSignal,
      stdout: stdout.end(),
      stderr: stderr.end(),
      stopped,
      leftBehind: isStopped ? 0 : ended,
      alive: left,
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', cancel);
    forget();
  }
}

async function start({ command, args, cwd }: CommandOptions, env: Record<string, string>): Promise<ChildProcess> {
  try {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    // Until it has a number there is only an error to wait for.
    if (child.pid === undefined) throw (await once(child, 'error'))[0];
    return child;
  } catch (thrown) {
    const code = fsCode(thrown);
    if (code === undefined) throw thrown;
    throw new WorkspaceRefusal('execution_failed', `The command could not be started (${code}).`);
  }
}

/** Counts and keeps what a stream brings, as text. */
function gather(stream: Readable, { capacity, maxOutput, onOutput }: CommandOptions, onTooMuch: () => void) {
  const kept = keptOutput(capacity);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const take = (text: string) => {
    if (text === '') return;
    kept.add(text);
    onOutput(text);
  };
  stream.on('data', (chunk: Buffer) => {
    take(decoder.decode(chunk, { stream: true }));
    if (kept.length() > maxOutput) onTooMuch();
  });
  return {
    end(): KeptOutput {
      take(decoder.decode());
      return kept;
    },
  };
}

/** Whatever holds a pipe open although it is not of the tree is not waited for. */
async function closeOutputs(child: ChildProcess, closed: Promise<unknown>, graceMs: number): Promise<void> {
  const giveUp = new AbortController();
  const late = delay(graceMs, undefined, { signal: giveUp.signal }).catch(() => {});
  await Promise.race([closed, late]);
  giveUp.abort();
  child.stdout?.destroy();
  child.stderr?.destroy();
  await closed;
}

const running = new Set<number>();
const killRunning = () => running.forEach(killGroup);

/** Ends the group when this process exits. Returns what undoes it. */
function endWithUs(pid: number): () => void {
  if (running.size === 0) process.on('exit', killRunning);
  running.add(pid);
  return () => {
    running.delete(pid);
    if (running.size === 0) process.off('exit', killRunning);
  };
}
